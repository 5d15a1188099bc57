"""Design, train and verify reward functions for reinforcement learning.

Task files import their classes from here, `from rewardgen import MujocoTask, Var`; scripts and notebooks use:

    run = rewardgen.run("cartpole", model="openai/gpt-5.1", max_cost=2)
    run.best.reward(inputs)  # by name, such as `height`: {"speed": ..., "upright": ...}
    env = rewardgen.make_env("cartpole", reward=run.best.reward)

A name is loaded when it is first used, because some bring torch and MuJoCo with them.
"""

# ruff: noqa: I001  (names that are imported as themselves count as public)

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rewardgen.api.drafting import draft as draft
    from rewardgen.api.environment import load_policy as load_policy, make_env as make_env
    from rewardgen.api.measuring import evaluate as evaluate
    from rewardgen.api.reward import Reward as Reward, check as check
    from rewardgen.api.runs import Run as Run, open_run as open_run, run as run
    from rewardgen.api.training import train as train
    from rewardgen.api.watching import watch as watch
    from rewardgen.reward.tolerance import tolerance as tolerance
    from rewardgen.sim.quantities import (
        Body as Body,
        CentreOfMass as CentreOfMass,
        ContactForce as ContactForce,
        Direction as Direction,
        Distance as Distance,
        Effort as Effort,
        Energy as Energy,
        Geom as Geom,
        Hinge as Hinge,
        Sensor as Sensor,
        Site as Site,
        Slide as Slide,
        Tendon as Tendon,
        Touching as Touching,
    )
    from rewardgen.sim.tensors import heading as heading, upright as upright
    from rewardgen.sim.variables import (
        Flip as Flip,
        Outside as Outside,
        Pair as Pair,
        Shift as Shift,
        Var as Var,
        Wrap as Wrap,
    )
    from rewardgen.store.comparisons import Signal as Signal
    from rewardgen.tasks.gym_task import GymTask as GymTask
    from rewardgen.tasks.loading import shipped_task as shipped_task
    from rewardgen.tasks.mujoco_task import MujocoTask as MujocoTask
    from rewardgen.training.ppo.settings import PpoSettings as PpoSettings
    from rewardgen.training.sac.settings import SacSettings as SacSettings

__version__ = "0.1.0"

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
"""Each public name and its module; above, type checkers read the same."""
__all__ = sorted(HOMES)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
