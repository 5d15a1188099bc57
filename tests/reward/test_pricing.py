"""One way to price."""

import torch

from rewardgen.reward.pricing import price, price_rows
from rewardgen.reward.program import compile_reward
from rewardgen.store.records import RewardSpec, SliceSpec
from rewardgen.training.shared.rewards import Rewards

PURE = (
    "def compute_reward(x, action, *, w: float = 2.0):\n    return {'x': w * x, 'effort': -action.square().sum(-1)}\n"
)
COUNTING = """
STAGES = ("a", "b", "c", "d", "e", "f", "g", "h")


def next_stage(stage, x):
    return torch.where(x > 0.0, (stage + 1).clamp(max=7), stage)


def compute_reward(x, stage):
    return {"x": x, "turns": stage.float()}
"""


def inputs(steps, num_envs):
    generator = torch.Generator().manual_seed(3)
    return {
        "x": torch.randn(steps, num_envs, generator=generator),
        "action": torch.randn(steps, num_envs, 2, generator=generator),
    }


def test_a_pure_reward_is_priced_as_rows():
    program, steps = compile_reward(PURE), inputs(7, 5)
    components, carry = price(program, steps)
    rows = price_rows(program, {name: value.flatten(0, 1) for name, value in steps.items()}, {"w": 2.0})
    assert carry is None and components.total.shape == (7, 5)
    assert all(torch.equal(components[name].flatten(), rows[name]) for name in rows)
    assert torch.equal(components.total.flatten(), rows.total)


def test_a_reward_with_memory_starts_again_with_each_episode():
    program, steps = compile_reward(COUNTING), {"x": torch.ones(6, 2)}
    begins = torch.zeros(6, 2, dtype=torch.bool)
    begins[0], begins[3, 1] = True, True
    components, carry = price(program, steps, begins)
    assert components["turns"].T.tolist() == [[1, 2, 3, 4, 5, 6], [1, 2, 3, 1, 2, 3]]
    assert carry.tolist() == [6, 3]
    assert price_rows(program, {"x": torch.ones(4)})["turns"].tolist() == [7.0] * 4


def test_a_reward_with_memory_trains_beside_pure_rewards_over_several_rollouts():
    specs = [RewardSpec(candidate_id="a", source=COUNTING), RewardSpec(candidate_id="b", source=PURE)]
    slices = [SliceSpec(candidate_id=name, seed=0) for name in ("a", "b")]
    rewards = Rewards(specs, slices, {"x", "action"})
    assert rewards.input_names == ["action", "x"]
    steps = {"x": torch.ones(4, 6), "action": torch.ones(4, 6, 1)}
    begins = torch.zeros(4, 6, dtype=torch.bool)
    begins[0] = True
    first = rewards.price(steps, [True, True], begins)
    later = rewards.price(steps, [True, True], torch.zeros_like(begins))
    assert not first.faults and not later.faults
    assert first.components[0]["turns"][:, 0].tolist() == [1, 2, 3, 4]
    assert later.components[0]["turns"][:, 0].tolist() == [5, 6, 7, 7]
    rewards.keep([0])
    alone = {name: value[:, :3] for name, value in steps.items()}
    assert rewards.price(alone, [True], torch.zeros(4, 3, dtype=torch.bool)).components[0]["turns"][0, 0] == 7
    whole = rewards.price(alone, [True])
    assert whole.components[0]["turns"][:, 0].tolist() == [1, 2, 3, 4]


def test_an_evaluation_between_rollouts_changes_no_memory():
    rewards = Rewards([RewardSpec(candidate_id="a", source=COUNTING)], [SliceSpec(candidate_id="a", seed=0)], {"x"})
    steps, goes_on = {"x": torch.ones(2, 1), "action": torch.ones(2, 1, 1)}, torch.zeros(2, 1, dtype=torch.bool)
    turns = [rewards.price(steps, [True], begins).components[0]["turns"][-1, 0] for begins in (goes_on, None, goes_on)]
    assert turns == [2, 2, 4]
