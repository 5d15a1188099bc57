"""The critic over the labelled corpus: how often it rejects sound rewards, and how often it lets defective ones pass.

The test command reviews those of two tasks; `pytest -s -m slow` all, and prints the table.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from rewardgen.critic.duplicates import find_duplicate
from rewardgen.critic.sandboxed import ReviewRequest, SandboxedReviewer
from rewardgen.reward.extraction import extract_source
from rewardgen.search.inspect_rewards import check_rewards, read_reward
from rewardgen.store.records import Candidate, Finding, RewardSpec
from rewardgen.tasks.card import measure_card
from rewardgen.tasks.loading import load_task
from rewardgen.tasks.measure import MEASURING
from rewardgen.tasks.members import BASELINES, own_program
from rewardgen.training.cache import get_or_record_transitions
from tests.builders import record
from tests.critic.banks import TRAPS, probe_source, recorded
from tests.critic.reviews import review_source
from tests.critic.test_detector_table import documented

CORPUS = Path(__file__).parent / "corpus"
RECORDED = Path(__file__).parents[1] / "recorded" / "hopper"
_HEADER = re.compile(r"# (\w+): (.*)")

DUPLICATES = 45
"""The row of duplicates."""
MOST_MISSED = 0.05

ARGUABLE = {
    "half_cheetah_04_augmented": "a reward works on copies of its inputs: as trained here the reward is sound",
    "half_cheetah_07_exp_speed": "the same defect, an exponential of speed, is labelled a warning in ant_12 and in"
    " hopper_12; it overflows only at speeds that no simulation reaches",
    "walker2d_07_view_of_input": "a reward works on copies of its inputs: as trained here the reward is sound",
    "humanoid_08_acos_upright": "the task computes `upright` as 1 minus a share, which rounding never takes out of"
    " [-1, 1]; cartpole_08, a root of the same kind, is labelled a warning",
}
"""Wanted rejects that training may do without: not counted."""


@dataclass(frozen=True, eq=False)
class Labelled:
    """A file of the corpus with its header."""

    path: Path
    label: dict[str, str]

    @property
    def name(self) -> str:
        return self.path.stem

    @property
    def wanted(self) -> str:
        return self.label.get("severity", "accept")

    @property
    def row(self) -> int:
        return int(self.label.get("row", 0))


@dataclass(frozen=True)
class Reviewed:
    """What all gates said of the corpus and of the honest rewards of the same tasks."""

    corpus: dict[Labelled, tuple[Finding, ...]]
    honest: dict[str, tuple[Finding, ...]]

    def wanted(self, severity: str) -> dict[Labelled, tuple[Finding, ...]]:
        """The findings of single files with a label; duplicates need another file beside them."""
        return {
            each: found for each, found in self.corpus.items() if each.wanted == severity and each.row != DUPLICATES
        }


def labelled() -> list[Labelled]:
    found = []
    for path in sorted(CORPUS.glob("*/*.py")):
        lines = [_HEADER.match(line) for line in path.read_text().split("\n")]
        header = [each for each in lines if each]
        found.append(Labelled(path, {each[1]: each[2] for each in header}))
    return found


FILES = labelled()
COPIES = [each for each in FILES if each.row == DUPLICATES]
TASKS = sorted({each.label["task"] for each in FILES})
SAMPLE = ["cartpole", "hopper"]


def sampled(value, name, in_sample):
    """A case that the test command runs only if it is of the sample."""
    return pytest.param(value, id=name, marks=() if in_sample else pytest.mark.slow)


def honest_sources(task: str) -> dict[str, str]:
    """The task's own rewards, and for hopper what capable language models answered."""
    programs = {name: own_program(load_task(task), name) for name in BASELINES}
    sources = {f"{task}_{name}": each.source for name, each in programs.items() if each is not None}
    for reply in sorted(RECORDED.glob("*/g0*.md")) if task == "hopper" else ():
        if reply.parent.name in ("draft", "mutation") and "-k5-" not in reply.name:
            sources[f"recorded_{reply.stem}"] = extract_source(reply.read_text())
    return sources


@pytest.fixture(scope="module", params=[SAMPLE, pytest.param(TASKS, marks=pytest.mark.slow)], ids=["sample", "all"])
def reviewed(tmp_path_factory, request):
    corpus, honest = {}, {}
    for task in request.param:
        folder = tmp_path_factory.mktemp(task)
        own = [each for each in FILES if each.label["task"] == task]
        others = honest_sources(task)
        for name, source in others.items():
            (folder / f"{name}.py").write_text(source)
        files = [*(each.path for each in own), *sorted(folder.glob("*.py"))]
        verdicts = check_rewards(task, {str(each): read_reward(each) for each in files}).verdicts
        corpus |= {each: verdicts[str(each.path)].findings for each in own}
        honest |= {name: verdicts[str(folder / f"{name}.py")].findings for name in others}
    found = Reviewed(corpus, honest)
    print("", *table(found), sep="\n")
    print(f"missed rejects: {missed(found)}, and of the arguable: {sorted(ARGUABLE)}")
    return found


def answer(findings) -> str:
    if any(each.severity == "reject" for each in findings):
        return "rejected"
    return "warned" if findings else "silent"


def table(reviewed) -> list[str]:
    """Per row of the catalogue: how many there are, and what the critic said of them."""
    counts = Counter(
        (each.row, each.wanted, answer(found)) for each, found in reviewed.corpus.items() if each.row != DUPLICATES
    )
    kinds = sorted({(row, wanted) for row, wanted, _ in counts})
    lines = [f"{'row':>4} {'wanted':8} {'files':>5} {'rejected':>9} {'warned':>7} {'silent':>7}"]
    for row, wanted in kinds:
        said = [counts[row, wanted, each] for each in ("rejected", "warned", "silent")]
        lines.append(f"{row or 'none':>4} {wanted:8} {sum(said):5} " + f"{said[0]:9} {said[1]:7} {said[2]:7}")
    return lines


def missed(reviewed) -> list[str]:
    rejects = reviewed.wanted("reject")
    return [each.name for each, found in rejects.items() if answer(found) != "rejected" and each.name not in ARGUABLE]


def test_the_corpus_is_as_large_as_it_must_be():
    counts = Counter(each.wanted for each in FILES)
    assert counts["accept"] >= 40 and counts["reject"] + counts["warn"] >= 60
    assert len(ARGUABLE) <= 4 and set(ARGUABLE) <= {each.name for each in FILES if each.wanted == "reject"}


def test_no_sound_reward_is_rejected(reviewed):
    assert {each.name: found for each, found in reviewed.wanted("accept").items() if answer(found) == "rejected"} == {}


def test_at_most_one_wanted_reject_in_twenty_is_missed(reviewed):
    counted = len(reviewed.wanted("reject")) - len(ARGUABLE)
    assert len(missed(reviewed)) <= MOST_MISSED * counted, missed(reviewed)


def test_every_finding_has_the_gate_and_the_severity_that_the_documentation_says(reviewed):
    page = documented()
    for found in (*reviewed.corpus.values(), *reviewed.honest.values()):
        for each in found:
            gates, severities = page[each.detector]
            assert each.gate in gates and each.severity in severities, each


def test_no_honest_reward_from_elsewhere_is_rejected(reviewed):
    assert len(reviewed.honest) >= 14
    assert {name: found for name, found in reviewed.honest.items() if answer(found) == "rejected"} == {}


@pytest.mark.parametrize("trap", [sampled(path.stem, path.stem, path.stem == "lying") for path in TRAPS.glob("*.py")])
def test_the_sound_reward_of_a_trap_is_not_rejected(trap):
    reference = str(TRAPS / f"{trap}.py")
    task = load_task(reference)
    program = own_program(task, "sound_reward")  # pyright: ignore[reportArgumentType]
    assert program is not None
    written = Candidate(id=trap, generation=0, operator="draft", source=program.source)
    found = review_source(written, measure_card(task))
    probed = probe_source(program.source, recorded(reference))
    assert answer([*found, *probed]) != "rejected", [*found, *probed]


@pytest.mark.parametrize("copy", [sampled(each, each.name, each.label["task"] in SAMPLE) for each in COPIES])
def test_a_duplicate_is_rejected_beside_its_original_and_alone_it_is_sound(copy, tmp_path):
    task = copy.label["task"]
    original = CORPUS / copy.label["duplicate_of"]
    other = next(path for path in sorted(CORPUS.glob(f"sound/{task}_*.py")) if path != original)
    paths = {"g00-k0": copy.path, "g00-k1": original, "g00-k2": other}
    own, *others = [RewardSpec(candidate_id=id, source=path.read_text()) for id, path in paths.items()]
    bank = tmp_path / "bank.npz"
    card = get_or_record_transitions(task, bank).card
    request = ReviewRequest([own], card, others=others)
    review = SandboxedReviewer(bank, MEASURING, tmp_path).review(request).reviews["g00-k0"]
    first, second = (record(each.candidate_id, source=each.source) for each in others)
    finding = find_duplicate(own.source, review.distances, [first, second])
    assert finding is not None and "g00-k1" in finding.message
    assert find_duplicate(own.source, review.distances, [second]) is None
    assert answer(review.findings) != "rejected"
