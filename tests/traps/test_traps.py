"""On every trap the naive reward trains a policy that fails and the sound one a policy that succeeds."""

from __future__ import annotations

from functools import cache

import pytest

from rewardgen.reward.language import check_language
from rewardgen.reward.signature import check_signature
from rewardgen.tasks.check import check_task
from rewardgen.tasks.loading import load_task, shipped_tasks
from rewardgen.training.shared.slices import input_names
from tests.traps.builders import KINDS, NAMES, reference, sources, train


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    """Trains a trap by its name, once per session."""
    return cache(lambda name: train(name, tmp_path_factory.mktemp(name)))


each_trap = pytest.mark.parametrize("name", NAMES)


def test_the_traps_are_there_and_not_among_the_shipped_tasks():
    assert len(NAMES) >= 6
    assert not set(NAMES) & set(shipped_tasks())


@pytest.mark.parametrize("name", ["hover", *(pytest.param(each, marks=pytest.mark.slow) for each in NAMES)])
def test_a_trap_is_a_task_without_problems(name):
    task = load_task(reference(name))
    problems = check_task(task).problems
    assert problems == []
    assert getattr(task, "trap", "")


@each_trap
def test_both_rewards_are_in_the_reward_language(name):
    task = load_task(reference(name))
    for source in sources(task).values():
        assert not check_language(source)
        assert not check_signature(source, tuple(input_names(task)))


@pytest.mark.slow
@each_trap
def test_the_naive_reward_goes_wrong_and_the_sound_one_succeeds(name, trained):
    results = trained(name).results
    assert [each.failure for each in results.values()] == [None, None]
    naive, sound = (results[kind] for kind in KINDS)
    assert naive.success_rate <= 0.1, naive.success_rate
    assert sound.success_rate >= 0.9, sound.success_rate
    assert naive.fitness < sound.fitness


@pytest.mark.slow
@each_trap
def test_the_naive_reward_pays_the_failing_policy_more_than_the_succeeding_one(name, trained):
    # So it is the reward that is at fault, not a training that was too short.
    trap = trained(name)
    assert trap.naive_return("naive") > trap.naive_return("sound")


@pytest.mark.slow
@each_trap
def test_the_trap_is_named_for_the_naive_reward_and_not_for_the_sound_one(name, trained):
    trap = trained(name)
    assert trap.task.trap in trap.detected("naive")
    assert trap.task.trap not in trap.detected("sound")
