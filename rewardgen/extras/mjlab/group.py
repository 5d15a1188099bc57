"""The group of shipped tasks of mjlab."""

from rewardgen.tasks.listing import GROUPS, Group

GROUPS.register("mjlab", Group("mjlab", "mjlab"))
