"""The distance of rewards is blind to what training cannot tell, and to nothing else."""

import pytest
import torch

from rewardgen.reward.distance import RewardDistance, distance
from rewardgen.reward.program import RewardError, compile_reward

PARAMETERS = "position, prev_position, speed, prev_speed, action, prev_action"
NEAR = "{'near': torch.exp(-position.square() / 0.5), 'effort': -0.1 * action.square().sum(-1)}"
ROUNDING = 2e-6


def inputs(rows=600):
    generator = torch.Generator().manual_seed(3)

    def normal(*shape):
        return torch.randn(rows, *shape, generator=generator)

    values = {"position": normal(), "speed": normal(), "action": normal(2).clamp(-1, 1)}
    return values | {
        "prev_position": values["position"] - 0.05 * values["speed"],
        "prev_speed": values["speed"] + 0.1 * normal(),
        "prev_action": normal(2).clamp(-1, 1),
    }


def canonical(returned, terminates=False, recorded=None):
    program = compile_reward(f"def compute_reward({PARAMETERS}):\n    return {returned}\n")
    return RewardDistance(recorded or inputs(), 0.9, terminates).canonical(program, program.inputs)


def apart(one, other, terminates=False, recorded=None):
    first, second = (canonical(each, terminates, recorded) for each in (one, other))
    return distance(first.total, second.total)


def shaped(returned, potential, before):
    return f"{{**{{name: 3.0 * value for name, value in {returned}.items()}}, 'shape': 0.9 * {potential} - {before}}}"


@pytest.mark.parametrize("terminates", [True, False])
@pytest.mark.parametrize(
    ("potential", "before"),
    [
        ("(position * speed)", "(prev_position * prev_speed)"),
        ("(2.0 * speed + action[:, 0])", "(2.0 * prev_speed + prev_action[:, 0])"),
    ],
)
def test_scale_and_potential_shaping_make_no_distance(potential, before, terminates):
    potential, before = (f"({each} - MEAN)" for each in (potential, before))
    if terminates:
        mean = mean_over_sample(before.replace("MEAN", "0.0"))
        potential, before = (each.replace("MEAN", repr(mean)) for each in (potential, before))
    source = shaped(NEAR, potential, before).replace("MEAN", "0.0")
    assert apart(NEAR, source, terminates) < ROUNDING


def mean_over_sample(expression):
    """Of a potential, over the states before the transitions on which rewards are compared."""
    return float(eval(expression, {}, RewardDistance(inputs(), 0.9, True).rows).mean())


def test_opposite_rewards_are_as_far_as_can_be():
    negative = "{'near': -torch.exp(-position.square() / 0.5), 'effort': 0.1 * action.square().sum(-1)}"
    assert apart(NEAR, negative) == pytest.approx(1.0, abs=1e-9)


def test_another_temperature_another_weight_and_another_term_are_distances():
    assert apart(NEAR, NEAR.replace("0.5", "0.55")) > 1e-3
    assert apart(NEAR, NEAR.replace("0.5", "0.1")) > 0.05
    assert apart(NEAR, NEAR.replace("-0.1", "-0.11")) > 1e-3
    assert apart(NEAR, "{'speed': speed}") > 0.5


def test_a_bonus_per_step_counts_where_episodes_can_end_early_only():
    alive = NEAR.replace("{", "{'alive': torch.ones_like(speed), ")
    assert apart(NEAR, alive) < ROUNDING
    assert apart(NEAR, alive, terminates=True) > 0.1


def test_a_potential_that_is_worth_something_at_the_end_counts_where_episodes_can_end_early():
    rich = shaped(NEAR, "(speed + 50.0)", "(prev_speed + 50.0)")
    assert apart(NEAR, rich) < ROUNDING
    assert apart(NEAR, rich, terminates=True) > 0.1


def test_the_distance_is_symmetric_and_is_nothing_to_the_same_reward():
    other = NEAR.replace("0.5", "0.9")
    assert apart(NEAR, other) == apart(other, NEAR) and apart(NEAR, NEAR) == 0.0


def test_a_reward_that_does_not_vary_has_no_distance():
    assert apart(NEAR, "{'alive': torch.full_like(speed, 0.1)}") is None


def test_nothing_is_known_of_a_bonus_that_never_comes():
    assert canonical(NEAR.replace("{", "{'goal': 10.0 * (position > 1000.0).float(), ")).silent
    assert not canonical(NEAR).silent


def test_the_rest_of_a_total_is_not_taken_for_such_a_bonus():
    whole = f"(torch.exp(-position.square() / 0.5) - 0.1 * action.square().sum(-1), {NEAR})"
    assert not canonical(whole).silent and apart(NEAR, whole) == 0.0


def test_a_reward_that_fails_or_reads_what_was_not_recorded_is_told():
    with pytest.raises(RewardError, match="`x` is nan"):
        canonical("{'x': torch.log(speed)}")
    with pytest.raises(RewardError, match="it reads `altitude`"):
        RewardDistance(inputs(), 0.9, False).canonical(lambda given: {"x": given["altitude"]}, ["altitude"])


def test_shares_of_the_variation_add_up_to_one():
    shares = canonical(NEAR).shares
    assert sum(shares.values()) == pytest.approx(1.0) and shares["near"] > shares["effort"]


@pytest.mark.parametrize("potential", [lambda value: value, lambda value: 1000.0 * value.square()])
def test_the_canonical_form_of_shaping_alone_is_nothing(potential):
    def call(given):
        return {"f": 0.9 * potential(given["speed"]) - potential(given["prev_speed"])}

    shaping = RewardDistance(inputs(), 0.9, False).canonical(call, ["speed", "prev_speed"])
    assert distance(shaping.total, canonical(NEAR).total) is None


def test_thresholds_are_told_apart_by_any_recorded_row_between_them():
    recorded = inputs(4000)
    for name in ("position", "prev_position"):
        recorded[name] = recorded[name].clamp(max=2.0)
    recorded["position"][1731] = 2.5
    low, high = (f"{{'up': speed + 2.0 * (position > {limit})}}" for limit in (2.1, 2.9))
    assert apart(low, high, recorded=recorded) > 1e-3
