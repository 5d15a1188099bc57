"""The DeepMind Control Suite's `acrobot-swingup`, on its own model (Tassa et al. 2018, arXiv:1801.00690).

The human reward does not reach `solved_fitness` at the shipped budget: 0.04, 0.05 and 0.005 with three seeds.
"""

import math

import torch

from rewardgen import Hinge, MujocoTask, Pair, PpoSettings, Var, Wrap, tolerance

LINKS = ("upper", "lower")
STILL = {"elbow_velocity": 0.0, "shoulder_velocity": 0.0}
TOP = STILL | {"tip_distance": 0.1, "upright": (1.0, 1.0), "tip_height": 4.0}
HANGING = STILL | {"tip_distance": 4.0, "upright": (-1.0, -1.0), "tip_height": 0.0}


class AcrobotSwingup(MujocoTask):
    """A double pendulum in the x-z plane, driven at the elbow only. Swing it up and hold its tip at the target above.

    Two links of 1 m and 1 kg each hang from a shoulder 2 m above the floor; nothing drives the shoulder, and the floor
    is not felt. The target is a ball of radius 0.2 m around the highest point that the tip can reach, at a height of
    4 m. The motor has 2 N m, too little to lift the arm: it has to be swung.
    """

    model = "dm_control:acrobot.xml"
    episode_steps = 1000
    best_fitness = 1.0
    solved_fitness = 0.5
    training = {"ppo": PpoSettings(env_steps=1_000_000)}

    tip_distance = Var("m", "distance of the tip from the middle of the target; 0 to 4, below 0.2 it is in the target")
    tip_height = Var("m", "height of the tip above the floor; 0 hanging down, 4 straight up")
    upright = Var("1", "cosine of each link's angle from the vertical: 1 pointing up, -1 down", LINKS)
    elbow_angle = Hinge("elbow").angle.told("angle of the lower link from the upper one, 0 straight; not wrapped")
    shoulder_velocity = Hinge("shoulder").velocity.told(
        "angular velocity of the upper link, positive towards +x on top"
    )
    elbow_velocity = Hinge("elbow").velocity.told("angular velocity of the elbow, positive as that of the shoulder")

    pairs = (
        Pair("the top beats hanging", better=TOP, worse=HANGING),
        Pair(
            "nearly there beats half way",
            better=STILL | {"tip_distance": 0.5, "upright": (0.95, 0.9), "tip_height": 3.8},
            worse=STILL | {"tip_distance": 2.0, "upright": (0.5, 0.5), "tip_height": 3.0},
        ),
    )
    invariances = (Wrap("elbow_angle"),)

    def reset(self, sim, draw):
        """Both joints at any angle, at rest."""
        return draw.uniform(-math.pi, math.pi, 2), torch.zeros_like(sim.qvel)

    def variables(self, sim):
        """Directions of the links, 1 m long each; the target is 2 m above the shoulder."""
        x, z = _links(sim)
        return {
            "tip_distance": torch.hypot(x.sum(1), 2.0 - z.sum(1)),
            "tip_height": 2.0 + z.sum(1),
            "upright": z,
        }

    def observe(self, sim, variables):
        """Sines and cosines of the links' angles from the vertical, and the velocities of shoulder and elbow."""
        return torch.cat((*_links(sim), sim.qvel), 1)

    def fitness(self, episode):
        """Mean nearness of the tip to the target: 1 within 0.2 m of its middle, 0.1 at 1 m from its edge, 0 far away.

        It is the Suite's own reward, by which it is scored; the human reward is the same.
        """
        return episode.total(self.human_reward(episode["tip_distance"])["near"]) / episode.max_steps

    def success(self, episode):
        """The arm stands during the whole of the last second: its tip within 0.5 m of the middle of the target."""
        return episode.last(episode["tip_distance"] < 0.5, seconds=1.0) == 1.0

    @staticmethod
    def human_reward(tip_distance):
        """The Suite's reward (dm_control/suite/acrobot.py)."""
        return {"near": tolerance(tip_distance, 0.0, 0.2, margin=1.0)}

    @staticmethod
    def sparse_reward(tip_distance):
        """1 while the tip is in the target: the Suite's `swingup_sparse`."""
        return {"in_target": (tip_distance <= 0.2).float()}


def _links(sim):
    """Reach of each link along x and upwards, (N, 2) each [m]."""
    angles = sim.qpos.cumsum(1)
    return angles.sin(), angles.cos()
