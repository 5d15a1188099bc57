"""What the episodes of an expert policy add to the probe, and what they leave as it is."""

from dataclasses import replace
from functools import cache

import pytest

from rewardgen.tasks.baselines import BASELINES, own_program
from rewardgen.tasks.loading import expert_file, load_task, shipped_tasks
from rewardgen.tasks.record_transitions import record_transitions
from tests.critic.banks import found, probed, recorded

EQUIPPED = sorted(name for name, path in shipped_tasks().items() if expert_file(path).exists())
PARAMETERS = "x_velocity, height, healthy, foot_clearance, action"
HOPPING = "(x_velocity > 2.2) & (healthy > 0.5) & (foot_clearance > 0.1)"


def test_some_shipped_tasks_have_an_expert():
    assert {"hopper", "half_cheetah", "walker2d"} <= set(EQUIPPED)


@cache
def without():
    """The hopper's bank as it is without an expert."""
    return record_transitions(load_task("hopper"))


def both(terms):
    """Findings on the bank without the expert, and on the one with it."""
    return [found(bank, PARAMETERS, f"return {{{terms}}}") for bank in (without(), "hopper")]


@pytest.mark.parametrize(
    ("terms", "culprit"),
    [
        ("'still': torch.exp(-x_velocity.square()), 'up': healthy", "still"),
        ("'v': -x_velocity, 'up': healthy", "v"),
        ("'v': x_velocity, 'effort': -20.0 * action.square().sum(-1)", "effort"),
    ],
)
def test_a_reward_that_pays_the_expert_no_more_than_nothing_is_told(terms, culprit):
    before, after = both(terms)
    finding = after["expert-underpaid"]
    assert (finding.severity, finding.component) == ("warn", culprit)
    assert finding.evidence["expert"] <= finding.evidence["nothing"] + 0.1
    assert "expert-underpaid" not in before


@pytest.mark.parametrize("task", EQUIPPED)
@pytest.mark.parametrize("baseline", BASELINES)
def test_the_tasks_own_rewards_pay_the_expert(task, baseline):
    program = own_program(load_task(task), baseline)
    assert program is not None
    assert "expert-underpaid" not in probed(recorded(task), program.source)


def test_where_success_ends_the_episode_the_pay_of_a_step_says_nothing():
    bank = recorded("hopper")
    ending = replace(bank, facts=bank.facts.model_copy(update={"success_terminates": True}))
    assert "expert-underpaid" not in found(ending, PARAMETERS, "return {'v': -x_velocity, 'up': healthy}")


def test_a_bonus_that_only_the_expert_earns_does_fire():
    before, after = both(f"'v': x_velocity, 'fast': 5.0 * ({HOPPING}).float()")
    assert "bonus-never-fires" in before
    assert not {"bonus-never-fires", "dead-component"} & set(after)


def test_a_term_that_dominates_beginners_only_is_not_dominant():
    before, after = both("'up': healthy, 'v': 0.02 * x_velocity.square()")
    assert "dominant-component" in before and "dominant-component" not in after


def test_a_reward_that_grows_out_of_scale_where_the_robot_runs_is_told():
    before, after = both("'v': torch.exp(3.0 * x_velocity.clamp(-1.0, 3.0)) * (healthy > 0.5), 'up': healthy")
    assert "reward-scale" not in before and "reward-scale" in after


def test_what_only_the_expert_is_paid_is_no_signal_to_begin_with():
    for findings in both(f"'fast': ({HOPPING}).float()"):
        assert findings["no-signal"].severity == "reject"


@pytest.mark.parametrize(
    ("terms", "detector"),
    [
        ("'alive': 30.0 * healthy, 'v': 0.3 * x_velocity", "idle-reward"),
        ("'v': x_velocity - 5.0, 'effort': -0.01 * action.square().sum(-1)", "early-ending-pays"),
    ],
)
def test_idling_and_early_ends_are_read_from_beginners(terms, detector):
    before, after = both(terms)
    assert before[detector].evidence == after[detector].evidence
    assert before[detector].severity == after[detector].severity
