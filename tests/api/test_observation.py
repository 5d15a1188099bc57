"""What policies see besides the task's observation, from Python."""

import pytest
import torch

import rewardgen
from rewardgen.core.errors import UsageError

SEEING = """
STAGES = ("before", "after")
OBSERVED = ("upright", "last push")


def next_stage(stage, pole_upright):
    return torch.where(pole_upright > -2.0, 1, stage)


def observe(pole_upright, prev_action):
    return torch.stack((pole_upright, prev_action[:, 0]), -1)


def compute_reward(stage, cart_position):
    return {"up": stage - cart_position.abs()}
"""


def test_observations_of_an_environment_end_with_what_policies_of_its_reward_see():
    env = rewardgen.make_env("cartpole", SEEING)
    blind = rewardgen.make_env("cartpole")
    assert env.observation_space.shape == (5 + 2 + 2,) and blind.observation_space.shape == (5,)
    start, _ = env.reset(seed=1)
    assert start[:5].tolist() == blind.reset(seed=1)[0].tolist()
    assert start[5:7].tolist() == [1.0, 0.0] and start[7] != 0.0 and start[8] == 0.0
    observation, *_, info = env.step(env.action_space.high / 2)
    assert observation[5:7].tolist() == [0.0, 1.0]
    assert observation[7] == pytest.approx(info["variables"]["pole_upright"])
    assert observation[8] == env.action_space.high[0] / 2
    assert env.reset()[0][5:7].tolist() == [1.0, 0.0]


def test_a_reward_in_steps_tells_what_policies_see_now():
    steps = rewardgen.Reward(SEEING).in_steps()
    inputs = {"pole_upright": torch.zeros(2), "cart_position": torch.zeros(2), "action": torch.ones(2, 1)}
    begins = torch.tensor([True, True])
    assert steps.see(inputs, begins)[:, :2].tolist() == [[1.0, 0.0]] * 2
    steps(inputs, begins)
    seen = steps.see(inputs, torch.tensor([False, True]))
    assert seen.tolist() == [[0.0, 1.0, 0.0, 1.0], [1.0, 0.0, 0.0, 1.0]]


def test_an_environment_lacks_an_input_of_observe():
    with pytest.raises(UsageError, match="reads `pole_height`"):
        rewardgen.make_env("cartpole", SEEING.replace("(pole_upright", "(pole_height"))


@pytest.mark.parametrize("option", ["stages", "evolve_observation"])
def test_a_trainer_whose_policies_would_not_see_it_is_refused(option, tmp_path):
    with pytest.raises(UsageError, match="`sb3-ppo` does not support"):
        rewardgen.run("cartpole", model=f"mailbox:{tmp_path}", trainer="sb3-ppo", runs_dir=tmp_path, **{option: True})
