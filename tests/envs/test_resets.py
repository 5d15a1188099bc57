"""The distribution of initial states against Gymnasium's."""

import gymnasium
import mujoco
import numpy as np
import pytest
import torch

from rewardgen import MujocoTask
from rewardgen.sim.draws import Draws, stream_keys
from rewardgen.sim.sim_view import SimView
from rewardgen.tasks.loading import load_task
from tests.envs.test_gymnasium_parity import IDS


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name.startswith("humanoid") else []) for name in IDS]
)
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


BLOCK = """
<mujoco><worldbody><geom type="plane" size="5 5 .1"/>
  <body name="block" pos="0 0 {height}"><freejoint/><geom type="box" size=".3 .2 .1"/>
    <body pos=".3 0 0"><joint name="flap" axis="0 1 0"/><geom type="box" pos=".2 0 0" size=".2 .1 .1"/></body></body>
</worldbody><actuator><motor joint="flap" ctrlrange="-1 1" ctrllimited="true"/></actuator></mujoco>
"""


class Block(MujocoTask):
    """Lie still."""

    model = "block.xml"
    start_noise = 0.05


@pytest.mark.parametrize(("height", "sinks"), [(0.1, True), (0.5, False)])
def test_noise_sinks_no_free_robot_into_the_ground_and_moves_no_other_start(tmp_path, monkeypatch, height, sinks):
    (tmp_path / "block.xml").write_text(BLOCK.format(height=height))
    monkeypatch.setattr(Block, "path", tmp_path / "block.py", raising=False)
    view = SimView(Block().make_simulator(16))
    starts = Block().reset(view, Draws(stream_keys(torch.arange(16))))[0]
    drawn = view.qpos0 + Draws(stream_keys(torch.arange(16))).uniform(-0.05, 0.05, 8)
    data = mujoco.MjData(view.model)

    def deepest(positions):
        data.qpos[:] = positions
        mujoco.mj_forward(view.model, data)
        return -min(data.contact.dist, default=0.0)

    assert (max(map(deepest, drawn)) > 0.01) == sinks
    assert max(map(deepest, starts)) < 1e-9
    is_raised = torch.arange(8) == 2
    assert torch.equal(starts[:, ~is_raised], drawn[:, ~is_raised])
    assert torch.equal(starts, drawn) == (not sinks)
