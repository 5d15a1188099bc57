"""The group of shipped tasks with several agents."""

from rewardgen.tasks.listing import GROUPS, Group

GROUPS.register("pettingzoo", Group("Several agents, of PettingZoo", "mpe2", "pettingzoo"))
