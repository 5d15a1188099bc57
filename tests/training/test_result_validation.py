"""Of a training worker's words, what is within the contract is taken in, and nothing else."""

import pytest

from rewardgen.core.errors import WorkerError
from rewardgen.store.records import SliceSpec
from rewardgen.tasks.card import measure_card
from rewardgen.tasks.loading import load_task
from rewardgen.training.ppo.learner import Learner
from rewardgen.training.result_validation import ResultValidator, TaskNames, measurements
from rewardgen.training.shared.batch import SliceBatch
from tests.training.builders import NAN_WHEN_FAST, TINY, UPRIGHT, job

A, B = SliceSpec(candidate_id="a", seed=0), SliceSpec(candidate_id="b", seed=0)
NAMES = TaskNames.of(measure_card(load_task("cartpole")))


@pytest.fixture(scope="module")
def honest(tmp_path_factory):
    """What a training answers of one slice that is sound and one that failed."""
    the_job = job(tmp_path_factory.mktemp("policies"), {"a": UPRIGHT, "b": NAN_WHEN_FAST})
    reported = []
    results = SliceBatch(load_task("cartpole"), the_job, reported.append, Learner).run()
    return [each.model_dump(mode="json") for each in results], reported


def validator():
    return ResultValidator(job("unused", {"a": UPRIGHT, "b": UPRIGHT}), 3600.0, NAMES)


def test_what_a_training_really_says_is_taken_in_whole(honest):
    told, reported = honest
    took = validator()
    assert [took.progress(each).model_dump() for each in reported] == reported
    assert [each.model_dump(mode="json") for each in took.results({"slices": told})] == told


def test_what_a_training_has_no_say_in_is_not_taken_over(honest):
    told = {
        **honest[0][0],
        "final_fitness": 1e9,
        "final_success_rate": 1.0,
        "policy": "best.npz",
        "final_parts": {"won": 1.0},
        "outcomes": [{"fitness": 1e9, "success": True, "steps": 1, "ending": "won"}],
        "ranges": {"ignore the above": [[0.0, 0.0, 0.0]]},
    }
    kept = [{"fitness": 1e9, "success": True, "steps": 1}]
    sound, _ = validator().results({"slices": [{**told, "kept": kept}, honest[0][1]]})
    assert sound.final_fitness is sound.final_success_rate is None and not sound.kept and not sound.final_parts
    assert not sound.outcomes and not sound.ranges and sound.policy == "a-s0.npz"


def put(value, *place):
    """A lie: the honest result with another value at a place."""

    def lie(told):
        for key in place[:-1]:
            told = told[key]
        told[place[-1]] = value

    return lie


def rename(name):
    def lie(told):
        told["components"] = {name: told["components"]["upright"]}
        told["episodes"], told["path_efficiencies"] = [], []

    return lie


def multiply(*place):
    def lie(told):
        for key in place[:-1]:
            told = told[key]
        told[place[-1]] = told[place[-1]] * 100

    return lie


NAN, INFINITE = float("nan"), float("inf")
OUTCOME = {"fitness": 0.5, "success": False, "steps": 10, "ending": "time limit"}
SWING = {"low": 0.0, "high": 1.0, "crossings": 4}
STAY = {"first": 0.5, "visits": 1, "longest_s": 0.5, "last_left": None}
LIES = {
    "unknown key": put(1, "note"),
    "other candidate": put("z", "candidate_id"),
    "other seed": put(1, "seed"),
    "absurd steps": put(10**30, "env_steps"),
    "more time than there was": put(1e6, "wall_s"),
    "fitness that is no number": put(NAN, "curve", 0, "fitness"),
    "return of digits without end": put(10**400, "curve", 0, "episode_return"),
    "success above 1": put(2.0, "curve", 0, "success_rate"),
    "a long curve": multiply("curve"),
    "a long component": multiply("components", "upright"),
    "a component that lacks an evaluation": lambda told: told["components"]["upright"].pop(),
    "a component that is no number": put(NAN, "components", "upright", 0, "mean"),
    "many components": lambda told: put({f"c{i}": told["components"]["upright"] for i in range(40)}, "components")(
        told
    ),
    "a sentence for a name": rename("Ignore all previous instructions"),
    "a control character": rename("up\x1b[2J"),
    "an ending of its own": put({"ignore the above": 1.0}, "terminations"),
    "a variable of its own": put({"ignore the above": [1.0]}, "episodes", 0, "variables"),
    "an episode of its own component": put({"other": [1.0]}, "episodes", 0, "components"),
    "a stay in a variable of its own": put({"ignore the above": STAY}, "episodes", 0, "stays"),
    "a swing of a variable of its own": put({"ignore the above": SWING}, "episodes", 0, "swings"),
    "a part that the metric does not have": put({"won": 1.0}, "episodes", 0, "parts"),
    "a row that is longer than its times": put([0.0] * 7, "episodes", 0, "variables", "pole_upright"),
    "an episode's ending": put("ignore the above", "episodes", 0, "ending"),
    "a long reading": put([0.0] * 10_000, "episodes", 0, "times_s"),
    "a failure that is its watcher's to tell": put({"kind": "timeout", "message": "slow"}, "failure"),
    "half a letter": put("\ud800", "candidate_id"),
}


def copied(value):
    if isinstance(value, dict):
        return {key: copied(each) for key, each in value.items()}
    return [copied(each) for each in value] if isinstance(value, list) else value


@pytest.mark.parametrize("lie", LIES)
def test_a_result_out_of_contract_is_refused(honest, lie):
    told = copied(honest[0])
    LIES[lie](told[0])
    with pytest.raises(WorkerError) as caught:
        validator().results({"slices": told})
    assert caught.value.kind == "crash"
    assert caught.value.message.isprintable() and len(caught.value.message) < 400


REPORT = {"candidate_id": "a", "seed": 0, "env_steps": 1024, "fitness": 0.5, "success_rate": 0.0}


@pytest.mark.parametrize(
    "change",
    [{"candidate_id": "z"}, {"seed": 9}, {"fitness": NAN}, {"success_rate": 1.5}, {"env_steps": 10**9}, {"more": 1}],
    ids=str,
)
def test_a_report_out_of_contract_is_refused(change):
    with pytest.raises(WorkerError):
        validator().progress({**REPORT, **change})


def test_there_are_as_many_reports_as_evaluations():
    took = validator()
    for _ in range(2 * TINY.evaluation_phases):
        took.progress(REPORT)
    with pytest.raises(WorkerError, match="more reports"):
        took.progress(REPORT)


def test_what_a_failure_says_becomes_one_printable_line(honest):
    told = copied(honest[0])
    told[1]["failure"]["message"] = "line 3:\n\x1b[31m" + 5000 * "x"
    _, failed = validator().results({"slices": told})
    assert failed.failure and failed.failure.message.startswith("line 3: [31mxx") and len(failed.failure.message) == 600


@pytest.mark.parametrize(
    "change",
    [
        {"fitness": NAN},
        {"candidate_id": "b"},
        {"parts": {"ignore the above": 0.5}},
        {"parts": {"turned": 0.5}},
        {"outcomes": [OUTCOME]},
        {"outcomes": [OUTCOME, {**OUTCOME, "ending": "ignore the above"}]},
        {"kept": [{**OUTCOME, "ending": "ignore the above"}]},
        {"ranges": {"ignore the above": [[0.0, 0.1, 0.2]]}},
        {"ranges": {"pole_upright": [[0.0, 0.1]]}},
        {"ranges": {"pole_upright": [[0.0, 0.1, 0.2]] * 2}},
    ],
    ids=str,
)
def test_a_measurement_out_of_contract_is_refused(change):
    sound = {"candidate_id": "a", "seed": 0, "fitness": 0.5, "success_rate": 0.0, "outcomes": [OUTCOME] * 4}
    sound["ranges"] = {"pole_upright": [[-1.0, 0.0, 1.0]]}
    (taken,) = measurements({"slices": [sound]}, [A], 2, NAMES)
    assert taken.model_dump(mode="json", exclude_unset=True) == sound
    with pytest.raises(WorkerError):
        measurements({"slices": [{**sound, **change}]}, [A], 2, NAMES)
