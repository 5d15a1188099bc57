"""Numbers for policies to see are tried on recorded states, as the reward's own pay is."""

import pytest

from rewardgen.critic.sandboxed import ReviewRequest, SandboxedReviewer
from rewardgen.sandbox.process import Limits
from rewardgen.sim.transitions import save_transitions
from rewardgen.store.records import RewardSpec
from tests.builders import card
from tests.critic.banks import probed, recorded

SOUND = """
OBSERVED = ("upright", "last push")


def observe(pole_upright, prev_action):
    return torch.stack((pole_upright, prev_action[:, 0]), -1)


def compute_reward(pole_upright, cart_position):
    return {"up": pole_upright, "middle": -0.3 * cart_position.square()}
"""
STAGED = """
STAGES = ("swing", "balance")


def next_stage(stage, pole_upright):
    return torch.where(pole_upright > 0.8, 1, stage)
""" + SOUND.replace("prev_action)", "prev_action, stage)").replace("(pole_upright, prev", "(COLUMN, prev").replace(
    "observe(COLUMN", "observe(pole_upright"
)


def seen(column, source=SOUND):
    return probed(recorded("cartpole"), source.replace("stack((pole_upright", f"stack(({column}"))


def test_sound_numbers_have_no_finding():
    assert probed(recorded("cartpole"), SOUND) == {}


@pytest.mark.parametrize(
    ("column", "detector", "message"),
    [
        ("torch.log(pole_upright)", "non-finite", "`upright` of `observe` is not finite"),
        ("1.0 / prev_action[:, 0]", "non-finite", "`upright` of `observe` is not finite"),
        ("pole_upright - pole_upright.mean()", "batch-dependent", "in `observe`, component `upright` of one env"),
        ("pole_upright.flip(0)", "batch-dependent", "in `observe`"),
        ("pole_upright[:, None]", "probe-exception", "expects each tensor to be equal size"),
    ],
)
def test_numbers_that_no_policy_can_learn_from_are_rejected(column, detector, message):
    finding = seen(column)[detector]
    assert finding.severity == "reject" and message in finding.message


@pytest.mark.parametrize(
    ("column", "detector", "message"),
    [
        ("5000.0 * pole_upright", "observed-large", "`observe` gives `upright` up to 5000"),
        ("(pole_upright > 2.0).float()", "observed-constant", "`observe` gives `upright` = 0 on all"),
    ],
)
def test_large_and_constant_numbers_are_warned_of(column, detector, message):
    finding = seen(column)[detector]
    assert finding.severity == "warn" and message in finding.message


def test_a_number_is_tried_in_every_stage():
    assert "observed-constant" not in probed(recorded("cartpole"), STAGED.replace("COLUMN", "stage.float()"))
    finding = probed(recorded("cartpole"), STAGED.replace("COLUMN", "0.0 * stage"))["observed-constant"]
    assert "`upright`" in finding.message
    wrong = "torch.where(stage == 1, torch.log(pole_upright), 0.0)"
    assert "non-finite" in probed(recorded("cartpole"), STAGED.replace("COLUMN", wrong))
    others = probed(recorded("cartpole"), STAGED.replace("COLUMN", "stage.float().mean() + pole_upright"))
    assert "batch-dependent" in others


def test_a_reward_that_observes_repeats_no_other_with_the_same_pay(tmp_path):
    save_transitions(tmp_path / "bank.npz", recorded("cartpole"))
    blind, other = SOUND[SOUND.index("def compute") :], SOUND.replace("stack((pole_upright", "stack((2 * pole_upright")
    sources = {
        "a": SOUND,
        "b": other,
        "c": blind,
        "d": blind.replace('up": pole', 'up": 2 * pole').replace("0.3", "0.6"),
    }
    specs = [RewardSpec(candidate_id=id, source=source) for id, source in sources.items()]
    reviewer = SandboxedReviewer(tmp_path / "bank.npz", Limits(wall_s=60.0), tmp_path / "scratch")
    reviews = reviewer.review(ReviewRequest(specs, card(), others=[])).reviews
    assert {*reviews["a"].distances.values(), *reviews["b"].distances.values()} <= {None}
    assert reviews["d"].distances["c"] < 1e-5
