"""Design, train and verify reward functions for reinforcement learning.

Task files import their classes from here, `from rewardgen import MujocoTask, Var`; scripts and notebooks use:

    run = rewardgen.run("cartpole", model="openai/gpt-5.1", max_cost=2)
    run.best.reward(height=h, action=a)
    env = rewardgen.make_env("cartpole", reward=run.best.reward)

A name is loaded when it is first used, because some bring torch and MuJoCo with them.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rewardgen.api.drafting import draft
    from rewardgen.api.environment import load_policy, make_env
    from rewardgen.api.measuring import evaluate
    from rewardgen.api.reward import Reward, check
    from rewardgen.api.runs import Run, open_run, run
    from rewardgen.api.training import train
    from rewardgen.api.watching import watch
    from rewardgen.reward.tolerance import tolerance
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
    from rewardgen.sim.tensors import heading, upright
    from rewardgen.sim.variables import Flip, Outside, Pair, Shift, Var, Wrap
    from rewardgen.store.comparisons import Signal
    from rewardgen.tasks.gym_task import GymTask
    from rewardgen.tasks.loading import shipped_task
    from rewardgen.tasks.mujoco_task import MujocoTask
    from rewardgen.training.ppo.settings import PpoSettings
    from rewardgen.training.sac.settings import SacSettings

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
    "GymTask",
    "Hinge",
    "MujocoTask",
    "Outside",
    "Pair",
    "PpoSettings",
    "Reward",
    "Run",
    "SacSettings",
    "Sensor",
    "Shift",
    "Signal",
    "Site",
    "Slide",
    "Tendon",
    "Touching",
    "Var",
    "Wrap",
    "check",
    "draft",
    "evaluate",
    "heading",
    "load_policy",
    "make_env",
    "open_run",
    "run",
    "shipped_task",
    "tolerance",
    "train",
    "upright",
    "watch",
]

_QUANTITIES = ("Body", "CentreOfMass", "ContactForce", "Direction", "Distance", "Effort", "Energy", "Geom", "Hinge")
_QUANTITIES += ("Sensor", "Site", "Slide", "Tendon", "Touching")

HOMES = {
    **dict.fromkeys(("heading", "upright"), "rewardgen.sim.tensors"),
    **dict.fromkeys(("Flip", "Outside", "Pair", "Shift", "Var", "Wrap"), "rewardgen.sim.variables"),
    **dict.fromkeys(_QUANTITIES, "rewardgen.sim.quantities"),
    "Signal": "rewardgen.store.comparisons",
    "PpoSettings": "rewardgen.training.ppo.settings",
    "SacSettings": "rewardgen.training.sac.settings",
    "GymTask": "rewardgen.tasks.gym_task",
    "MujocoTask": "rewardgen.tasks.mujoco_task",
    "Reward": "rewardgen.api.reward",
    "Run": "rewardgen.api.runs",
    "check": "rewardgen.api.reward",
    "draft": "rewardgen.api.drafting",
    "evaluate": "rewardgen.api.measuring",
    "load_policy": "rewardgen.api.environment",
    "make_env": "rewardgen.api.environment",
    "open_run": "rewardgen.api.runs",
    "run": "rewardgen.api.runs",
    "shipped_task": "rewardgen.tasks.loading",
    "tolerance": "rewardgen.reward.tolerance",
    "train": "rewardgen.api.training",
    "watch": "rewardgen.api.watching",
}


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
