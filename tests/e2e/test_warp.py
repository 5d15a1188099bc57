"""Runs on MuJoCo Warp's CPU device: the code that a GPU runs, from the task to the closing table."""

import pytest

from rewardgen.core.errors import MachineError
from rewardgen.core.files import cache_folder
from rewardgen.sandbox.process import Limits
from rewardgen.training.ppo.settings import PpoSettings
from rewardgen.training.protocol import TrainerSetup
from rewardgen.training.trainers import ppo_trainer
from tests.devices import on_each_device
from tests.e2e.command import history, rewardgen

SWING = '''
from rewardgen import PpoSettings
from rewardgen.tasks.loading import shipped_task


class Swing(shipped_task("cartpole")):
    """A cart on a rail carries a pole. Swing it up."""

    model = "shipped:cartpole.xml"
    frame_skip = 1
    episode_steps = 12
    sparse_reward = None
    training = {
        "ppo": PpoSettings(env_steps=512, num_envs=16, rollout_steps=16, evaluation_phases=1, evaluation_envs=2)
    }
'''
SMALLEST = ["--no-films", "--generations", "1", "--candidates", "1", "--seeds", "1", "--leaders", "1"]


@pytest.mark.slow
@on_each_device
def test_a_whole_run_on_warp_ends_with_the_table_and_leaves_its_kernels_to_the_next(tmp_path, device):
    (tmp_path / "swing.py").write_text(SWING)
    asked = [*SMALLEST, "--final-seeds", "1", "--device", device]
    done = rewardgen("run", tmp_path / "swing.py", *asked, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = history(tmp_path)
    assert found.training.settings["device"] == device
    assert [(row.candidate_id, row.failure) for row in found.summary.rows] == [("g00-k0", ""), ("human", "")]
    assert list(cache_folder("kernels").glob("warp-*/**/*.o" if device == "warp-cpu" else "warp-*/**/*.cubin"))


@pytest.mark.slow
def test_a_policy_whose_envs_do_not_fit_is_refused_before_anything_is_trained(tmp_path):
    (tmp_path / "swing.py").write_text(SWING.replace("num_envs=16", "num_envs=10**9"))
    done = rewardgen("train", tmp_path / "swing.py", "--seeds", "1", "--device", "warp-cpu", cwd=tmp_path)
    assert done.returncode == 1
    assert "the device's free memory has room for " in done.stderr and "one policy needs 1000000002" in done.stderr
    assert "hint: train with a smaller `num_envs`" in done.stderr


def test_no_slice_is_trained_where_the_device_has_room_for_less_than_one(monkeypatch, tmp_path):
    jobs = []
    monkeypatch.setattr("rewardgen.training.trainers.run_worker", lambda *_, **__: {"most_envs": 17})
    monkeypatch.setattr("rewardgen.training.process_trainer.run_worker", lambda job, *_, **__: jobs.append(job))
    settings = PpoSettings(env_steps=512, num_envs=16, rollout_steps=16, evaluation_envs=2, device="warp-cpu")
    trainer = ppo_trainer(TrainerSetup("cartpole", settings, 1, tmp_path, Limits(wall_s=60.0)))
    with pytest.raises(MachineError, match="room for 17 envs, and one policy needs 18"):
        trainer.train([], [], folder=tmp_path, on_progress=None, on_slice=None)
    assert not jobs


PUCK_MODEL = """
<mujoco>
  <option cone="elliptic" timestep="0.01"/>
  <worldbody>
    <geom type="plane" size="5 5 0.1"/>
    <body name="puck" pos="0 0 0.1">
      <joint name="x" type="slide" axis="1 0 0"/>
      <joint name="z" type="slide" axis="0 0 1"/>
      <geom name="puck" type="sphere" size="0.1" mass="1"/>
    </body>
  </worldbody>
  <actuator><motor name="push" joint="x" ctrlrange="-1 1"/></actuator>
</mujoco>
"""
PUCK = '''
from rewardgen import MujocoTask, PpoSettings, Slide


class Puck(MujocoTask):
    """A puck on a table. Push it a metre to the right."""

    model = "puck.xml"
    episode_steps = 12
    x = Slide("x").position
    training = {
        "ppo": PpoSettings(env_steps=512, num_envs=16, rollout_steps=16, evaluation_phases=1, evaluation_envs=2)
    }

    def fitness(self, episode):
        """How far it got."""
        return episode.last(episode["x"])

    def success(self, episode):
        """It got a metre far."""
        return episode.last(episode["x"]) > 1.0

    @staticmethod
    def human_reward(x):
        return {"far": x}
'''


@pytest.mark.slow
@on_each_device
def test_a_model_whose_kernels_are_made_for_it_trains_too_on_any_number_of_envs(tmp_path, device):
    (tmp_path / "puck.xml").write_text(PUCK_MODEL)
    (tmp_path / "puck.py").write_text(PUCK)
    done = rewardgen("train", tmp_path / "puck.py", "--seeds", "2", "--device", device, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "over 2 seeds" in done.stdout
