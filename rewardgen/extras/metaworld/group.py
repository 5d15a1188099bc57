"""The group of shipped tasks of Meta-World."""

from rewardgen.tasks.listing import GROUPS, Group

GROUPS.register("metaworld", Group("Meta-World", "metaworld", "metaworld"))
