"""A reward in stages from Python: priced step by step, and as rows that last."""

import torch

import rewardgen

STAGED = """
STAGES = ("before", "after")


def next_stage(stage, pole_upright):
    return torch.where(pole_upright > -2.0, 1, stage)


def compute_reward(stage, prev_stage, pole_upright):
    return {"enter": 1.0 * (stage - prev_stage), "up": pole_upright}
"""


def test_an_environment_begins_in_the_first_stage_at_each_reset():
    env = rewardgen.make_env("cartpole", STAGED)
    paid = []
    for _ in range(2):
        env.reset()
        paid += [env.step(env.action_space.sample())[4]["components"]["enter"] for _ in range(3)]
    assert paid == [1.0, 0.0, 0.0, 1.0, 0.0, 0.0]


def test_steps_are_remembered_and_rows_are_not():
    reward = rewardgen.Reward(STAGED)
    step, rows = reward.in_steps(), {"pole_upright": torch.zeros(2)}
    begins = torch.tensor([True, True])
    assert step(rows, begins)["enter"].tolist() == [1.0, 1.0]
    assert step(rows, torch.tensor([False, True]))["enter"].tolist() == [0.0, 1.0]
    assert reward(rows)["enter"].tolist() == [0.0, 0.0]
