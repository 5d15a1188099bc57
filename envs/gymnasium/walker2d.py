"""Gymnasium's Walker2d-v5."""

import torch

from rewardgen import Hinge, MujocoTask, Pair, PpoSettings, Shift, Slide, Var

JOINTS = ("right_thigh", "right_leg", "right_foot", "left_thigh", "left_leg", "left_foot")
FEET = ("right", "left")

STANDING = {"height": 1.25, "pitch": 0.0, "healthy": 1.0, "x_velocity": 1.0, "x_position": 0.0}


class Walker2d(MujocoTask):
    """A two-legged planar robot. Walk or run forward (+x) as fast as it can without falling over.

    It moves in the x-z plane only: a torso on top of two equal legs side by side, each of thigh, leg and a foot that
    points forward. Six motors turn the thigh joints (hips), leg joints (knees) and foot joints (ankles), the right
    leg's first, which have no `left` in their names. Wanted is a gait that uses both legs, not hopping or dragging one.
    """

    model = "gymnasium:walker2d_v5.xml"
    frame_skip = 4
    episode_steps = 1000
    solved_fitness = 1.0
    training = {"ppo": PpoSettings(env_steps=500_000)}

    x_position = Slide("rootx").position.told("how far the torso has come along +x since x = 0, where episodes begin")
    x_velocity = Var("m/s", "forward velocity of the torso along +x, mean over the control step")
    height = Slide("rootz").position.told("height of the torso's centre above the ground; 1.25 standing straight")
    z_velocity = Slide("rootz").velocity.told("vertical velocity of the torso, positive upwards")
    pitch = Hinge("rooty").angle.told("pitch of the torso from vertical, positive leaning forward (towards +x)")
    pitch_velocity = Hinge("rooty").velocity.told("angular velocity of the pitch, positive when tipping forward")
    joint_position = Var(
        "rad", "joint angles, 0 straight: negative swings thighs and legs back, positive lifts the toes", JOINTS
    )
    joint_velocity = Var("rad/s", "joint angular velocities", JOINTS)
    foot_clearance = Var("m", "height of each foot's lowest point above the ground; about 0 in contact", FEET)
    foot_position = Var("m", "position of each foot's centre along +x relative to the torso, positive in front", FEET)
    healthy = Var("1", "1 while no termination condition holds, else 0")

    pairs = (
        Pair("standing beats sinking", better=STANDING, worse=STANDING | {"height": 0.85, "pitch": 0.9}),
        Pair("standing beats fallen", better=STANDING, worse=STANDING | {"height": 0.4, "pitch": 1.5, "healthy": 0.0}),
        Pair("level beats leaning", better=STANDING, worse=STANDING | {"pitch": 0.9}),
        Pair("further on beats behind", better={"x_position": 3.0}, worse={"x_position": 0.0}),
        Pair("forward beats backward", better=STANDING | {"x_velocity": 1.0}, worse=STANDING | {"x_velocity": -1.0}),
        Pair(
            "fast beats standing still",
            better=STANDING | {"x_velocity": 3.0},
            worse=STANDING | {"x_velocity": 0.0},
        ),
        Pair("gentle beats full effort", better={"action": 0.1}, worse={"action": 1.0}),
    )
    invariances = (Shift("x_position", 3.0),)

    def reset(self, sim, draw):
        """Standing straight and still at x = 0, with uniform noise of 0.005 on every position and velocity."""
        return sim.qpos0 + draw.uniform(-5e-3, 5e-3, sim.model.nq), draw.uniform(-5e-3, 5e-3, sim.model.nv)

    def variables(self, sim):
        """Values that are not declared by the name of a joint or body."""
        qpos, qvel = sim.qpos, sim.qvel
        height, pitch = qpos[:, 1], qpos[:, 2]
        feet = sim.constant([sim.geom("foot_geom"), sim.geom("foot_left_geom")])
        return {
            "x_velocity": (qpos[:, 0] - sim.before("qpos")[:, 0]) / sim.control_step_s,
            "joint_position": qpos[:, 3:],
            "joint_velocity": qvel[:, 3:],
            "foot_clearance": torch.stack((sim.clearance("foot_geom"), sim.clearance("foot_left_geom")), 1),
            "foot_position": sim.field("geom_xpos")[:, feet, 0] - sim.field("xpos")[:, sim.body("torso"), :1],
            "healthy": ((height > 0.8) & (height < 2.0) & (pitch.abs() < 1.0)).double(),
        }

    def observe(self, sim, variables):
        """All positions except x, and all velocities clipped to [-10, 10]: 17 numbers."""
        return torch.cat((sim.qpos[:, 1:], sim.qvel.clamp(-10.0, 10.0)), 1)

    def terminated(self, sim, variables):
        """The episode ends when the torso's height leaves (0.8, 2.0) m, or its pitch reaches 1 rad either way."""
        return {
            "torso too low": variables["height"] <= 0.8,
            "torso too high": variables["height"] >= 2.0,
            "torso tipped over": variables["pitch"].abs() >= 1.0,
        }

    def fitness(self, episode):
        """Forward distance per second of a full episode [m/s]: time lost by falling counts as standing still."""
        return episode.total(episode["x_velocity"]) / episode.max_steps

    def success(self, episode):
        """The robot does not fall for the whole episode and moves forward at 1 m/s or more on average."""
        lived = (episode.lengths == episode.max_steps) & ~episode.terminated
        return lived & (self.fitness(episode) >= 1.0)

    @staticmethod
    def human_reward(x_velocity, healthy, action):
        """The reward of Gymnasium's Walker2d-v5: forward speed, 1 per step alive, a small cost of control."""
        return {"forward": x_velocity, "survive": healthy, "control": -1e-3 * action.square().sum(-1)}

    @staticmethod
    def sparse_reward(x_velocity):
        """1 while it moves forward at 1 m/s or more."""
        return {"moving": (x_velocity >= 1.0).float()}
