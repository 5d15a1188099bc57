"""What each detector of the critic is worth: how often it fires, how often rightly, how often it alone says anything.

```
python -m benchmarks.critic_detectors            # the table, in about two minutes
python -m benchmarks.critic_detectors --list     # every finding, with its judgement
```

It reads the labelled corpus (`tests/critic/corpus`), the recorded replies and the drafts by language models
(`tests/recorded`), and counts what is in the registry of detectors. Whether a finding is right was judged by reading it
against the source and the label; the judgements are in `critic_judgements.toml`, by text and detector, and a finding
without one is counted under `?`. `alone` are the findings on rewards of which no other detector says anything.
"""

from __future__ import annotations

import re
import sys
import tempfile
import tomllib
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from rewardgen.critic.gates import check_form
from rewardgen.critic.probe import detectors  # noqa: F401
from rewardgen.critic.registry import DETECTORS
from rewardgen.critic.review import ReviewRequest, SandboxedReviewer
from rewardgen.reward.extraction import extract_source
from rewardgen.store.records import Candidate, Finding, RewardSpec
from rewardgen.tasks.measure import MEASURING
from rewardgen.training.cache import get_or_record_transitions

_TESTS = Path(__file__).parents[1] / "tests"
_JUDGEMENTS = Path(__file__).with_name("critic_judgements.toml")
_SETS = ("sound", "defective", "recorded", "drafts")
_BATCH = 10
"""Rewards that are probed in one worker."""


class Text(NamedTuple):
    """A reward with the set that it is of."""

    name: str
    task: str
    source: str

    @property
    def kind(self) -> str:
        """Its set."""
        return self.name.split("/")[0]


def texts() -> list[Text]:
    """All rewards that detectors are measured on."""
    found = []
    for path in sorted(_TESTS.glob("critic/corpus/*/*.py")):
        task = re.search(r"^# task: (\S+)", path.read_text(), re.MULTILINE)
        assert task is not None
        found.append(Text(f"{path.parent.name}/{path.stem}", task[1], path.read_text()))
    replies = [path for path in sorted(_TESTS.glob("recorded/hopper/*/*.md")) if path.parent.name != "diagnosis"]
    found += [Text(f"recorded/{path.stem}", "hopper", extract_source(path.read_text())) for path in replies]
    for path in sorted(_TESTS.glob("recorded/drafts/*/*.md")):
        name = f"drafts/{path.parent.name}/{path.stem}"
        found.append(Text(name, path.stem.rsplit("-", 1)[0], extract_source(path.read_text())))
    return found


def review(task: str, own: Sequence[Text]) -> dict[str, list[Finding]]:
    """What the gates say of rewards for one task, whether or not an earlier one rejects them.

    Args:
        task: Its reference.
        own: The rewards.
    """
    with tempfile.TemporaryDirectory(prefix="rewardgen-") as folder:
        transitions = Path(folder) / "transitions.npz"
        card = get_or_record_transitions(task, transitions).card
        reviewer = SandboxedReviewer(transitions, MEASURING, Path(folder))
        drafts = [Candidate(id="draft", generation=0, operator="draft", source=each.source) for each in own]
        found = {each.name: list(check_form(draft, card)) for each, draft in zip(own, drafts, strict=True)}
        specs = [RewardSpec(candidate_id=each.name, source=each.source) for each in own]
        parsed = [each for each in specs if all(told.gate != "parse" for told in found[each.candidate_id])]
        runs = [each for each in specs if not found[each.candidate_id]]
        runnable = frozenset(each.candidate_id for each in runs)
        batches = [runs[first : first + _BATCH] for first in range(0, len(runs), _BATCH)]
        asked = [ReviewRequest(batch, runnable, card, skip=("static",)) for batch in batches]
        for request in (ReviewRequest(parsed, runnable, card, skip=("probe",)), *asked):
            for name, told in reviewer.review(request).reviews.items():
                found[name] += told.findings
    return found


def main() -> None:
    """Print the table, or the list."""
    judged: dict[str, dict[str, str]] = tomllib.loads(_JUDGEMENTS.read_text())
    own: dict[str, list[Text]] = defaultdict(list)
    for each in texts():
        own[each.task].append(each)
    size = Counter(each.kind for rewards in own.values() for each in rewards)
    counts: dict[str, Counter[str]] = {name: Counter() for name in DETECTORS.names()}
    for task, rewards in sorted(own.items()):
        for text, found in review(task, rewards).items():
            said = {each.detector: each for each in reversed(found)}
            for name in (name for name in counts if name in said):
                verdict = judged.get(text, {}).get(name, "?")
                counts[name].update([text.split("/")[0], verdict.split(":")[0], *["alone"] * (len(said) == 1)])
                if "--list" in sys.argv:
                    print(f"{text}: {name}, line {said[name].line}: {verdict}\n    {said[name].message}")
    columns = [*_SETS, "right", "wrong", "doubtful", "?", "alone"]
    widths = [len(f"{each} (000)" if each in _SETS else each) + 2 for each in columns]
    heads = [f"{each} ({size[each]})" if each in _SETS else each for each in columns]
    print(f"{'detector':24}", *(f"{head:>{width}}" for head, width in zip(heads, widths, strict=True)))
    for name, count in counts.items():
        print(f"{name:24}", *(f"{count[each]:{width}}" for each, width in zip(columns, widths, strict=True)))


if __name__ == "__main__":
    main()
