import pytest

from rewardgen.analyzer.analyzer import Analyzer
from rewardgen.analyzer.predictions import claims
from tests.analyzer.trained import trained
from tests.builders import card


def outcomes(prediction, **changes):
    """Claim to its outcome and what was measured."""
    found = Analyzer(None).study(trained(prediction=prediction, **changes), [], card()).predictions
    return {each.claim: (each.outcome, each.measured) for each in found}


@pytest.mark.parametrize(
    ("text", "claim"),
    [
        ("fitness >= 1.5", "fitness >= 1.5"),
        ("episode steps >= 1,000", "episode steps >= 1000"),
        ("`fitness` ≥ 1.5 m/s", "fitness >= 1.5"),
        ("Success rate > 80 %", "success rate > 0.8"),
        ("success_rate >= .8, at least", "success rate >= 0.8"),
        ("The mean episode steps >= 900.", "episode steps >= 900"),
        ("`ending[torso too low]` <= 20%", "ending[torso too low] <= 0.2"),
        ("share[`speed`] < 0.3", "share[speed] < 0.3"),
        ("mean[upright]>=-0.5", "mean[upright] >= -0.5"),
        ("activation[bonus] >= 1e-1", "activation[bonus] >= 0.1"),
    ],
)
def test_claim_is_read_however_it_is_set(text, claim):
    assert [each.text for each in claims(text)] == [claim]


@pytest.mark.parametrize(
    "text",
    [
        "Fitness exceeds 1.5 m/s.",
        "",
        "fitness rises, share of speed >= 3",
        "my_fitness >= 2",
        "fitness >= x",
        "r[speed] > 0",
    ],
)
def test_words_stay_words(text):
    assert claims(text) == ()


def test_several_claims_among_words_are_read_in_order():
    text = "With the gate, fitness >= 1.5 and ending[left the track] <= 0.2; the gait looks calmer."
    assert [each.quantity for each in claims(text)] == ["fitness", "ending"]


def test_claims_are_held_against_what_was_measured():
    text = "fitness >= 0.9, fitness > 2, success rate <= 0.5, episode steps < 50, mean[progress] >= 0.7"
    assert outcomes(text, fitness=(0.9, 1.0)) == {
        "fitness >= 0.9": ("held", pytest.approx(0.95)),
        "fitness > 2": ("failed", pytest.approx(0.95)),
        "success rate <= 0.5": ("held", 0.5),
        "episode steps < 50": ("failed", 100.0),
        "mean[progress] >= 0.7": ("held", pytest.approx(0.75)),
    }


def test_an_ending_that_did_not_occur_has_a_share_of_none():
    found = outcomes("ending[left the track] <= 0.1, ending[time limit] >= 0.9")
    assert [each for each in found.values()] == [("held", 0.0), ("held", 1.0)]


def test_what_is_not_in_the_task_or_the_reward_cannot_be_checked():
    found = outcomes("share[jump] >= 0.3, ending[flew away] <= 0.1")
    assert set(found.values()) == {("not checkable", None)} and len(found) == 2


DEAD = {"mean": (0.0, 0.0, 5e-7), "share": 0.0004, "activation": 0.02}
COST = DEAD | {"mean": (-0.3, -0.01, -5e-7)}


@pytest.mark.parametrize(
    ("claim", "bonus", "outcome"),
    [
        ("mean[bonus] >= 0", DEAD, "failed"),
        ("share[bonus] >= 0", DEAD, "failed"),
        ("activation[bonus] >= 0.01", DEAD, "failed"),
        ("mean[bonus] <= 0.1", DEAD, "held"),
        ("share[bonus] < 0.05", DEAD, "held"),
        ("mean[bonus] >= 0", DEAD | {"share": 0.002}, "held"),
        # Of a cost, it says how little it takes.
        ("mean[bonus] >= -0.1", DEAD, "held"),
        ("mean[bonus] >= -0.1", COST, "held"),
        ("mean[bonus] >= 0", COST, "failed"),
        ("share[bonus] >= 0", COST, "failed"),
    ],
)
def test_a_component_that_is_dead_at_the_end_has_done_nothing_that_was_claimed_of_it(claim, bonus, outcome):
    (found,) = outcomes(claim, components={"bonus": bonus, "progress": {"mean": (0.1, 0.4, 0.7)}}).values()
    assert found[0] == outcome


def test_a_prediction_without_claims_has_no_outcomes():
    assert outcomes("It will walk.") == {}
