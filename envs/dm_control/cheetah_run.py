"""The DeepMind Control Suite's `cheetah-run`, on its own model (Tassa et al. 2018, arXiv:1801.00690).

The human reward reaches `solved_fitness` with three of three seeds (0.69, 0.53 and 0.70).
"""

import math

import torch

from rewardgen import Hinge, MujocoTask, Pair, PpoSettings, Shift, Slide, Var, tolerance

JOINTS = ("back_thigh", "back_shin", "back_foot", "front_thigh", "front_shin", "front_foot")
FEET = ("back", "front")
STANDING = {"upright": 1.0, "pitch": 0.0, "height": 0.6}


class CheetahRun(MujocoTask):
    """A planar cheetah with one back and one front leg. Run forward (+x) at 10 m/s or more, right side up.

    It moves in the x-z plane only: a horizontal torso with a head in front, and two legs of thigh, shin and foot, whose
    joints have springs. Six motors turn them, `b` for back and `f` for front in their names. Nothing ends an episode.
    """

    model = "dm_control:cheetah.xml"
    episode_steps = 1000
    current_fields = True
    best_fitness = 1.0
    solved_fitness = 0.5
    training = {"ppo": PpoSettings.dense(env_steps=1_000_000)}

    x_position = Slide("rootx").position.told("position of the torso along +x; episodes begin near 0")
    x_velocity = Var("m/s", "velocity of the whole robot's centre of mass along +x")
    height = Var("m", "height of the torso's middle above the ground; about 0.6 standing")
    z_velocity = Slide("rootz").velocity.told("vertical velocity of the torso, positive upwards")
    pitch = Hinge("rooty").angle.told("pitch of the torso, positive nose down; not wrapped, +-pi is upside down")
    upright = Var("1", "cosine of the pitch: 1 level and right side up, 0 vertical, -1 upside down")
    pitch_velocity = Hinge("rooty").velocity.told("angular velocity of the pitch, positive when the nose goes down")
    joint_position = Var("rad", "joint angles, 0 in the reference pose; positive swings the limb back", JOINTS)
    joint_velocity = Var("rad/s", "joint angular velocities", JOINTS)
    foot_clearance = Var("m", "height of each foot's lowest point above the ground; about 0 in contact", FEET)

    pairs = (
        Pair("forward beats backward", better=STANDING | {"x_velocity": 2.0}, worse=STANDING | {"x_velocity": -2.0}),
        Pair(
            "fast beats standing still",
            better=STANDING | {"x_velocity": 8.0},
            worse=STANDING | {"x_velocity": 0.0},
        ),
    )
    invariances = (Shift("x_position", 3.0),)

    def reset(self, sim, draw):
        """The joints at any angle within their limits; then it falls and comes to rest for two seconds."""
        low, high = sim.constant(sim.model.jnt_range[3:]).T
        qpos = sim.qpos0.repeat(draw.num_envs, 1)
        qpos[:, 3:] = draw.uniform(low, high, len(JOINTS))
        return sim.settled(qpos, seconds=2.0)

    def variables(self, sim):
        """Values that are not declared by the name of a joint or body."""
        return {
            "x_velocity": sim.sensor("torso_subtreelinvel")[:, 0],
            "height": 0.7 + sim.qpos[:, 1],
            "upright": sim.qpos[:, 2].cos(),
            "joint_position": sim.qpos[:, 3:],
            "joint_velocity": sim.qvel[:, 3:],
            "foot_clearance": torch.stack((sim.clearance("bfoot"), sim.clearance("ffoot")), 1),
        }

    def observe(self, sim, variables):
        """All positions except x, and all velocities: 17 numbers."""
        return torch.cat((sim.qpos[:, 1:], sim.qvel), 1)

    def fitness(self, episode):
        """Mean of the forward speed as a share of 10 m/s, within 0 and 1.

        It is the Suite's own reward, by which it is scored; the human reward is the same.
        """
        return episode.total(self.human_reward(episode["x_velocity"])["speed"]) / episode.max_steps

    def success(self, episode):
        """It runs at 5 m/s or more on average, and is not on its back for more than a tenth of the time."""
        return (episode.mean(episode["x_velocity"]) >= 5.0) & (episode.share(episode["upright"] > 0.0) >= 0.9)

    @staticmethod
    def human_reward(x_velocity):
        """The Suite's reward (dm_control/suite/cheetah.py)."""
        speed = tolerance(x_velocity, 10.0, math.inf, margin=10.0, value_at_margin=0.0, sigmoid="linear")
        return {"speed": speed}

    @staticmethod
    def sparse_reward(x_velocity):
        """1 while it moves forward at 5 m/s or more."""
        return {"running": (x_velocity >= 5.0).float()}
