"""The critic's verdict on a reward of one's own: `rewardgen.check`."""

from __future__ import annotations

from pathlib import Path

from rewardgen.api.reward import Reward, reward_source
from rewardgen.search.inspect_rewards import check_rewards
from rewardgen.store.records import Verdict


def check(task: str | Path, reward: str | Path | Reward) -> Verdict:
    """Put a reward through the critic's gates: its form, its text, and a run of it on recorded transitions.

    Neither the task file nor the reward runs in this process, but in the sandbox's workers.

    Args:
        task: Name of a shipped task, or the path of a task file.
        reward: Path of a Python file with a `compute_reward`, its text, or a `Reward`.

    Returns:
        Whether it is `accepted`, and the `findings`, each with `severity`, `message`, `hint` and `line`.

    Raises:
        TaskError: There is no such task, or it cannot be simulated.
        UsageError: The file cannot be read.
    """
    name = reward.name if isinstance(reward, Reward) else "reward"
    return check_rewards(str(task), {name: reward_source(reward)}).verdicts[name]
