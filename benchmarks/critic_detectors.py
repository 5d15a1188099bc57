"""What each detector of the critic is worth: how often it fires, how often rightly, and what the probe says anyway.

```
python -m benchmarks.critic_detectors            # the table, in about two minutes
python -m benchmarks.critic_detectors --list     # every finding of a judged detector, with its judgement
```

It reads the labelled corpus (`tests/critic/corpus`), the recorded replies and the drafts by language models
(`tests/recorded`). Whether a finding is right was judged by reading it against the source and the label; the
judgements are in `critic_judgements.toml`, by text and detector, and a finding without one is counted under `?`.
`probed` are the findings on rewards that get as far as the probe, `too` those of them of which the probe says the same.
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
from rewardgen.critic.review import ReviewRequest, SandboxedReviewer
from rewardgen.reward.extraction import extract_source
from rewardgen.store.records import Candidate, Finding, RewardSpec
from rewardgen.tasks.measure import MEASURING
from rewardgen.training.transition_cache import get_or_record_transitions

_TESTS = Path(__file__).parents[1] / "tests"
_JUDGEMENTS = Path(__file__).with_name("critic_judgements.toml")
_SETS = ("sound", "defective", "recorded", "drafts")
_BATCH = 10
"""Rewards that are probed in one worker."""

SAME = {
    "angle-in-degrees": ("constant-component", "dead-component"),
    "chained-comparison": ("probe-exception",),
    "component-shape": ("probe-shape", "probe-exception"),
    "constant-alive-bonus": ("constant-component", "no-signal"),
    "contradictory-terms": ("contradictory-components",),
    "data-independent-component": ("constant-component", "no-signal"),
    "dead-clamp": ("constant-component", "dead-component"),
    "double-counted": ("redundant-components",),
    "early-clamp": ("saturated",),
    "empty-slice": ("dead-component", "probe-exception"),
    "float-equality": ("bonus-never-fires", "dead-component"),
    "index-out-of-range": ("probe-exception",),
    "mixes-worlds": ("batch-dependent", "probe-exception", "probe-shape"),
    "pacing-pays": ("loop-farming",),
    "penalises-goal": ("pair-reversed",),
    "positive-exponent": ("non-finite", "overflow", "exploding-component"),
    "quaternion-sign": ("not-invariant",),
    "rewards-cost": ("pair-reversed",),
    "shape-mismatch": ("probe-exception", "probe-shape"),
    "temperature-too-small": ("dead-component", "no-signal"),
    "tensor-branch": ("probe-exception",),
    "threshold-out-of-range": ("bonus-never-fires", "constant-component", "dead-component"),
    "unbounded-exponent": ("non-finite", "overflow", "exploding-component"),
    "unguarded-division": ("non-finite",),
    "unguarded-domain": ("non-finite",),
    "unlisted-term": ("residual",),
    "unwrapped-angle": ("not-invariant",),
}
"""For findings on the text, what the probe calls the same."""


class Text(NamedTuple):
    """A reward with the set that it is of."""

    name: str
    task: str
    source: str

    @property
    def kind(self) -> str:
        """Its set."""
        return self.name.split("/")[0]


class Told(NamedTuple):
    """What the gates said of a text; `probe` is None where the language or the signature rejects it."""

    static: tuple[Finding, ...]
    probe: tuple[Finding, ...] | None


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


def review(task: str, own: Sequence[Text]) -> dict[str, Told]:
    """What the gates say of rewards for one task.

    Args:
        task: Its reference.
        own: The rewards.
    """
    with tempfile.TemporaryDirectory(prefix="rewardgen-") as folder:
        bank = Path(folder) / "bank.npz"
        card = get_or_record_transitions(task, bank).card
        reviewer = SandboxedReviewer(bank, MEASURING, Path(folder))
        forms = {
            each.name: check_form(Candidate(id=each.name, generation=0, operator="draft", source=each.source), card)
            for each in own
        }
        specs = [RewardSpec(candidate_id=each.name, source=each.source) for each in own]
        runnable = frozenset(name for name, form in forms.items() if not form)
        runs = [each for each in specs if each.candidate_id in runnable]
        parsed = [each for each in specs if not _has(forms[each.candidate_id], "parse")]
        static = reviewer.review(ReviewRequest(parsed, runnable, card, skip=("probe",))).reviews
        probe = {
            id: review.findings
            for first in range(0, len(runs), _BATCH)
            for id, review in reviewer.review(
                ReviewRequest(runs[first : first + _BATCH], runnable, card, skip=("static",))
            ).reviews.items()
        }
    read = {id: review.findings for id, review in static.items()}
    return {each.name: Told(read.get(each.name, ()), probe.get(each.name)) for each in own}


def _has(findings: Sequence[Finding], gate: str) -> bool:
    return any(each.gate == gate for each in findings)


def _also_said(finding: Finding, probe: Sequence[Finding]) -> bool:
    same = [each for each in probe if each.detector in SAME.get(finding.detector, ())]
    return any(each.severity == "reject" or finding.component in (None, each.component) for each in same)


def judgements() -> dict[str, dict[str, str]]:
    """Text to detector to `right`, `wrong` or `doubtful`, most with the reason behind a colon."""
    return tomllib.loads(_JUDGEMENTS.read_text())


def main() -> None:
    """Print the table, or the list."""
    judged, told = judgements(), dict[str, Told]()
    own: dict[str, list[Text]] = defaultdict(list)
    for each in texts():
        own[each.task].append(each)
    for task, rewards in sorted(own.items()):
        told |= review(task, rewards)
    names = {name for each in judged.values() for name in each} | {f.detector for t in told.values() for f in t.static}
    fired: dict[str, Counter[str]] = {name: Counter() for name in names}
    for text in (each for rewards in own.values() for each in rewards):
        static, probe = told[text.name]
        said = (*static, *(probe or ()))
        first = {each.detector: each for each in reversed(said) if each.detector in names}
        for name, finding in sorted(first.items()):
            verdict = judged.get(text.name, {}).get(name, "not judged")
            fired[name][text.kind] += 1
            fired[name][verdict.split(":")[0]] += 1
            fired[name]["probed"] += probe is not None
            fired[name]["probe"] += finding.gate == "static" and _also_said(finding, probe or ())
            if "--list" in sys.argv:
                print(f"{text.name}: {name}, line {finding.line}: {verdict}\n    {finding.message}")
    size = Counter(each.kind for rewards in own.values() for each in rewards)
    print(
        f"{'detector':28}",
        *(f"{f'{kind} ({size[kind]})':>16}" for kind in _SETS),
        " right wrong doubtful ? probed  too",
    )
    for name, count in sorted(fired.items()):
        verdicts = (count["right"], count["wrong"], count["doubtful"], count["not judged"])
        right, wrong, doubtful, unknown = verdicts
        print(f"{name:28}", *(f"{count[kind]:16}" for kind in _SETS), end="")
        print(f" {right:6} {wrong:5} {doubtful:8} {unknown:1} {count['probed']:6} {count['probe']:4}")


if __name__ == "__main__":
    main()
