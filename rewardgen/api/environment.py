"""Make a Gymnasium environment of a task: `rewardgen.make_env`."""

from __future__ import annotations

from pathlib import Path

from rewardgen.api.reward import Reward, reward_source
from rewardgen.core.errors import UsageError, did_you_mean
from rewardgen.sim.vec_env import HIDDEN
from rewardgen.store.records import BASELINES
from rewardgen.tasks.baselines import baseline_sources
from rewardgen.tasks.loading import load_task
from rewardgen.tasks.task_env import TaskEnv


def make_env(task: str | Path, reward: str | Path | Reward | None = None) -> TaskEnv:
    """Make a `gymnasium.Env` of a task. Runs the task file in this process: read the file first.

    At every step `info` holds the `components` of the reward and the `variables` of the task; at the end of an
    episode also its `fitness` and `success`.

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
        name, own = str(reward or "human"), baseline_sources(loaded)
        if name not in own:
            raise UsageError(f"{loaded.path.name} has no {name} reward", "give one: `make_env(task, reward=...)`")
        paid = Reward(own[name], name)
    else:
        paid = reward if isinstance(reward, Reward) else Reward(reward_source(reward))
    names = [*loaded.declared(), "action"]
    names += [f"prev_{name}" for name in names]
    names += HIDDEN if paid.source in baseline_sources(loaded).values() else ()
    if unknown := [name for name in paid.inputs if name not in names]:
        raise UsageError(f"the reward reads `{unknown[0]}`, which the task lacks", did_you_mean(unknown[0], names))
    return TaskEnv(loaded, paid)
