"""Gymnasium's HalfCheetah-v5."""

import torch

from rewardgen import Hinge, MujocoTask, Pair, PpoSettings, Shift, Slide, Var

JOINTS = ("back_thigh", "back_shin", "back_foot", "front_thigh", "front_shin", "front_foot")
FEET = ("back", "front")
TORSO_HEIGHT = 0.7

STANDING = {"height": 0.6, "pitch": 0.0, "upright": 1.0, "x_velocity": 1.0, "x_position": 0.0}


class HalfCheetah(MujocoTask):
    """A planar cheetah with one back and one front leg. Run forward (+x) as fast as it can, right side up.

    It moves in the x-z plane only: a horizontal torso with a head in front, and two legs of thigh, shin and foot. Six
    motors turn the joints, `b` for back and `f` for front in their names. Nothing ends an episode, so it could slide on
    its back or its head, which is not running.
    """

    model = "gymnasium:half_cheetah.xml"
    frame_skip = 5
    episode_steps = 1000
    solved_fitness = 3.0
    training = {"ppo": PpoSettings.dense(env_steps=500_000)}

    x_position = Slide("rootx").position.told("position of the torso along +x; episodes begin near 0")
    x_velocity = Var("m/s", "forward velocity of the torso along +x, mean over the control step")
    height = Var("m", "height of the torso's centre above the ground; 0.7 in the reference pose, about 0.6 standing")
    z_velocity = Slide("rootz").velocity.told("vertical velocity of the torso, positive upwards")
    pitch = Hinge("rooty").angle.told(
        "pitch of the torso from horizontal, positive nose down; not wrapped, +-pi is upside down"
    )
    upright = Var("1", "cosine of the pitch: 1 level and right side up, 0 vertical, -1 upside down")
    pitch_velocity = Hinge("rooty").velocity.told("angular velocity of the pitch, positive when the nose goes down")
    joint_position = Var("rad", "joint angles, 0 in the reference pose; positive swings the limb back", JOINTS)
    joint_velocity = Var("rad/s", "joint angular velocities", JOINTS)
    foot_clearance = Var("m", "height of each foot's lowest point above the ground; about 0 in contact", FEET)

    pairs = (
        Pair(
            "standing beats lying on the back",
            better=STANDING,
            worse=STANDING | {"height": 0.2, "pitch": 3.14, "upright": -1.0},
        ),
        Pair("level beats standing on its head", better=STANDING, worse=STANDING | {"pitch": 1.57, "upright": 0.0}),
        Pair("further on beats behind", better={"x_position": 3.0}, worse={"x_position": 0.0}),
        Pair("forward beats backward", better=STANDING | {"x_velocity": 1.0}, worse=STANDING | {"x_velocity": -1.0}),
        Pair(
            "fast beats standing still",
            better=STANDING | {"x_velocity": 6.0},
            worse=STANDING | {"x_velocity": 0.0},
        ),
        Pair("gentle beats full effort", better={"action": 0.1}, worse={"action": 1.0}),
    )
    invariances = (Shift("x_position", 3.0),)

    def reset(self, sim, draw):
        """The reference pose at x = 0, with uniform noise of 0.1 on positions and normal noise of 0.1 on velocities."""
        return sim.qpos0 + draw.uniform(-0.1, 0.1, sim.model.nq), draw.normal(0.1, sim.model.nv)

    def variables(self, sim):
        """Values that are not declared by the name of a joint or body."""
        qpos, qvel = sim.qpos, sim.qvel
        return {
            "x_velocity": (qpos[:, 0] - sim.before("qpos")[:, 0]) / sim.control_step_s,
            "height": TORSO_HEIGHT + qpos[:, 1],
            "upright": qpos[:, 2].cos(),
            "joint_position": qpos[:, 3:],
            "joint_velocity": qvel[:, 3:],
            "foot_clearance": torch.stack((sim.clearance("bfoot"), sim.clearance("ffoot")), 1),
        }

    def observe(self, sim, variables):
        """All positions except x, and all velocities: 17 numbers."""
        return torch.cat((sim.qpos[:, 1:], sim.qvel), 1)

    def fitness(self, episode):
        """Forward distance per second of a full episode [m/s]."""
        return episode.total(episode["x_velocity"]) / episode.max_steps

    def success(self, episode):
        """It runs forward at 2 m/s or more on average, and is right side up for at least 90 % of the episode."""
        right_side_up = episode.share(episode["upright"] > 0.0)
        return (self.fitness(episode) >= 2.0) & (right_side_up >= 0.9)

    @staticmethod
    def human_reward(x_velocity, action):
        """The reward of Gymnasium's HalfCheetah-v5: forward speed and a cost of control."""
        return {"forward": x_velocity, "control": -0.1 * action.square().sum(-1)}

    @staticmethod
    def sparse_reward(x_velocity):
        """1 while it moves forward at 2 m/s or more."""
        return {"running": (x_velocity >= 2.0).float()}
