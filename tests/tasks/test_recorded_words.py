"""Metrics that language models drafted blind hold on sketches of others; planted faults in them are found.

`tests/recorded/words` says who wrote what.
"""

import json
from functools import cache
from pathlib import Path

import pytest

from rewardgen.sim.episodes import record_episodes
from rewardgen.tasks.card import PROBE_WORLDS
from rewardgen.tasks.draft_language import Draft, read_draft
from rewardgen.tasks.loading import load_task
from rewardgen.tasks.metric_trial import SEED, policies, rollout, start_of, tried
from rewardgen.tasks.metric_verdict import TaskLook, judge_metric
from rewardgen.tasks.sketches import Sketches

RECORDED = Path(__file__).parents[1] / "recorded" / "words"
CASES = sorted(path.parent.name for path in RECORDED.glob("*/task.py"))
ALWAYS, NEVER = '"success": lived[:, 0] > 0.0', '"success": lived[:, 0] < 0.0'

# Of 30 that were tried, one more was not found: a flip whose landing does not count, since no author drew one.
PLANTED = {
    "flip-D1": {
        "the wrong way round": [("back = -turns", "back = turns")],
        "more turns count too": [("upper=1.0 + slack", "upper=9.0"), ("< 1.0 + slack", "< 9.0"),
                                 ("over = tolerance(back.amax(1), upper=1.25", "over = tolerance(back.amax(1), upper=9.0")],
        "constant": [('"fitness": fitness', '"fitness": 0.5 + 0.0 * fitness')],
        "negated": [('"fitness": fitness', '"fitness": 1.0 - fitness')],
        "always a success": [('"success": success', ALWAYS)],
    },
    "hop-D2": {
        "the wrong way": [("dx = torch.diff(", "dx = -torch.diff(")],
        "back and forth pays": [("gained = torch.where(dx > 0.0, dx * up, dx)", "gained = dx.abs()")],
        "falling is no matter": [("up = ((upright > tipped) * (height > collapsed) * (torso_down < 0.5) * lived)", "up = (lived)"),
                                 ("hops = (", "hops = 1.0 + 0.0 * (")],
        "far too slow is enough": [("(pace >= 0.995) & (going >= 0.999) & (hops >= 0.999)", "(pace >= 0.1)"),
                                   ("& (busy[:, -1] > 0.5) & stood", "")],
        "constant": [('"fitness": 0.8 * progress', '"fitness": 0.5 + 0.0 * progress'), ("+ 0.2 * success.float()", "")],
        "never a success": [('"success": success', NEVER)],
    },
    "lift-D1": {
        "a little is high enough": [("high: float = 0.335", "high: float = 0.09")],
        "for a moment is long enough": [("there = (ball_height >= high).float()", "there = (ball_height >= high).float().cummax(1).values"),
                                        ("* (ball_down < 0.5).float() * lived\n        held_now", "\n        held_now")],
        "thrown counts as held": [("share(there * touch, 100)", "share(there, 5)"), ("share(there, 100) > 0.999", "share(there, 5) > 0.5")],
        "the lower the better": [("rise = ((ball_height - start)", "rise = ((start - ball_height)"), ("ball_height >= high", "ball_height < high")],
        "negated": [('"fitness": fitness', '"fitness": 1.0 - fitness')],
        "success without fitness": [('"success": success', '"success": reached > 0.9')],
    },
    "turn-D2": {
        "to the right": [("tail = turns", "turns = -turns\n        tail = turns")],
        "any number of turns": [("off = ((tail - 1.0).abs() - exact)", "off = ((1.0 - tail) - exact)"),
                                ("(tail - 1.0).abs().amax(1) <= exact", "(tail > 0.9).all(1)"),
                                ("too_far = tolerance(most, lower=-10.0, upper=1.0 + excess", "too_far = tolerance(most, lower=-10.0, upper=90.0"),
                                ("& (most <= 1.0 + excess)", ""), ("& (stands >= stands_share)", "")],
        "anywhere": [("on_spot = tolerance(strayed, upper=spot", "on_spot = tolerance(strayed, upper=99.0"), ("& (strayed <= spot)", "")],
        "at any time": [("tail = turns[:, -100:]", "tail = turns.cummax(1).values[:, -100:]"), ("* too_far * too_right", ""),
                        ("& (most <= 1.0 + excess)", "& (most >= 1.0 - exact)"), ("(tail - 1.0).abs().amax(1) <= exact", "tail.amax(1) > 0.9"),
                        ("& (stands >= stands_share)", ""), ("& (up[:, -1] > 0.5)", "")],
        "constant": [('"fitness": 0.75 * progress', '"fitness": 0.5 + 0.0 * progress'), ("+ 0.25 * success.float()", "")],
        "always a success": [('"success": success', ALWAYS)],
    },
    "table-D2": {
        "the wrong box": [("far = (red[..., :2]", "far = (blue[..., :2]")],
        "the hand instead of the box": [("far = (red[..., :2]", "far = (hand[..., :2]"), ("& (began_away > 0.5)", "")],
        "blue is no matter": [("& spared", ""), ("* care", "")],
        "passing over it is enough": [("brought[:, -50:].mean(1)", "brought.amax(1)"), ("lies[:, -50:].mean(1)", "lies.amax(1)"),
                                      ("* tolerance(speed, upper=rest_speed, margin=0.1)", ""), ("& (speed <= rest_speed_most)", ""),
                                      ("stays.float()[:, -50:].amin(1)", "stays.float().amax(1)")],
        "negated": [('"fitness": progress * care + 0.3 * success.float()', '"fitness": 1.0 - progress * care')],
        "never a success": [('"success": success', NEVER)],
    },
}  # fmt: skip


class Case:
    """The simulated episodes and the sketches of a recorded task."""

    def __init__(self, name):
        self.source = (RECORDED / name / "task.py").read_text()
        self.file = RECORDED / name / "task.py"
        task = load_task(str(self.file))
        self.envs = task.make_envs([SEED], PROBE_WORLDS)
        self.recordings = {name: record_episodes(self.envs, policy) for name, policy in policies(self.envs).items()}
        self.start = start_of(self.recordings["zero"])
        kept = json.loads((RECORDED / name / "sketches.json").read_text())
        self.authors = [Sketches.model_validate(each) for each in kept["sketches"]]

    def verdict(self, file):
        task = load_task(str(file))
        found = [rollout(task, name, each.episode) for name, each in self.recordings.items()]
        results = [tried(task, self.envs, self.start, each) for each in self.authors]
        return judge_metric(TaskLook(rollouts=tuple(found)), results)


case = cache(Case)


def planted(name, fault, folder):
    text = case(name).source.replace("../robots/", f"{RECORDED}/robots/")
    for old, new in PLANTED[name][fault]:
        assert old in text, old
        text = text.replace(old, new)
    file = folder / f"{name.replace('-', '_')}.py"
    file.write_text(text)
    return file


@pytest.mark.parametrize("name", CASES)
def test_a_recorded_metric_holds_on_the_sketches_of_three_authors(name):
    verdict = case(name).verdict(case(name).file)
    assert verdict.passed, verdict


@pytest.mark.parametrize("name", CASES)
def test_a_recorded_reply_is_read_as_it_was(name):
    last = sorted(RECORDED.glob(f"{name}/reply-*.md"))[-1]
    found = read_draft(last.read_text())
    assert isinstance(found, Draft)
    assert found.metric.splitlines()[-1].strip() in (RECORDED / name / "task.py").read_text()


@pytest.mark.parametrize(("name", "fault"), [(name, fault) for name, faults in PLANTED.items() for fault in faults])
def test_a_fault_that_is_planted_in_a_metric_goes_back_to_its_author(tmp_path, name, fault):
    assert not case(name).verdict(planted(name, fault, tmp_path)).unanimous
