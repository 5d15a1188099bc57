"""The distance of rewards is blind to what training cannot tell, and to nothing else."""

import pytest
import torch

from rewardgen.critic.canonical import canonical, direction, distance, sample
from rewardgen.critic.distances import compare_job, distance_job
from rewardgen.sim.transitions import save_transitions, unrelated
from rewardgen.store.records import RewardSpec

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


@pytest.fixture
def bank(tmp_path):
    save_transitions(tmp_path / "bank.npz", unrelated(inputs()))
    return tmp_path / "bank.npz"


def spec(id, returned):
    return RewardSpec(candidate_id=id, source=f"def compute_reward({PARAMETERS}):\n    return {returned}\n")


def payload(bank, *rewards, others=(), terminates=False):
    told = {"bank": str(bank), "discount": 0.9, "terminates": terminates}
    return told | {
        "rewards": [each.model_dump() for each in rewards],
        "others": [each.model_dump() for each in others],
    }


def gap(bank, one, other, terminates=False):
    answer = distance_job(payload(bank, spec("a", one), spec("b", other), terminates=terminates), print)
    assert answer["failed"] == {}
    return answer["distances"]["a"]["b"]


def apart(*arguments, **options):
    return gap(*arguments, **options)["recorded"]


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
def test_scale_and_potential_shaping_make_no_distance(bank, potential, before, terminates):
    potential, before = (f"({each} - MEAN)" for each in (potential, before))
    if terminates:
        mean = mean_over_sample(before.replace("MEAN", "0.0"))
        potential, before = (each.replace("MEAN", repr(mean)) for each in (potential, before))
    source = shaped(NEAR, potential, before).replace("MEAN", "0.0")
    found = gap(bank, NEAR, source, terminates=terminates)
    assert found["recorded"] < ROUNDING


def mean_over_sample(expression):
    """Of a potential, over the states before the transitions on which rewards are compared."""
    return float(eval(expression, {}, sample(inputs(), 0.9, True).rows).mean())


def test_opposite_rewards_are_as_far_as_can_be(bank):
    negative = "{'near': -torch.exp(-position.square() / 0.5), 'effort': 0.1 * action.square().sum(-1)}"
    assert apart(bank, NEAR, negative) == pytest.approx(1.0, abs=1e-9)


def test_another_temperature_another_weight_and_another_term_are_distances(bank):
    assert apart(bank, NEAR, NEAR.replace("0.5", "0.55")) > 1e-3
    assert apart(bank, NEAR, NEAR.replace("0.5", "0.1")) > 0.05
    assert apart(bank, NEAR, NEAR.replace("-0.1", "-0.11")) > 1e-3
    assert apart(bank, NEAR, "{'speed': speed}") > 0.5


def test_a_bonus_per_step_counts_where_episodes_can_end_early_only(bank):
    alive = NEAR.replace("{", "{'alive': torch.ones_like(speed), ")
    assert apart(bank, NEAR, alive) < ROUNDING
    assert apart(bank, NEAR, alive, terminates=True) > 0.1


def test_a_potential_that_is_worth_something_at_the_end_counts_where_episodes_can_end_early(bank):
    rich = shaped(NEAR, "(speed + 50.0)", "(prev_speed + 50.0)")
    assert apart(bank, NEAR, rich) < ROUNDING
    assert apart(bank, NEAR, rich, terminates=True) > 0.1


def test_the_distance_is_symmetric_and_does_not_depend_on_the_batch(bank):
    rewards = [spec("a", NEAR), spec("b", NEAR.replace("0.5", "0.9")), spec("c", "{'speed': speed}")]
    forward = distance_job(payload(bank, *rewards), print)["distances"]
    backward = distance_job(payload(bank, *reversed(rewards)), print)["distances"]
    assert forward == backward and forward["a"]["b"] == forward["b"]["a"]
    assert distance_job(payload(bank, rewards[0], others=rewards[1:]), print)["distances"] == {"a": forward["a"]}


def test_a_reward_that_does_not_vary_has_no_distance(bank):
    assert gap(bank, NEAR, "{'alive': torch.full_like(speed, 0.1)}") == {"recorded": None, "beyond": None}


def test_a_limit_that_no_recorded_value_reaches_shows_beyond(bank):
    found = gap(bank, "{'speed': speed.clamp(-5.0, 5.0)}", "{'speed': speed.clamp(-5.0, 6.0)}")
    assert found["recorded"] == 0.0 and found["beyond"] > 1e-3


def test_nothing_is_known_of_a_bonus_that_never_comes(bank):
    found = gap(bank, NEAR, NEAR.replace("{", "{'goal': 10.0 * (position > 1000.0).float(), "))
    assert found["recorded"] < ROUNDING and found["beyond"] is None


def test_the_rest_of_a_total_is_not_taken_for_such_a_bonus(bank):
    assert (
        gap(bank, NEAR, f"(torch.exp(-position.square() / 0.5) - 0.1 * action.square().sum(-1), {NEAR})")["beyond"] == 0
    )


def test_a_reward_that_fails_is_named_and_the_others_are_compared(bank):
    broken = spec("broken", "{'x': torch.log(speed)}")
    strange = RewardSpec(candidate_id="strange", source="def compute_reward(altitude):\n    return {'x': altitude}\n")
    answer = distance_job(payload(bank, spec("a", NEAR), broken, strange, spec("b", NEAR)), print)
    assert set(answer["failed"]) == {"broken", "strange"}
    assert "altitude" in answer["failed"]["strange"]
    assert answer["distances"]["a"] == {"b": {"recorded": 0.0, "beyond": 0.0}}


def test_a_comparison_tells_which_components_vary_most_and_which_differ(bank):
    answer = compare_job(payload(bank, spec("a", NEAR), spec("b", NEAR.replace("0.5", "0.1"))), print)
    assert answer["same_name"]["effort"] == 0.0 and answer["same_name"]["near"] > 0.05
    assert answer["gap"]["recorded"] > 0.05
    for shares in answer["components"]:
        assert sum(shares.values()) == pytest.approx(1.0) and shares["near"] > shares["effort"]


@pytest.mark.parametrize("potential", [lambda value: value, lambda value: 1000.0 * value.square()])
def test_the_canonical_form_of_shaping_alone_is_nothing(potential):
    ground = sample(inputs(), 0.9, False)
    parts = canonical(lambda given: {"f": 0.9 * potential(given["speed"]) - potential(given["prev_speed"])}, ground)
    assert direction(parts["f"]) is None
    assert distance(None, torch.ones(2)) is None


def test_thresholds_are_told_apart_by_any_recorded_row_between_them(tmp_path):
    values = inputs(4000)
    for name in ("position", "prev_position"):
        values[name] = values[name].clamp(max=2.0)
    values["position"][1731] = 2.5
    save_transitions(tmp_path / "bank.npz", unrelated(values))
    low, high = (f"{{'up': speed + 2.0 * (position > {limit})}}" for limit in (2.1, 2.9))
    assert apart(tmp_path / "bank.npz", low, high) > 1e-3
