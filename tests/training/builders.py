"""Small training jobs on the shipped cart-pole, and a task of one point."""

from rewardgen.store.records import RewardSpec, SliceSpec
from rewardgen.tasks.loading import load_task
from rewardgen.training.ppo.learner import Learner
from rewardgen.training.ppo.settings import PpoJob, PpoSettings
from rewardgen.training.shared.batch import SliceBatch

UPRIGHT = "def compute_reward(pole_upright):\n    return {'upright': pole_upright}\n"
NAN_WHEN_FAST = "def compute_reward(cart_velocity):\n    return {'slow': torch.log(0.6 - cart_velocity.abs())}\n"
TINY = PpoSettings(env_steps=2048, num_envs=16, rollout_steps=32, evaluation_phases=2, evaluation_envs=3, hidden=(16,))


def job(folder, sources, seeds=(0,), settings=TINY, **options):
    """A job with one slice for every source and seed."""
    return PpoJob(
        task="cartpole",
        rewards=tuple(RewardSpec(candidate_id=id, source=source) for id, source in sources.items()),
        slices=tuple(SliceSpec(candidate_id=id, seed=seed) for id in sources for seed in seeds),
        settings=settings,
        folder=str(folder),
        **options,
    )


def policies(folder, sources, settings=TINY, task="cartpole"):
    """The policy files of candidates that train beside each other, by candidate."""
    folder.mkdir()
    work = job(folder, sources, settings=settings).model_copy(update={"task": task})
    results = SliceBatch(load_task(task), work, lambda message: None, Learner).run()
    assert not any(result.failure for result in results)
    return {result.candidate_id: (folder / str(result.policy)).read_bytes() for result in results}


LEAVER = '''
import torch
from rewardgen import MujocoTask, Var

class Leaver(MujocoTask):
    """A point that has to leave the middle."""

    model = "point.xml"
    episode_steps = 40
    x = Var("m", "position")

    def reset(self, sim, draw):
        """In the middle, at some speed."""
        return torch.zeros(draw.num_envs, 1), draw.uniform(0.0, 1.0, 1)

    def variables(self, sim):
        return {"x": sim.qpos[:, 0]}

    def observe(self, sim, variables):
        """Position and speed."""
        return torch.cat((sim.qpos, sim.qvel), 1)

    def terminated(self, sim, variables):
        """It has left the middle."""
        return {"left": variables["x"].abs() > 0.2}

    def fitness(self, episode):
        """As the test has it."""
        return BODY

    def success(self, episode):
        """It has left."""
        return episode.terminated
'''
POINT = """
<mujoco><option timestep="0.01" gravity="0 0 0"/>
<worldbody><body name="point"><joint name="x" type="slide" axis="1 0 0"/>
<geom type="sphere" size=".1" mass="1"/></body></worldbody>
<actuator><motor name="force" joint="x" ctrllimited="true" ctrlrange="-1 1"/></actuator></mujoco>
"""


LEAVER_METRIC = '''    @staticmethod
    def metric(x, terminated):
        """As the test has it.

        It has left.
        """
        away = BODY
        return {"away": away, "left": terminated, "fitness": away + terminated, "success": terminated}
'''


def leaver(folder, fitness="", *, part=""):
    """A point that may leave the middle.

    Its fitness is this expression of `episode`, or a metric with this expression of `x` for one of its parts.
    """
    text = LEAVER.replace("BODY", fitness)
    if part:
        text = LEAVER[: LEAVER.index("    def fitness(")] + LEAVER_METRIC.replace("BODY", part)
    (folder / "point.xml").write_text(POINT)
    (folder / "leaver.py").write_text(text)
    return load_task(str(folder / "leaver.py"))
