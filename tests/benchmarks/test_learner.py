import pytest

from benchmarks import learner
from benchmarks.curves import Point
from benchmarks.learner import LearnerOptions, Outcome, bench_learner
from rewardgen.core.errors import TaskError, UsageError
from rewardgen.tasks.listing import listed_tasks
from tests.tasks.files import point


def outcome(fitness, seconds):
    """Slices that reach a fitness, and a half of it after half the time."""
    curves = {
        f"human seed {seed}": [Point(500, seconds / 2, value / 2), Point(1000, seconds, value)]
        for seed, value in enumerate(fitness)
    }
    return Outcome(curves, tuple(fitness), seconds)


def test_settings_are_compared_at_equal_steps_and_at_the_time_of_the_fastest():
    done = {
        ("hopper", "task"): outcome([1.0, 1.2, 1.1], 100.0),
        ("hopper", "dense"): outcome([2.0, 2.2, 2.1], 200.0),  # 1.0 to 1.1 after 100 s
        ("walker2d", "task"): outcome([3.0, 3.2, 3.1], 100.0),
        ("walker2d", "dense"): outcome([2.0, 2.2, 2.1], 100.0),
    }
    options = LearnerOptions(settings=("task", "dense"))
    found = learner._comparisons(options, ("hopper", "walker2d"), done)
    assert found["searched, dense, equal steps"].value == 1.0
    assert found["searched, dense, equal time"].value == pytest.approx(3 / 9)  # of 9 pairs two win, two tie
    assert found["held out, dense, equal steps"].value == found["held out, dense, equal time"].value == 0.0
    assert not [name for name in found if name.startswith("other")]


def test_both_halves_are_shipped_tasks_and_share_none():
    shipped = {task.name for task in listed_tasks() if task.is_shipped}
    assert {*learner.SEARCHED, *learner.HELD_OUT} <= shipped
    assert not set(learner.SEARCHED) & set(learner.HELD_OUT)


def test_unknown_settings_are_named():
    with pytest.raises(UsageError, match="no settings `dens`") as caught:
        bench_learner(LearnerOptions(settings=("dens",)), lambda message: None)
    assert "dense" in caught.value.hint


@pytest.mark.parametrize("reward", ["human", "sparse"])
def test_a_task_without_the_reward_to_train_with_is_named(tmp_path, reward):
    task = point(tmp_path, (f"    def {reward}_reward", "    def another_reward"))
    options = LearnerOptions(reward, settings=("task",), tasks=(task,), folder=tmp_path)
    with pytest.raises(TaskError, match=f"has no `{reward}_reward`"):
        bench_learner(options, lambda message: None)


@pytest.mark.slow
def test_a_training_that_the_folder_holds_is_not_repeated(tmp_path):
    told = []
    options = LearnerOptions().quick()._replace(folder=tmp_path, steps=2048)
    first, second = (bench_learner(options, told.append) for _ in range(2))
    assert first == second and len(told) == 2
    assert {figure.name for figure in first.figures} == {"fitness, task", "fitness, dense", "time, task", "time, dense"}
