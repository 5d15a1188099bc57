"""Sketches: reading them, making episodes of them, and what they say of a metric."""

import asyncio
import json
import math
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import torch

from rewardgen.llm.protocol import CallFailed
from rewardgen.sim.episodes import record_episodes
from rewardgen.store.records import VariableCard
from rewardgen.tasks.card import probe
from rewardgen.tasks.draft.drafting import ask_authors
from rewardgen.tasks.draft.language import Draft, read_draft
from rewardgen.tasks.draft.sketches import (
    MetricVerdict,
    Sketch,
    Sketches,
    SketchResult,
    TaskLook,
    judge_metric,
    read_sketches,
    spearman,
)
from rewardgen.tasks.draft.trial import SEED, drawn, look_job, policies, start_of, trial_job
from rewardgen.tasks.loading import load_task
from rewardgen.testing.scripted import ScriptedLLM
from tests.builders import card
from tests.tasks.drafts import draft

SHAPES = {"height": (), "pitch": (), "z_velocity": (), "on_floor": (), "place": (3,)}
FLIP = [{"t": 0.3, "height": 1.8, "pitch": -1.5}, {"t": 0.6, "height": 1.6, "pitch": -4.0}]
STANDS = {"t": 0.9, "height": 1.25, "pitch": -2.0 * math.pi}


def sketch(kind, rank, *frames, **rest):
    return {"name": f"{kind} {rank}", "kind": kind, "rank": rank, "keyframes": list(frames), **rest}


def nine():
    """Sketches of a backflip."""
    return [
        sketch("nothing", 0, {"t": 0.0, "height": 1.25}),
        sketch("partial", 3, {"t": 0.5, "pitch": -1.0}, {"t": 1.0, "pitch": 0.0}),
        sketch("partial", 5, *FLIP, {"t": 0.9, "height": 0.6, "pitch": -6.2}, {"t": 1.5, "height": 0.4}),
        sketch("right", 9, *FLIP, STANDS),
        sketch("right", 10, *FLIP, STANDS, {"t": 2.5, "height": 1.25}),
        sketch("cheat", 1, {"t": 0.5, "height": 0.1, "pitch": -1.6}),
        sketch("cheat", 2, {"t": 0.6, "pitch": 3.0}, {"t": 1.2, "pitch": 2.0 * math.pi}),
        sketch("cheat", 4, {"t": 0.6, "pitch": -6.3}, {"t": 1.2, "pitch": -12.6}, {"t": 1.5, "pitch": -12.6}),
    ]


def reply(sketches, question="How high?"):
    return f"Here:\n```json\n{json.dumps({'question': question, 'sketches': sketches})}\n```"


def read(sketches):
    found = read_sketches(reply(sketches), SHAPES, 3.0)
    assert isinstance(found, Sketches), found
    return found


@pytest.fixture
def task(tmp_path):
    return write(tmp_path)


def write(folder, *changes):
    found = read_draft(draft(*changes))
    assert isinstance(found, Draft), found
    path = folder / "backflip.py"
    path.write_text(found.file("Drafted.", "gymnasium:hopper.xml", 4))
    return str(path)


def test_a_repeated_stretch_goes_on_from_where_it_ended():
    lands = {"t": 0.25, "height": 1.0, "place": [0.0, 0.0, 1.0]}
    again = {"t": 0.75, "height": 1.0, "place": [0.5, 0.0, 1.0]}
    cycle = {"from": 0.25, "to": 0.75, "until": 1.75}
    walks = sketch("right", 9, lands, {"t": 0.5, "height": 1.2}, again, {"t": 2.0, "height": 0.2}, repeat=cycle)
    frames = read([*nine(), walks]).sketches[-1].keyframes
    assert [time for time, _ in frames] == [0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0]
    assert frames[3][1] == {"height": 1.2}
    partly = [*nine(), dict(walks, repeat=dict(cycle, until=1.6))]
    assert "whole number" in read_sketches(reply(partly), SHAPES, 3.0)[0]
    unnamed = [*nine(), dict(walks, keyframes=[lands, {"t": 0.5, "pitch": 1.2}, again, {"t": 2.0}])]
    assert "that name the same variables" in read_sketches(reply(unnamed), SHAPES, 3.0)[0]
    assert frames[4][1] == {"height": 1.0, "place": (1.0, 0.0, 1.0)}


def test_an_author_whose_model_fails_does_not_lose_what_the_others_were_paid_for():
    variables = tuple(
        VariableCard(name=name, unit="1", shape=shape, meaning=name, minimum=(0,), median=(0,), maximum=(1,))
        for name, shape in SHAPES.items()
    )
    start = {name: (0.0,) * math.prod(shape) for name, shape in SHAPES.items()}
    look = TaskLook(card=card(variables=variables, episode_steps=150, control_step_s=0.02), start=start)

    def authors(failing):
        llm = ScriptedLLM(lambda request: CallFailed("no reply") if failing in request.label else reply(nine()))
        return asyncio.run(ask_authors(llm, look, "flip", "", "task/draft-1"))

    assert len(authors("sketches-1")) == 2
    with pytest.raises(CallFailed):
        authors("sketches")


def test_sketches_are_read_out_of_a_reply():
    found = read(nine())
    assert found.question == "How high?"
    assert [each.kind for each in found.sketches][:2] == ["nothing", "partial"]
    assert found.sketches[1].keyframes == ((0.5, {"pitch": -1.0}), (1.0, {"pitch": 0.0}))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda s: s[3:], "5 sketches, expected 6"),
        (lambda s: [*s[:7], dict(s[7], kind="partial")], "2 sketches of the kind `cheat`"),
        (lambda s: [dict(s[0], kind="good"), *s[1:]], "its kind is none of"),
        (lambda s: [dict(s[0], rank="best"), *s[1:]], "no `rank`"),
        (lambda s: [dict(s[0], keyframes=[]), *s[1:]], "no list of 1"),
        (lambda s: [dict(s[0], keyframes=[{"height": 1.0}]), *s[1:]], "has no `t`"),
        (lambda s: [dict(s[0], keyframes=[{"t": 1.0}, {"t": 0.5}]), *s[1:]], "not after the one before"),
        (lambda s: [dict(s[0], keyframes=[{"t": 9.0}]), *s[1:]], "after the end at 3 s"),
        (lambda s: [dict(s[0], keyframes=[{"t": 1.0, "heigth": 1.0}]), *s[1:]], "did you mean `height`"),
        (lambda s: [dict(s[0], keyframes=[{"t": 1.0, "height": [1.0]}]), *s[1:]], "1 value, not a list"),
        (lambda s: [dict(s[0], keyframes=[{"t": 1.0, "place": [1.0]}]), *s[1:]], "3 parts, as a list"),
        (lambda s: [dict(s[0], keyframes=[{"t": 1.0, "height": 1e30}]), *s[1:]], "not a number"),
        (lambda s: [dict(s[0], keyframes=[{"t": 1.0, "height": "1"}]), *s[1:]], "not a number"),
        (lambda s: [dict(s[1], repeat=3), *s[1:]], "not of the form"),
        (lambda s: [dict(s[1], repeat={"from": 0.1, "to": 1.0, "until": 2.0}), *s[1:]], "of two keyframes"),
        (
            lambda s: [dict(s[1], repeat={"from": 0.5, "to": 1.0, "until": 9.0}), *s[1:]],
            "ends before the next keyframe",
        ),
    ],
)
def test_what_is_no_sketch_is_told(change, said):
    found = read_sketches(reply(change(nine())), SHAPES, 3.0)
    assert not isinstance(found, Sketches) and any(said in each for each in found), found


@pytest.mark.parametrize("text", ["", "no JSON", "```json\n[\n```", "[" * 100_000, '{"sketches": 3}', "NaN", "[1, 2]"])
def test_a_reply_without_sketches_is_told(text):
    assert not isinstance(read_sketches(text, SHAPES, 3.0), Sketches)


def test_what_follows_from_a_sketch_is_filled_in(task):
    frames = ((0.0, {"height": 1.0}), (1.0, {"height": 2.0, "on_floor": 0.0}), (2.0, {"height": 2.0, "on_floor": 1.0}))
    start = {name: torch.zeros(()) for name in ("height", "pitch", "z_velocity", "on_floor")}
    one = Sketch(name="a jump", kind="right", rank=1.0, keyframes=frames)
    episode = drawn(load_task(task), [one], start, 0.02, 3)
    assert episode["height"].shape == (150, 1)
    assert episode["height"][24, 0] == pytest.approx(1.5)
    assert episode["height"][120, 0] == 2.0
    assert set(episode["on_floor"][:, 0].tolist()) == {0.0, 1.0}
    assert episode["pitch"].abs().max() == 0.0


@pytest.mark.parametrize("told", ["", '.told("how fast it rises")'])
def test_a_velocity_that_is_left_out_is_the_derivative(tmp_path, told):
    rise = f'Slide("rootz").velocity{told}\n    rise = Slide("rootz").position{told}'
    path = write(tmp_path, ('Slide("rootz").velocity', rise))
    start = {name: torch.zeros(()) for name in ("height", "pitch", "z_velocity", "on_floor", "rise")}
    up = Sketch(name="up", kind="right", rank=1.0, keyframes=((1.0, {"rise": 1.0}),))
    assert drawn(load_task(path), [up], start, 0.02, 3)["z_velocity"][10, 0] == pytest.approx(1.0)


def test_a_termination_condition_ends_a_sketch(task):
    start = {name: torch.ones(()) for name in ("height", "pitch", "z_velocity", "on_floor")}
    falls = Sketch(name="falls", kind="cheat", rank=1.0, keyframes=((0.5, {"height": 0.6}), (0.51, {"height": 0.0})))
    episode = drawn(load_task(task), [falls], start, 0.02, 3)
    assert episode.lengths.tolist() == [26] and episode.terminated.tolist() == [True]


@cache
def acted():
    """Episodes of policies that know nothing; what the tests change of the task is its metric."""
    with TemporaryDirectory() as folder:
        envs = load_task(write(Path(folder))).make_envs([SEED], 2)
        return {name: record_episodes(envs, policy) for name, policy in policies(envs).items()}


def look_at(path) -> TaskLook:
    """What `look_job` would find, with those episodes."""
    task = load_task(path)
    start = {name: (float(value),) for name, value in start_of(acted()["zero"]).items()}
    return TaskLook(start=start, rollouts=tuple(probe(task, name, each) for name, each in acted().items()))


def verdict(path, *authors, look=None) -> MetricVerdict:
    look = look or look_at(path)
    payload = {"task": path, "start": look.start, "authors": [read(each).model_dump(mode="json") for each in authors]}
    found = trial_job(json.loads(json.dumps(payload)), print)
    results = [[SketchResult.model_validate(each) for each in one] for one in found["authors"]]
    return judge_metric(look, results, contradictions=found["faults"])


def test_a_sound_metric_is_believed(task):
    look = TaskLook.model_validate(look_job({"task": task}, print))
    assert look.problems == () and look.start.keys() == look_at(task).start.keys()
    found = verdict(task, nine(), look=look)
    assert found.passed and not found.ambiguous, found
    assert verdict(task, nine()).passed
    assert found.authors[0].agreement > 0.8


@pytest.mark.parametrize(("name", "holds"), [("pitch", False), ("z_velocity", True)])
def test_a_metric_that_contradicts_what_its_task_declares_is_not_believed(tmp_path, name, holds):
    declared = f'    invariances = (Shift("{name}", 3.0),)\n    pairs'
    found = verdict(write(tmp_path, ("    pairs", declared)), nine())
    assert found.passed == holds
    assert holds or "`Shift` says that nothing changes with `pitch`" in found.faults[0]


BAD = {
    "the wrong way round": ("        turned = (", "        pitch = -pitch\n        turned = ("),
    "constant": ("fitness = 0.4 * turned + 0.6 * once * stands", "fitness = 0.5 * torch.ones_like(turned)"),
    "any time instead of the end": (
        "(lived[:, -25:] * tolerance(height[:, -25:], lower=standing, upper=2.0, margin=0.3)).mean(1)",
        "tolerance(height.amax(1), lower=standing, upper=9.0, margin=0.3)",
    ),
    "always a success": ('"success": (once > 0.9) & (stands > 0.9)', '"success": fitness > -1.0'),
    "never a success": ('"success": (once > 0.9) & (stands > 0.9)', '"success": fitness > 2.0'),
}


@pytest.mark.parametrize("fault", BAD)
def test_a_bad_metric_is_not_believed(tmp_path, fault):
    found = verdict(write(tmp_path, BAD[fault]), nine())
    assert not found.passed


def test_one_author_of_three_who_disagrees_shows_that_the_words_are_open(task):
    other = nine()
    other[3], other[4] = dict(other[3], kind="partial"), dict(other[4], kind="partial")
    other[1], other[2] = dict(other[1], kind="right", rank=9), dict(other[2], kind="right", rank=10)
    found = verdict(task, nine(), nine(), other)
    assert found.passed and found.ambiguous
    assert not verdict(task, nine(), other, other).passed


def test_rank_correlation_shares_the_ranks_of_equals():
    assert spearman([1, 2, 3, 4], [10, 20, 30, 40]) == pytest.approx(1.0)
    assert spearman([1, 2, 3, 4], [4, 3, 2, 1]) == pytest.approx(-1.0)
    assert spearman([1, 2, 2, 3], [1, 2, 2, 9]) == pytest.approx(1.0)
    assert math.isnan(spearman([1, 2, 3], [5, 5, 5]))
