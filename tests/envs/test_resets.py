"""The distribution of initial states against Gymnasium's."""

import gymnasium
import numpy as np
import pytest

from rewardgen.tasks.loading import load_task
from tests.envs.test_gymnasium_parity import IDS


@pytest.mark.parametrize("name", IDS)
def test_initial_states_are_distributed_as_gymnasiums(name):
    envs = load_task(name).make_envs([0], 1500)
    envs.reset()
    ours = np.concatenate((envs.view.qpos, envs.view.qvel), 1)
    env = gymnasium.make(IDS[name]).unwrapped
    theirs = np.array([(env.reset(seed=seed), env.state_vector())[1] for seed in range(400)])
    spread = theirs.std(0)
    assert (np.abs(ours.mean(0) - theirs.mean(0)) <= 0.3 * spread).all()
    assert (np.abs(ours.std(0) - spread) <= 0.15 * spread).all()
    nq = env.model.nq
    assert (ours[:, :nq].min(0) >= theirs[:, :nq].min(0) - 0.1 * spread[:nq]).all()
    assert (ours[:, :nq].max(0) <= theirs[:, :nq].max(0) + 0.1 * spread[:nq]).all()
    assert len(np.unique(ours, axis=0)) == 1500
