import pytest
import torch

from rewardgen.reward.program import Program
from rewardgen.store.records import RewardSpec, SliceSpec
from rewardgen.training.ppo.rewards import Rewards

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


MORE_WHEN_MANY = """
def compute_reward(speed):
    parts = {'speed': speed}
    if speed.shape[0] > 20:
        parts['many'] = speed.clone()
    return parts
"""


@pytest.mark.parametrize(("first", "then"), [(5, 9), (9, 5)])
def test_component_names_that_change_from_call_to_call_fail_their_slice_only(first, then):
    priced = rewards({"a": MORE_WHEN_MANY, "b": SPEED}, seeds=1)
    assert not priced.price(inputs(2, steps=first), [True] * 2).faults
    found = priced.price(inputs(2, steps=then), [True] * 2)
    ((index, step, kind, message),) = found.faults
    assert (index, step, kind) == (0, then - 1, "shape")
    assert "component names must not change" in message and "`many`" in message and "`speed`" not in message
    assert not found.total[:, 0].any() and not found.components[0]
    assert found.total[:, 1].all() and set(found.components[1]) == {"speed", "twice"}


def test_a_reward_cannot_change_what_others_read():
    greedy = "def compute_reward(speed):\n    speed += 100\n    return {'x': speed}\n"
    given = inputs(4)
    before = given["speed"].clone()
    rewards({"a": greedy, "b": SPEED}).price(given, [True] * 4)
    assert torch.equal(given["speed"], before)


WEIGHTED = (
    "def compute_reward(speed, *, weight: float = {}, power: float = 2.0):\n    return {{'x': weight * speed**power}}\n"
)
BRANCHING = """
def compute_reward(speed, *, weight: float = {}, turns: float = 2):
    total = torch.zeros_like(speed)
    if weight > 2.0:
        total = total + speed
    return {{"x": total + weight}}
"""
VECTOR = """
def compute_reward(action, *, weight: float = {}):
    return {{"x": (weight * action).sum(-1)}}
"""


class Calls:
    """Counts the calls of every program compiled while it is patched in."""

    def __init__(self, monkeypatch):
        self.rows = []
        call = Program.__call__

        def counted(program, inputs, tunables):
            self.rows.append(len(next(iter(inputs.values()))))
            return call(program, inputs, tunables)

        monkeypatch.setattr(Program, "__call__", counted)

    def of_a_rollout(self, priced, given, slices):
        """The sizes of the calls of one more pricing."""
        self.rows.clear()
        priced.price(given, [True] * slices)
        return self.rows


def test_one_call_serves_candidates_that_differ_in_their_constants_only(monkeypatch):
    given, calls = inputs(6), Calls(monkeypatch)
    several = rewards({"a": WEIGHTED.format(1.0), "b": WEIGHTED.format(-2.5), "c": WEIGHTED.format(4)})
    priced = several.price(given, [True] * 6)
    expected = given["speed"].unflatten(1, (3, 6)).square() * torch.tensor([1.0, -2.5, 4.0]).view(1, 3, 1)
    torch.testing.assert_close(priced.total.flatten(1), expected.flatten(1))
    assert calls.of_a_rollout(several, given, 6) == [5 * 6 * 3]


@pytest.mark.parametrize("form", [BRANCHING, VECTOR], ids=["branches on a constant", "multiplies a vector"])
def test_rewards_that_cannot_take_constants_as_tensors_are_called_one_by_one(form, monkeypatch):
    given, calls = inputs(4), Calls(monkeypatch)
    given["action"] = torch.rand(5, 12, 2)
    sources = {"a": form.format(1.0), "b": form.format(3.0)}
    several = rewards(sources)
    alone = [rewards({id: source}) for id, source in sources.items()]
    halves = [{name: value[:, part] for name, value in given.items()} for part in (slice(6), slice(6, 12))]
    expected = torch.cat([each.price(half, [True] * 2).total for each, half in zip(alone, halves, strict=True)], 1)
    assert torch.equal(several.price(given, [True] * 4).total, expected)
    assert calls.of_a_rollout(several, given, 4) == [5 * 2 * 3] * 2


def test_a_constant_that_fails_is_charged_to_its_own_candidate():
    given = inputs(4)
    rooted = WEIGHTED.replace("weight * speed**power", "torch.sqrt(speed + weight)")
    several = rewards({"a": rooted.format(1.0), "b": rooted.format(-1.0)})
    assert not several.price(given, [True] * 4).faults
    given["speed"][2, 7] = 0.5
    priced = several.price(given, [True] * 4)
    assert [(fault.slice, fault.step, fault.kind) for fault in priced.faults] == [(2, 2, "non-finite")]
    torch.testing.assert_close(priced.total[:, 0], (given["speed"][:, :3] + 1).sqrt())


def test_given_constants_replace_the_defaults():
    given = inputs(2)
    slices = [SliceSpec(candidate_id=id, seed=0) for id in ("a", "b")]
    specs = [
        RewardSpec(candidate_id="a", source=WEIGHTED.format(1.0), tunables={"power": 3.0}),
        RewardSpec(candidate_id="b", source=WEIGHTED.format(1.0), tunables={"weight": 2.0}),
    ]
    priced = Rewards(specs, slices, {"speed", "action"})
    for _ in range(2):  # the second time by one call
        total = priced.price(given, [True] * 2).total.flatten(1)
        torch.testing.assert_close(total[:, :3], given["speed"][:, :3] ** 3)
        torch.testing.assert_close(total[:, 3:], 2 * given["speed"][:, 3:] ** 2)


def test_constants_are_not_shared_over_vectors_of_one_entry(monkeypatch):
    smooth = """
def compute_reward(action, prev_action, *, weight: float = {}):
    return {{"smooth": -(weight * (action - prev_action) ** 2).sum(-1)}}
"""
    given, calls = inputs(4), Calls(monkeypatch)
    given["action"] = torch.rand(5, 12, 1)
    given["prev_action"] = given["action"].roll(1, 0)
    given["prev_action"][0] = given["action"][0]  # as on an episode's first step: the term is zero, whatever its shape
    slices = [SliceSpec(candidate_id=id, seed=seed) for id in ("a", "b") for seed in range(2)]
    specs = [RewardSpec(candidate_id=id, source=smooth.format(weight)) for id, weight in (("a", 0.1), ("b", 1.0))]
    several = Rewards(specs, slices, {"action", "prev_action"})
    expected = -(given["action"] - given["prev_action"]).square().sum(-1).unflatten(1, (4, 3))
    expected[:, :2] *= 0.1
    torch.testing.assert_close(several.price(given, [True] * 4).total, expected)
    assert calls.of_a_rollout(several, given, 4) == [5 * 2 * 3] * 2
