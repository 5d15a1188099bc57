import time

import pytest
import torch

from rewardgen.store.records import RewardSpec, SliceSpec
from rewardgen.training.shared.rewards import Rewards

SPEED = "def compute_reward(speed):\n    return {'speed': speed, 'twice': 2 * speed}\n"
ROOT = "def compute_reward(speed):\n    return {'root': torch.sqrt(speed)}\n"


def rewards(sources, seeds=2):
    """Rewards for every source, its seeds side by side."""
    slices = [SliceSpec(candidate_id=id, seed=seed) for id in sources for seed in range(seeds)]
    specs = [RewardSpec(candidate_id=id, source=source) for id, source in sources.items()]
    return Rewards(specs, slices, {"speed", "action"})


def inputs(slices, steps=5, num_envs=3):
    speed = torch.rand(steps, slices * num_envs) + 1
    return {"speed": speed, "action": torch.zeros(steps, slices * num_envs, 1)}


def test_total_is_the_sum_of_the_components_of_the_right_envs():
    given = inputs(4)
    priced = rewards({"a": SPEED, "b": ROOT}).price(given, [True] * 4)
    expected = torch.cat([3 * given["speed"][:, :6], given["speed"][:, 6:].sqrt()], dim=1)
    torch.testing.assert_close(priced.total.flatten(1), expected)
    torch.testing.assert_close(priced.components[1]["twice"], 2 * given["speed"][:, 3:6])


def test_a_non_finite_step_is_charged_to_its_slice_only():
    given = inputs(4)
    given["speed"][3, 10] = given["speed"][4, 9] = -1.0  # slice 3
    priced = rewards({"a": SPEED, "b": ROOT}).price(given, [True] * 4)
    ((index, kind, message),) = priced.faults
    assert (index, kind) == (3, "non-finite") and "root" in message
    assert not priced.total[:, 3].any() and priced.total[:, 2].all()


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
    assert [(fault.slice, fault.kind) for fault in priced.faults] == [(2, kind), (3, kind)]
    assert priced.total[:, :2].all()


def test_disabled_slices_are_not_priced_and_not_charged_again():
    given = inputs(2)
    given["speed"][0, 0] = -1.0
    priced = rewards({"b": ROOT}).price(given, [False, True])
    assert not priced.faults and not priced.total[:, 0].any() and priced.total[:, 1].all()


HIDDEN_WORK = {
    "a branch on the envs": "if speed.shape[0] == 18:\n        speed = speed * 2.0",
    "an error inside the contract": "speed = speed.to('me' + 'ta')",
    "a number that no float can hold": "return {'x': int('9' * 500)}",
    "inversions without end": "for i in range(900):\n        y = [torch.linalg.inv(torch.eye(200)) for j in range(9)]",
}


@pytest.mark.parametrize("name", HIDDEN_WORK)
def test_what_the_probe_was_not_shown_fails_its_slice_only(name, monkeypatch):
    monkeypatch.setattr("rewardgen.training.shared.rewards.CALL_LIMIT_S", 0.3)
    hidden = f"def compute_reward(speed):\n    {HIDDEN_WORK[name]}\n    return {{'x': speed}}\n"
    started = time.process_time()
    priced = rewards({"a": hidden, "b": SPEED}, seeds=1).price(inputs(2, steps=6), [True] * 2)
    assert [fault.slice for fault in priced.faults] == [0] and priced.faults[0].message
    assert priced.total[:, 1].all() and not priced.total[:, 0].any()
    assert time.process_time() - started < 2.0


def test_a_reward_cannot_change_what_others_read():
    greedy = "def compute_reward(speed):\n    speed += 100\n    return {'x': speed}\n"
    given = inputs(4)
    before = given["speed"].clone()
    rewards({"a": greedy, "b": SPEED}).price(given, [True] * 4)
    assert torch.equal(given["speed"], before)


WEIGHTED = """
def compute_reward(speed, *, weight: float = {}, power: float = 2.0):
    return {{"x": weight * speed**power}}
"""
BRANCHING = """
def compute_reward(speed, *, weight: float = {}):
    total = torch.zeros_like(speed)
    if weight > 2.0:
        total = total + speed
    return {{"x": total + weight}}
"""


@pytest.mark.parametrize("form", [WEIGHTED, BRANCHING], ids=["weighted", "branching"])
def test_a_slice_has_the_same_values_alone_and_among_others_to_the_last_bit(form):
    offered = {"speed", "action", "prev_action"}
    given = {name: torch.rand(5, 12, 2) for name in ("action", "prev_action")} | {"speed": torch.rand(5, 12)}
    specs = [RewardSpec(candidate_id=f"k{weight:.0f}", source=form.format(weight)) for weight in (1.0, 3.0)]
    slices = [SliceSpec(candidate_id=spec.candidate_id, seed=seed) for spec in specs for seed in range(2)]
    together = Rewards(specs, slices, offered).price(given, [True] * 4)
    for index, one in enumerate(slices):
        own = {name: value[:, 3 * index : 3 * index + 3] for name, value in given.items()}
        alone = Rewards(specs, [one], offered).price(own, [True])
        assert torch.equal(together.total[:, index], alone.total[:, 0])
        assert torch.equal(together.components[index]["x"], alone.components[0]["x"])
