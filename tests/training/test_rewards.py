import pytest
import torch

from rewardgen.records import RewardSpec, SliceSpec
from rewardgen.training.rewards import Rewards

SPEED = "def compute_reward(speed):\n    return {'speed': speed, 'twice': 2 * speed}\n"
ROOT = "def compute_reward(speed):\n    return {'root': torch.sqrt(speed)}\n"


def rewards(sources, seeds=2):
    """Rewards for every source, its seeds side by side."""
    slices = [SliceSpec(candidate_id=id, seed=seed) for id in sources for seed in range(seeds)]
    specs = [RewardSpec(candidate_id=id, source=source) for id, source in sources.items()]
    return Rewards(specs, slices, {"speed", "action"})


def inputs(slices, steps=5, worlds=3):
    speed = torch.rand(steps, slices * worlds) + 1
    return {"speed": speed, "action": torch.zeros(steps, slices * worlds, 1)}


def test_total_is_the_sum_of_the_components_of_the_right_worlds():
    given = inputs(4)
    priced = rewards({"a": SPEED, "b": ROOT}).price(given, [True] * 4)
    expected = torch.cat([3 * given["speed"][:, :6], given["speed"][:, 6:].sqrt()], dim=1)
    torch.testing.assert_close(priced.total.flatten(1), expected)
    torch.testing.assert_close(priced.components[1]["twice"], 2 * given["speed"][:, 3:6])


def test_a_non_finite_step_is_charged_to_its_slice_and_first_step_only():
    given = inputs(4)
    given["speed"][3, 10] = given["speed"][4, 9] = -1.0  # slice 3
    priced = rewards({"a": SPEED, "b": ROOT}).price(given, [True] * 4)
    ((index, step, kind, message),) = priced.faults
    assert (index, step, kind) == (3, 3, "non-finite") and "root" in message
    assert not priced.total[:, 3].any() and priced.total[:, 2].all()


def test_components_that_only_overflow_together_are_charged_to_their_step():
    given = inputs(1)
    given["speed"][2, 1] = 3e38
    both = "def compute_reward(speed):\n    return {'a': speed, 'b': speed.clone()}\n"
    ((index, step, kind, _),) = rewards({"a": both}, seeds=1).price(given, [True]).faults
    assert (index, step, kind) == (0, 2, "non-finite")


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("def compute_reward(speed, action):\n    return {'x': speed + torch.zeros(2)}\n", "exception"),
        ("def compute_reward(speed, action):\n    return {'x': action}\n", "shape"),
        ("def compute_reward(speed, action):\n    return speed\n", "shape"),
        ("def compute_reward(speed, action):\n    import os\n    return {'x': speed}\n", "exception"),
        ("def compute_reward(velocity):\n    return {'x': velocity}\n", "exception"),
        ("def compute_reward(speed:\n", "exception"),
    ],
    ids=["raises", "wrong shape", "no dict", "language", "unknown input", "syntax"],
)
def test_a_broken_reward_fails_on_all_its_slices_and_on_no_others(source, kind):
    priced = rewards({"a": SPEED, "broken": source}).price(inputs(4), [True] * 4)
    assert [(fault.slice, fault.step, fault.kind) for fault in priced.faults] == [(2, 0, kind), (3, 0, kind)]
    assert priced.total[:, :2].all()


def test_disabled_slices_are_not_priced_and_not_charged_again():
    given = inputs(2)
    given["speed"][0, 0] = -1.0
    priced = rewards({"b": ROOT}).price(given, [False, True])
    assert not priced.faults and not priced.total[:, 0].any() and priced.total[:, 1].all()


def test_a_reward_cannot_change_what_others_read():
    greedy = "def compute_reward(speed):\n    speed += 100\n    return {'x': speed}\n"
    given = inputs(4)
    before = given["speed"].clone()
    rewards({"a": greedy, "b": SPEED}).price(given, [True] * 4)
    assert torch.equal(given["speed"], before)
