"""Worth of each detector of the critic: catches in a labelled corpus, and fitness of the drafts that it warns of.

Reads `tests/critic/corpus`, the replies in `tests/recorded` and the candidates of the recorded runs in
`benchmarks/evidence` that a language model wrote. Takes about ten minutes.
"""

from __future__ import annotations

import re
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from docs.study_runs import KEPT, unpack
from rewardgen.core.config import BUILTIN
from rewardgen.critic.critic import Critic
from rewardgen.critic.sandboxed import SandboxedReviewer
from rewardgen.reward.extraction import extract_source
from rewardgen.store.history import History
from rewardgen.store.records import Candidate, Finding
from rewardgen.store.run_folder import RunFolder
from rewardgen.tasks.measure import MEASURING
from rewardgen.training.cache import get_or_record_transitions

_ROOT = Path(__file__).parents[1]
SETS = ("sound", "warn", "reject", "recorded", "drafts")
"""Corpus by label, replies in `tests/recorded`, and drafts in `benchmarks/evidence`."""
_UNWARNED = "(no finding)"


class Text(NamedTuple):
    """A reward.

    Attributes:
        name: Unique.
        set: One of `SETS`.
        task: Reference of its task.
        source: The text.
        rank: Share of its run's candidates that ended with less fitness; None if it was not trained.
    """

    name: str
    set: str
    task: str
    source: str
    rank: float | None = None


def texts() -> list[Text]:
    """Return all rewards that the detectors are measured on."""
    return [*_corpus(), *_recorded(), *_drafts()]


def _corpus() -> Iterator[Text]:
    for path in sorted(_ROOT.glob("tests/critic/corpus/*/*.py")):
        source = path.read_text()
        label = dict(re.findall(r"^# (\w+): (.*)$", source, re.MULTILINE))
        yield Text(f"{path.parent.name}/{path.stem}", label.get("severity", "sound"), label["task"], source)


def _recorded() -> Iterator[Text]:
    for path in sorted(_ROOT.glob("tests/recorded/hopper/*/*.md")):
        if path.parent.name != "diagnosis":
            yield Text(f"hopper/{path.stem}", "recorded", "hopper", extract_source(path.read_text()))
    for path in sorted(_ROOT.glob("tests/recorded/drafts/*/*.md")):
        task = path.stem.rsplit("-", 1)[0]
        yield Text(f"{path.parent.name}/{path.stem}", "recorded", task, extract_source(path.read_text()))


def _drafts() -> Iterator[Text]:
    unpack()
    for folder in sorted(path.parent for path in KEPT.glob("*/events.jsonl")):
        history = History.load(RunFolder(folder))
        if history.config is None or history.config.model == BUILTIN:
            continue
        task = str(folder / "task.py") if (folder / "task.py").exists() else history.config.task
        records = [record for id in history.ids() if (record := history.record(id))]
        fitness = {record.candidate.id: record.fitness for record in records if record.fitness is not None}
        for (id, repairs), candidate in history.designed.items():
            if not repairs and candidate.source:
                lower = sum(other < fitness[id] for other in fitness.values()) if id in fitness else 0
                rank = lower / max(1, len(fitness) - 1) if id in fitness else None
                yield Text(f"{folder.name}/{id}", "drafts", task, candidate.source, rank)


def review(task: str, rewards: Sequence[Text]) -> dict[str, tuple[Finding, ...]]:
    """Return the findings of all gates that need no other candidates, by name."""
    with tempfile.TemporaryDirectory(prefix="rewardgen-") as folder:
        transitions = Path(folder) / "transitions.npz"
        card = get_or_record_transitions(task, transitions).card
        names = {f"reward-{number}": text for number, text in enumerate(rewards)}
        candidates = [
            Candidate(id=id, generation=0, operator="draft", source=text.source) for id, text in names.items()
        ]
        critic = Critic(SandboxedReviewer(transitions, MEASURING, Path(folder)), compares=False)
        verdicts = critic.review(candidates, card).verdicts
        return {text.name: verdicts[id].findings for id, text in names.items()}


class Catches:
    """Findings of one detector.

    Attributes:
        fires: Rewards with a finding, by set.
        alone: Rewards of which no other detector says anything, by set.
        ranks: Of the drafts with a finding.
    """

    def __init__(self) -> None:
        self.fires: Counter[str] = Counter()
        self.alone: Counter[str] = Counter()
        self.ranks: list[float] = []

    def add(self, text: Text, alone: bool) -> None:
        """Count a finding."""
        self.fires[text.set] += 1
        self.alone[text.set] += alone
        if text.rank is not None:
            self.ranks.append(text.rank)

    def row(self, name: str) -> str:
        """Return a line of the table."""
        cells = [f"{self.fires[kind]} ({self.alone[kind]})" if self.fires[kind] else "0" for kind in SETS]
        rank = f"{fmean(self.ranks):.2f}" if self.ranks else ""
        return f"| {name} | {' | '.join(cells)} | {rank} |"


def bench_detectors(say: Callable[[str], None], show_all: bool = False) -> str:
    """Measure all detectors.

    Args:
        say: Called with the progress.
        show_all: True to list every finding before the table.

    Returns:
        A table in Markdown: per detector and set, the rewards with a finding and, in brackets, those without another;
        and the mean rank in their run of the drafts with a finding.
    """
    by_task: dict[str, list[Text]] = defaultdict(list)
    for text in texts():
        by_task[text.task].append(text)
    catches: dict[str, Catches] = defaultdict(Catches)
    lines: list[str] = []
    for task, rewards in sorted(by_task.items()):
        say(f"{task}: {len(rewards)} rewards")
        findings = review(task, rewards)
        for text in rewards:
            by_detector = {finding.detector: finding for finding in reversed(findings[text.name])}
            for name, finding in by_detector.items():
                catches[f"`{name}`"].add(text, alone=len(by_detector) == 1)
                lines.append(f"{text.name}: {name} ({finding.severity}), {finding.message}")
            if not by_detector:
                catches[_UNWARNED].add(text, alone=False)
    size = Counter(text.set for rewards in by_task.values() for text in rewards)
    head = ["detector", *(f"{kind}, of {size[kind]}" for kind in SETS), "rank of the drafts"]
    table = [
        f"| {' | '.join(head)} |",
        "|---" * len(head) + "|",
        *(catches[name].row(name) for name in sorted(catches)),
    ]
    return "\n".join([*(lines if show_all else []), *table])
