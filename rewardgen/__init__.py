"""Design, train and verify reward functions for reinforcement learning.

What task files import is here: `from rewardgen import MujocoTask, Var`. It is loaded when it is first asked for, since
it brings torch and MuJoCo with it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rewardgen.sim.quantities import (
        Body,
        CentreOfMass,
        ContactForce,
        Direction,
        Distance,
        Effort,
        Energy,
        Geom,
        Hinge,
        Sensor,
        Site,
        Slide,
        Tendon,
        Touching,
    )
    from rewardgen.sim.rotations import heading, upright
    from rewardgen.sim.variables import Flip, Outside, Pair, Shift, Var, Wrap
    from rewardgen.tasks.mujoco_task import MujocoTask
    from rewardgen.training.ppo.settings import PpoSettings

__version__ = "0.1.0"

__all__ = [
    "Body",
    "CentreOfMass",
    "ContactForce",
    "Direction",
    "Distance",
    "Effort",
    "Energy",
    "Flip",
    "Geom",
    "Hinge",
    "MujocoTask",
    "Outside",
    "Pair",
    "PpoSettings",
    "Sensor",
    "Shift",
    "Site",
    "Slide",
    "Tendon",
    "Touching",
    "Var",
    "Wrap",
    "heading",
    "upright",
]

_QUANTITIES = ("Body", "CentreOfMass", "ContactForce", "Direction", "Distance", "Effort", "Energy", "Geom", "Hinge")
_QUANTITIES += ("Sensor", "Site", "Slide", "Tendon", "Touching")

_HOME = {
    **dict.fromkeys(("heading", "upright"), "rewardgen.sim.rotations"),
    **dict.fromkeys(("Flip", "Outside", "Pair", "Shift", "Var", "Wrap"), "rewardgen.sim.variables"),
    **dict.fromkeys(_QUANTITIES, "rewardgen.sim.quantities"),
    "PpoSettings": "rewardgen.training.ppo.settings",
    "MujocoTask": "rewardgen.tasks.mujoco_task",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)
