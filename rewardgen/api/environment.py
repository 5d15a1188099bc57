"""A task as a Gymnasium environment, for any trainer that takes one: `rewardgen.make_env`."""

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
    """A `gymnasium.Env` of a task. It runs the task file in this process, so take none that you have not read.

    `info` holds at every step the `components` of the reward and the `variables` of the task, and at the end of an
    episode its `fitness` and `success` by the task's own code.

    Args:
        task: Name of a shipped task, or the path of a task file.
        reward: What it pays: a `Reward` such as `run.best.reward`, the path of a Python file with a `compute_reward`,
            or its text; `human` and `sparse` are the task's own, of which the human one is paid if none is given. It
            runs in this process too: see `Reward`.

    Raises:
        TaskError: There is no such task, or it breaks its contract.
        UsageError: The task has no such reward, or none that reads its variables; or the file cannot be read.
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
    known = [*loaded.declared(), "action"]
    known += [f"prev_{name}" for name in known]
    known += HIDDEN if paid.source in baseline_sources(loaded).values() else ()
    if unknown := [name for name in paid.inputs if name not in known]:
        raise UsageError(f"the reward reads `{unknown[0]}`, which the task has not", did_you_mean(unknown[0], known))
    return TaskEnv(loaded, paid)
