"""Looking at rewards outside a run's search: through the critic's gates, or one beside another."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from rewardgen.core.errors import RunFolderError, SandboxError, UsageError
from rewardgen.core.files import read_plain
from rewardgen.critic.critic import Critic, Review
from rewardgen.critic.sandboxed import Comparison, SandboxedReviewer
from rewardgen.reward.export import reward_in
from rewardgen.sandbox.folders import scratch_folder
from rewardgen.store.history import History
from rewardgen.store.records import Candidate, RewardSpec
from rewardgen.store.run_folder import RunFolder
from rewardgen.tasks.loading import lasting_reference, shipped_tasks
from rewardgen.tasks.measure import MEASURING
from rewardgen.training.cache import get_or_record_transitions
from rewardgen.training.setup import card_for

_MOST_BYTES = 16 << 20
"""Of a file with a reward; the language allows much less."""


def check_rewards(task: str, sources: Mapping[str, str]) -> Review:
    """Put rewards through the critic's gates.

    Args:
        task: Task reference.
        sources: Name of each, such as its file's, to its text.

    Returns:
        Verdicts by these names.

    Raises:
        TaskError: The task cannot be simulated.
    """
    names = {f"reward-{number}": name for number, name in enumerate(sources)}
    candidates = [Candidate(id=id, generation=0, operator="draft", source=sources[name]) for id, name in names.items()]
    with scratch_folder() as scratch:
        transitions = scratch / "transitions.npz"
        card = card_for(None, get_or_record_transitions(lasting_reference(task), transitions))
        critic = Critic(SandboxedReviewer(transitions, MEASURING, scratch), compares=False)
        verdicts, not_available = critic.review(candidates, card)
    named = {names[id]: each.model_copy(update={"candidate_id": names[id]}) for id, each in verdicts.items()}
    return Review(named, not_available)


def compare_rewards(folder: RunFolder, history: History, one: RewardSpec, other: RewardSpec) -> Comparison:
    """Compare two rewards on a run's recorded transitions; on fresh ones if the run has none, of a shipped task.

    Anybody may have written in the folder: its task file is not run, and its rewards with every layer of the sandbox,
    whoever started the run, and with whatever sandbox.

    Args:
        folder: The run.
        history: What is known of it.
        one: A reward for its task.
        other: Another, with another id.

    Raises:
        SandboxError: A layer is missing on this machine.
        UsageError: One of the rewards cannot be computed on the transitions, or these are missing or cannot be read.
        RunFolderError: The run has not begun.
    """
    config, card = history.config, history.card
    if config is None or card is None:
        raise RunFolderError(f"run {folder.id} has not begun", f"start it anew and delete {folder.path}")
    with scratch_folder() as scratch:
        transitions = folder.transitions
        if not transitions.exists():
            if config.task not in shipped_tasks():
                raise UsageError(
                    f"run {folder.id} has no recorded transitions, and its task file {config.task} is not run for this",
                    f"compare runs that still have their {folder.transitions.name}",
                )
            transitions = scratch / transitions.name
            get_or_record_transitions(config.task, transitions)
        limits = MEASURING.model_copy(update={"sandbox": "strict"})
        try:
            return SandboxedReviewer(transitions, limits, scratch).compare(one, other, card)
        except SandboxError as error:
            hint = "leave out `--rewards`: what a run folder holds runs with every layer only; see `rewardgen doctor`"
            raise SandboxError(error.message, hint) from error


def read_reward(path: Path) -> str:
    """The text of a reward file; of one from `best/` the reward alone.

    Args:
        path: The file.

    Raises:
        UsageError: It cannot be read, or is no text.
    """
    try:
        return reward_in(read_plain(Path(os.path.realpath(path)), _MOST_BYTES).decode())
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 text", "save it as UTF-8") from error
    except OSError as error:
        raise UsageError(
            f"cannot read {path}: {error.strerror}", "give the path of a Python file with a reward"
        ) from error
