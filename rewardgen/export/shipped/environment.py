"""A task of rewardgen with a designed reward, as a Gymnasium environment that runs without rewardgen.

`make_env()` makes one; importing this package also registers it under `ENV_ID`. The reward is in `reward.py`, the task
in `task.py`; both may be edited. `_rewardgen` holds the parts of rewardgen that they import.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium

from . import reward as _reward
from . import task as _task
from ._rewardgen.tasks.loading import task_in
from ._rewardgen.tasks.task_env import TaskEnv

ENV_ID = "ENVIRONMENT_ID"
_MODEL = "MODEL_FILE"
_EYES = "WITH_EYES"
"""Not empty if observations end with what the reward lets policies see."""


def make_env(reward: Any = None, render_mode: str | None = None) -> TaskEnv:
    """A `gymnasium.Env`. `info` holds `components` and `variables`, and at the end of an episode `cause`
    and, if the task has them, `fitness` and `success`.

    Args:
        reward: Another reward: from inputs by name, (1,) or (1, k) each, to components by name, (1,) each. The input
            `episode_begins` is True on an episode's first step. Observations are then the task's alone.
        render_mode: Must be None.

    Raises:
        ValueError: A render mode is named.
    """
    if render_mode is not None:
        raise ValueError(f"this environment draws nothing: leave out render_mode={render_mode!r}")
    task: Any = task_in(_task, Path(_task.__file__ or ""))
    if _MODEL:
        task.model_file = lambda: Path(__file__).parent / _MODEL
    paid = _Paid()
    see = paid.see if _EYES and reward is None else None
    return TaskEnv(task, reward or paid, see, looks=bool(getattr(_reward, "SEES", ())))


class _Paid:
    """The reward, with its stage from step to step if it has stages."""

    def __init__(self) -> None:
        self._stage: Any = None

    def __call__(self, inputs: Any) -> Any:
        if not hasattr(_reward, "next_stage"):
            return _reward.reward_and_components(inputs)[1]
        stage = None if bool(inputs["episode_begins"]) else self._stage
        _, components, self._stage = _reward.reward_and_components(inputs, stage)
        return components

    def see(self, inputs: Any) -> Any:
        """Return what policies see after the task's observation, (1, K)."""
        return _reward.seen_besides(inputs, None if bool(inputs["episode_begins"]) else self._stage)


gymnasium.register(ENV_ID, entry_point=make_env, disable_env_checker=True)  # warns if another package has the name
