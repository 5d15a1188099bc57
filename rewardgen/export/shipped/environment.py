"""A task of rewardgen with a designed reward, as a Gymnasium environment that needs no rewardgen.

`make_env()` makes one; importing this package registers it with Gymnasium too, under `ENV_ID`. The reward is in
`reward.py` and the task in `task.py`; both may be edited. In `_rewardgen` are the parts of rewardgen that they need, as
they were.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch

from . import reward as _reward
from . import task as _task
from ._rewardgen.sim.episodes import with_previous
from ._rewardgen.tasks.loading import task_in
from ._rewardgen.tasks.task_env import TaskEnv, plain

ENV_ID = "ENVIRONMENT_ID"
_MODEL = "MODEL_FILE"


def make_env(reward: Any = None, render_mode: str | None = None) -> TaskEnv:
    """A `gymnasium.Env`. Its `info` holds `components` and `variables`, and at the end of an episode `fitness`,
    `success` and `cause`.

    Args:
        reward: Another reward: from inputs by name, (1,) or (1, k) each, to its components by name, (1,) each.
        render_mode: None: it draws nothing.

    Raises:
        ValueError: It was to draw.
    """
    if render_mode is not None:
        raise ValueError(f"this environment draws nothing: leave out render_mode={render_mode!r}")
    task: Any = task_in(_task, Path(_task.__file__ or ""))
    if _MODEL:
        task.model_file = lambda: Path(__file__).parent / _MODEL
    return TaskEnv(task, reward or (lambda inputs: _reward.REWARD_AND_COMPONENTS(inputs)[1]))


class RewardWrapper(gymnasium.Wrapper):
    """Pays the reward in another environment of the same model: `RewardWrapper(gymnasium.make("Hopper-v5"))`.

    Where episodes begin and end, and what is observed, stays as it is there.

    `info` holds `components` and `variables` as that of `make_env` does, and `own_reward`, what it would have paid.

    Args:
        env: Of a MuJoCo model, in whose `unwrapped` are `model`, `data` and `dt`.

    Raises:
        TypeError: It has no such model, or the task is such an environment itself.
    """

    def __init__(self, env: gymnasium.Env) -> None:
        super().__init__(env)
        self._task = make_env().task
        if not hasattr(self._task, "read"):
            raise TypeError("this task is such an environment already: use `make_env()`")
        if not all(hasattr(env.unwrapped, name) for name in ("model", "data", "dt")):
            raise TypeError(f"{env.unwrapped} has no MuJoCo model, of which the reward reads")
        # These load MuJoCo, which a task without a model does without.
        from ._rewardgen.sim.quantities import TurnCounter
        from ._rewardgen.sim.view import SimView

        self._data = _Data(env.unwrapped)
        self._view = SimView(self._data)
        self._turns = TurnCounter.of(self._view, self._task.declared().values())
        self._previous: dict[str, torch.Tensor] = {}

    def reset(self, **options: Any) -> Any:
        """See `gymnasium.Env.reset`."""
        found = self.env.reset(**options)
        self._data.kept.clear()
        self._view.keep_start(torch.zeros(1, dtype=torch.int64))
        self._turns.begin(torch.zeros(1, dtype=torch.int64))
        self._previous = {}
        self._task.read(self._view)
        return found

    def step(self, action: Any) -> Any:
        """See `gymnasium.Env.step`."""
        for name in self._data.kept:
            self._data.kept[name] = self._data.field(name)
        observation, paid, terminated, truncated, info = self.env.step(action)
        if self._task.current_fields:
            self._data.bring_up_to_date()
        self._turns.advance()
        read = self._task.read(self._view)
        applied = np.clip(action, self.action_space.low, self.action_space.high)
        now = {name: read[name].float() for name in self._task.declared()}
        now["action"] = torch.as_tensor(np.asarray(applied, np.float32)).view(1, -1)
        inputs = with_previous(now, self._previous or now, torch.tensor([not self._previous]))
        self._previous = now
        components = {name: float(each[0]) for name, each in _reward.REWARD_AND_COMPONENTS(inputs)[1].items()}
        variables = {name: plain(each) for name, each in now.items() if name != "action"}
        info = {**info, "components": components, "variables": variables, "own_reward": paid}
        return observation, sum(components.values()), terminated, truncated, info


class _Data:
    """The state of one environment, as a simulator of one env tells it."""

    def __init__(self, env: Any) -> None:
        self.model, self.control_step_s, self._data = env.model, float(env.dt), env.data
        self.device, self.num_envs = torch.device("cpu"), 1
        self.kept: dict[str, torch.Tensor] = {}

    def field(self, name: str) -> torch.Tensor:
        return torch.from_numpy(np.array(getattr(self._data, name), dtype=np.float64))[None]

    def bring_up_to_date(self) -> None:
        import mujoco

        mujoco.mj_step1(self.model, self._data)

    def before(self, name: str) -> torch.Tensor:
        return self.kept.setdefault(name, self.field(name))


if ENV_ID not in gymnasium.registry:
    gymnasium.register(ENV_ID, entry_point=make_env, disable_env_checker=True)
