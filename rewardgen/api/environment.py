"""Use a task with Gymnasium and a trained policy with numpy: `rewardgen.make_env`, `rewardgen.load_policy`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from rewardgen.api.reward import Reward, reward_source
from rewardgen.core.errors import UsageError, did_you_mean
from rewardgen.reward.observation import seen_besides
from rewardgen.sim.vec_env import HIDDEN
from rewardgen.store.records import BASELINES
from rewardgen.tasks.loading import load_task
from rewardgen.tasks.members import baseline_sources
from rewardgen.tasks.task_env import BEGINS, TaskEnv
from rewardgen.training import policies


def make_env(task: str | Path, reward: str | Path | Reward | None = None) -> TaskEnv:
    """Make a `gymnasium.Env` of a task. Runs the task file in this process: read the file first.

    At every step `info` holds the `components` of the reward and the `variables` of the task; at the end of an
    episode also its `fitness` and `success`. Where the policies of the reward see its stages, or what it observes,
    observations end with these numbers.

    Args:
        task: Name of a shipped task, or path of a task file.
        reward: A `Reward` such as `run.best.reward`, the path of a Python file with a `compute_reward`, its text, or
            `human` (the default) or `sparse`. Runs in this process: see `Reward`.

    Raises:
        TaskError: The task is unknown or breaks its contract.
        UsageError: The task lacks the reward or one of its inputs, or the file cannot be read.
        RewardError: The reward is not written in the reward language.
    """
    loaded = load_task(str(task))
    if reward is None or reward in BASELINES:
        name, sources = str(reward or "human"), baseline_sources(loaded)
        if name not in sources:
            raise UsageError(f"{loaded.path.name} has no {name} reward", "give one: `make_env(task, reward=...)`")
        paid = Reward(sources[name], name)
    else:
        paid = reward if isinstance(reward, Reward) else Reward(reward_source(reward))
    names = [*loaded.declared(), "action"]
    names += [f"prev_{name}" for name in names]
    names += HIDDEN if paid.source in baseline_sources(loaded).values() else ()
    if unknown := [name for name in (*paid.inputs, *paid.program.observes) if name not in names]:
        raise UsageError(f"the reward reads `{unknown[0]}`, which the task lacks", did_you_mean(unknown[0], names))
    pay = paid.in_steps()
    see = (lambda inputs: pay.see(inputs, inputs[BEGINS])) if seen_besides(paid.source) else None
    return TaskEnv(loaded, lambda inputs: pay(inputs, inputs[BEGINS]), see, looks=bool(paid.program.observes))


class TrainedPolicy:
    """A trained, deterministic policy.

    Args:
        path: The policy file; reading it runs no code.

    Raises:
        RunFolderError: The file is missing or is no policy file.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._policy = policies.load_policy(self.path)
        self.observation_size = self._policy.observation_size
        """Length O of an observation."""
        self.action_low = self._policy.action_low.numpy()
        """Lowest action, in actuator units."""
        self.action_high = self._policy.action_high.numpy()
        """Highest action, in actuator units."""

    def act(self, observation: np.ndarray) -> np.ndarray:
        """Return actions in actuator units, (A,) for an observation (O,), or (N, A) for (N, O).

        Raises:
            UsageError: The observation has another length.
        """
        rows = torch.as_tensor(np.asarray(observation, np.float32))
        if rows.shape[-1:] != (self.observation_size,):
            message = (
                f"an observation of shape {tuple(rows.shape)}, where the policy sees {self.observation_size} numbers"
            )
            raise UsageError(message, "give those of the env that it was trained in")
        with torch.no_grad():
            actions = self._policy.act(rows.view(-1, self.observation_size)).numpy()
        actions = actions.clip(self.action_low, self.action_high)
        return actions.reshape(*rows.shape[:-1], -1)

    def __repr__(self) -> str:
        return f"<policy {self.path}: {self.observation_size} observations to {len(self.action_low)} actions>"


def load_policy(path: str | Path) -> TrainedPolicy:
    """Load a policy from its file, such as `best/policy.npz` of a run."""
    return TrainedPolicy(path)
