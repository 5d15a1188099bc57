"""Inspection of rewards outside a search: the critic's gates, and the distance of two rewards."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from rewardgen.core.errors import SandboxError, UsageError
from rewardgen.core.files import read_plain
from rewardgen.critic.critic import Critic, Review
from rewardgen.critic.sandboxed import RewardPair, SandboxedReviewer
from rewardgen.reward.export import reward_in
from rewardgen.sandbox.folders import scratch_folder
from rewardgen.store.history import History
from rewardgen.store.records import Candidate, RewardSpec
from rewardgen.store.run_folder import RunFolder
from rewardgen.tasks.loading import lasting_reference
from rewardgen.tasks.measure import MEASURING
from rewardgen.training.cache import get_or_record_transitions
from rewardgen.training.setup import card_for

_MOST_BYTES = 16 << 20
"""Largest reward file [bytes]; the language allows much less."""
_NEEDED = "give the path of a Python file with a `compute_reward`"


def check_rewards(task: str, sources: Mapping[str, str]) -> Review:
    """Review rewards, source by name, without training them; the verdicts are by name too."""
    names = {f"reward-{number}": name for number, name in enumerate(sources)}
    candidates = [Candidate(id=id, generation=0, operator="draft", source=sources[name]) for id, name in names.items()]
    with scratch_folder() as scratch:
        transitions = scratch / "transitions.npz"
        card = card_for(None, get_or_record_transitions(lasting_reference(task), transitions))
        critic = Critic(SandboxedReviewer(transitions, MEASURING, scratch), compares=False)
        verdicts, not_available = critic.review(candidates, card)
    by_name = {names[id]: verdict.model_copy(update={"candidate_id": names[id]}) for id, verdict in verdicts.items()}
    return Review(by_name, not_available)


def compare_rewards(folder: RunFolder, history: History, one: RewardSpec, other: RewardSpec) -> RewardPair:
    """Compare two rewards on a run's recorded transitions.

    Anybody may have written the folder, so its task file is never run, and its rewards run with every sandbox layer.
    """
    with scratch_folder() as scratch:
        limits = MEASURING.model_copy(update={"sandbox": "strict"})
        try:
            return SandboxedReviewer(folder.transitions, limits, scratch).compare(one, other, history.card)
        except SandboxError as error:
            hint = "leave out `--rewards`: rewards of a run folder need every sandbox layer, see `rewardgen doctor`"
            raise SandboxError(error.message, hint) from error


def read_reward(path: Path) -> str:
    """Read the source of a reward from a file; from an exported file, the reward alone."""
    try:
        source = reward_in(read_plain(Path(os.path.realpath(path)), _MOST_BYTES).decode())
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 text", "save it as UTF-8") from error
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}", _NEEDED) from error
    if not source.strip():
        raise UsageError(f"{path} is empty", _NEEDED)
    return source
