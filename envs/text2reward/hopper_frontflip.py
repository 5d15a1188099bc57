"""Text2Reward's hopper front flip: the backflip the other way round.

The human reward does not get there at the shipped budget: 0.20, 0.26 and 0.28 with three seeds, and no success.
"""

from rewardgen import Var, shipped_task

PARTS = ("foot", "leg", "thigh", "torso")


class HopperFrontflip(shipped_task("hopper_backflip")):
    """A one-legged planar robot, 1.45 m tall. Jump, turn over forwards once in the air, land, and stand still.

    It moves in the x-z plane only and faces +x: a torso on top, then thigh, leg and a foot that points forward. Three
    motors turn the thigh joint (hip), leg joint (knee) and foot joint (ankle). Forwards is with the head towards +x.
    Nothing but the foot may ever touch the ground, nor the foot while the torso is on its head. Without any effort it
    topples within two seconds.
    """

    _way = 1.0

    turns = Var("1", "full turns of each part since the episode began, positive forwards; 1 after a front flip", PARTS)
    spin = Var("rad/s", "angular velocity of the torso, positive forwards")
