"""A point that has to stay where it is, a reward that pays for it, and one that pays for running away."""

from __future__ import annotations

from pathlib import Path

from rewardgen.store.records import RewardSpec, SliceSpec
from rewardgen.training.ppo.settings import PpoJob, PpoSettings
from tests.training.builders import POINT

TASK = '''
import torch
from rewardgen import MujocoTask, Var

class Stayer(MujocoTask):
    """A point that has to stay where it is."""

    model = "point.xml"
    frame_skip = 5
    episode_steps = EPISODE_STEPS
    x = Var("m", "position")

    def reset(self, sim, draw):
        return draw.uniform(-0.05, 0.05, 1), torch.zeros(draw.num_envs, 1)

    def variables(self, sim):
        return {"x": sim.qpos[:, 0]}

    def observe(self, sim, variables):
        return torch.cat((sim.qpos, sim.qvel), 1)

    def terminated(self, sim, variables):
        return {}

    def fitness(self, episode):
        return self.success(episode).float()

    def success(self, episode):
        return episode.last(episode["x"]).abs() < 0.35
'''
EPISODE_STEPS = 40
STAY = "def compute_reward(x):\n    return {'stay': -x.square()}\n"
AWAY = "def compute_reward(x):\n    return {'away': x.abs()}\n"
SETTINGS = PpoSettings(
    env_steps=8192,
    num_envs=16,
    rollout_steps=32,
    evaluation_phases=8,
    evaluation_envs=4,
    hidden=(16,),
    initial_std=0.3,
)
"""An untrained policy stays; one that runs has left by the half of these steps."""


def stayer(folder: Path) -> str:
    """The task's reference."""
    (folder / "point.xml").write_text(POINT)
    (folder / "stayer.py").write_text(TASK.replace("EPISODE_STEPS", str(EPISODE_STEPS)))
    return str(folder / "stayer.py")


def stayer_job(folder: Path, sources: dict[str, str], *, stop_hacking: bool, seeds=(0,)) -> PpoJob:
    """A job with one slice for every source and seed."""
    folder.mkdir(exist_ok=True)
    return PpoJob(
        task=stayer(folder),
        rewards=tuple(RewardSpec(candidate_id=id, source=source) for id, source in sources.items()),
        slices=tuple(SliceSpec(candidate_id=id, seed=seed) for id in sources for seed in seeds),
        settings=SETTINGS,
        folder=str(folder),
        stop_hacking=stop_hacking,
    )
