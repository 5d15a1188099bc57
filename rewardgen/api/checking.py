"""Check a reward with the critic: `rewardgen.check`."""

from __future__ import annotations

from pathlib import Path

from rewardgen.api.reward import Reward, reward_source
from rewardgen.search.inspect_rewards import check_rewards
from rewardgen.store.records import Verdict


def check(task: str | Path, reward: str | Path | Reward) -> Verdict:
    """Check a reward: its form, its text, and its values on recorded transitions.

    The task file and the reward run in the sandbox's workers, not in this process.

    Args:
        task: Name of a shipped task, or the path of a task file.
        reward: Path of a Python file with a `compute_reward`, its text, or a `Reward`.

    Returns:
        The verdict: `accepted`, and `findings` with `severity`, `message`, `hint` and `line`.

    Raises:
        TaskError: The task is unknown or cannot be simulated.
        UsageError: The file cannot be read.
    """
    name = reward.name if isinstance(reward, Reward) else "reward"
    return check_rewards(str(task), {name: reward_source(reward)}).verdicts[name]
