"""Design, train and verify reward functions for reinforcement learning.

What task files import is here: `from rewardgen import MujocoTask, Var`. It is loaded when it is first asked for, since
it brings torch and MuJoCo with it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rewardgen.sim.rotations import heading, upright
    from rewardgen.sim.variables import Flip, Pair, Shift, Var, Wrap
    from rewardgen.tasks.mujoco_task import MujocoTask
    from rewardgen.training.ppo.settings import PpoSettings

__version__ = "0.1.0"

__all__ = ["Flip", "MujocoTask", "Pair", "PpoSettings", "Shift", "Var", "Wrap", "heading", "upright"]

_HOME = {
    **dict.fromkeys(("heading", "upright"), "rewardgen.sim.rotations"),
    **dict.fromkeys(("Flip", "Pair", "Shift", "Var", "Wrap"), "rewardgen.sim.variables"),
    "PpoSettings": "rewardgen.training.ppo.settings",
    "MujocoTask": "rewardgen.tasks.mujoco_task",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)
