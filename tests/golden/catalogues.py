"""The catalogues that are kept, as text."""

from rewardgen.tasks.catalogue import catalogue
from rewardgen.tasks.robots import find_robot

CATALOGUES = ("hopper", "ant", "pusher_v5")


def catalogue_text(name):
    """A line for each entry of the catalogue of one of Gymnasium's models."""
    entries = catalogue(find_robot(f"gymnasium:{name}.xml")).entries
    return "".join(f"{each.name}: {each.code} [{each.unit}] {each.meaning}\n" for each in entries)
