"""Metrics that language models drafted blind hold on sketches of others; planted faults in them are found.

`tests/recorded/words` says who wrote what.
"""

import json
from functools import cache
from pathlib import Path

import pytest
import torch

from rewardgen.sim.episodes import record_episodes
from rewardgen.tasks.card import probe
from rewardgen.tasks.draft.language import Draft, read_draft
from rewardgen.tasks.draft.sketches import Sketches, TaskLook, _repeated, judge_metric
from rewardgen.tasks.draft.trial import SEED, contradicted, drawn, policies, start_of, tried
from rewardgen.tasks.loading import load_task
from tests.tasks.planted_faults import PLANTED

RECORDED = Path(__file__).parents[1] / "recorded" / "words"
CASES = sorted(path.parent.name for path in RECORDED.glob("*/task.py"))
POLICIES = ("zero", "random", "lowest", "highest")
"""Policies that know nothing; `start_of` takes the first one's env."""


def written_out(sketch):
    cycle = sketch.pop("repeat", None)
    return sketch | ({"keyframes": _repeated(sketch["keyframes"], **cycle)} if cycle else {})


class Case:
    """The simulated episodes and the sketches of a recorded task."""

    def __init__(self, name):
        self.source = (RECORDED / name / "task.py").read_text()
        self.file = RECORDED / name / "task.py"
        task = load_task(str(self.file))
        envs = task.make_envs([SEED], len(POLICIES))
        self.step_s, self.actions = envs.control_step_s, envs.action_size
        acting = [policies(envs)[name] for name in POLICIES]  # each in an env of its own
        recording = record_episodes(envs, lambda seen: torch.stack([act(seen)[at] for at, act in enumerate(acting)]))
        self.recordings = {name: recording.of_envs(slice(at, at + 1)) for at, name in enumerate(POLICIES)}
        self.start = start_of(recording)
        kept = json.loads((RECORDED / name / "sketches.json").read_text())
        self.authors = [Sketches(sketches=tuple(map(written_out, each["sketches"]))) for each in kept["sketches"]]

    def verdict(self, file):
        task = load_task(str(file))
        found = [probe(task, name, each) for name, each in self.recordings.items()]
        draws = [drawn(task, each.sketches, self.start, self.step_s, self.actions) for each in self.authors]
        results = [tried(task, author, each) for author, each in zip(self.authors, draws, strict=True)]
        faults = [fault for each in draws for fault in contradicted(task, each)]
        return judge_metric(TaskLook(rollouts=tuple(found)), results, contradictions=faults)


case = cache(Case)


def planted(name, fault, folder):
    text = case(name).source.replace("../robots/", f"{RECORDED}/robots/")
    for old, new in PLANTED[name][fault]:
        assert old in text, old
        text = text.replace(old, new)
    file = folder / f"{name.replace('-', '_')}.py"
    file.write_text(text)
    return file


QUICK = {"flip-D1": ("the wrong way round", "constant", "always a success"), "hop-D2": ("falling is no matter",)}
"""Cases, and faults in them, of the plain test command."""
TRIED = [name for name in CASES if name in QUICK or name.endswith(("D3", "R1"))]
"""One author of each sentence, for time; episodes of 50 s take long to simulate."""


def at_leisure(*values, quick):
    return pytest.param(*values, marks=() if quick else pytest.mark.slow)


@pytest.mark.parametrize("name", [at_leisure(name, quick=name in QUICK) for name in TRIED])
def test_a_recorded_metric_holds_on_the_sketches_of_three_authors(name):
    verdict = case(name).verdict(case(name).file)
    assert verdict.passed, verdict


@pytest.mark.parametrize("name", CASES)
def test_a_recorded_reply_is_read_as_it_was(name):
    last = sorted(RECORDED.glob(f"{name}/reply-*.md"))[-1]
    found = read_draft(last.read_text())
    assert isinstance(found, Draft)
    assert found.metric.splitlines()[-1].strip() in (RECORDED / name / "task.py").read_text()


@pytest.mark.parametrize(
    ("name", "fault"),
    [at_leisure(name, fault, quick=fault in QUICK.get(name, ())) for name in PLANTED for fault in PLANTED[name]],
)
def test_a_fault_that_is_planted_in_a_metric_goes_back_to_its_author(tmp_path, name, fault):
    assert not case(name).verdict(planted(name, fault, tmp_path)).unanimous
