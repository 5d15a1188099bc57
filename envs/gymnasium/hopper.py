"""Gymnasium's Hopper-v5."""

import torch

from rewardgen import Hinge, MujocoTask, Pair, PpoSettings, Shift, Slide, Var

JOINTS = ("thigh", "leg", "foot")

STANDING = {"height": 1.25, "pitch": 0.0, "healthy": 1.0, "x_velocity": 1.0, "x_position": 0.0}


class Hopper(MujocoTask):
    """A one-legged planar robot. Hop forward (+x) as fast as it can without falling over.

    It moves in the x-z plane only: a torso on top, then thigh, leg and a foot that points forward, 1.45 m tall in all.
    Three motors turn the thigh joint (hip), leg joint (knee) and foot joint (ankle).
    """

    model = "gymnasium:hopper.xml"
    frame_skip = 4
    episode_steps = 1000
    solved_fitness = 1.5
    training = {"ppo": PpoSettings(env_steps=400_000)}

    x_position = Slide("rootx").position.told("how far the torso has come along +x since x = 0, where episodes begin")
    x_velocity = Var("m/s", "forward velocity of the torso along +x, mean over the control step")
    height = Slide("rootz").position.told("height of the torso's centre above the ground; 1.25 standing straight")
    z_velocity = Slide("rootz").velocity.told("vertical velocity of the torso, positive upwards")
    pitch = Hinge("rooty").angle.told("pitch of the torso from vertical, positive leaning forward (towards +x)")
    pitch_velocity = Hinge("rooty").velocity.told("angular velocity of the pitch, positive when tipping forward")
    joint_position = Var(
        "rad", "joint angles, 0 straight: negative swings thigh and leg back, positive lifts the toes", JOINTS
    )
    joint_velocity = Var("rad/s", "joint angular velocities", JOINTS)
    foot_clearance = Var("m", "height of the foot's lowest point above the ground; about 0 in contact")
    healthy = Var("1", "1 while no termination condition holds, else 0")

    pairs = (
        Pair("standing beats sinking", better=STANDING, worse=STANDING | {"height": 0.75, "pitch": 0.19}),
        Pair("standing beats fallen", better=STANDING, worse=STANDING | {"height": 0.4, "pitch": 1.0, "healthy": 0.0}),
        Pair("level beats leaning", better=STANDING, worse=STANDING | {"pitch": 0.19}),
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
        bounded = (qpos[:, 2:].abs() < 100.0).all(1) & (qvel.abs() < 100.0).all(1)
        return {
            "x_velocity": (qpos[:, 0] - sim.before("qpos")[:, 0]) / sim.control_step_s,
            "joint_position": qpos[:, 3:],
            "joint_velocity": qvel[:, 3:],
            "foot_clearance": sim.clearance("foot_geom"),
            "healthy": ((height > 0.7) & (pitch.abs() < 0.2) & bounded).double(),
        }

    def observe(self, sim, variables):
        """All positions except x, and all velocities clipped to [-10, 10]: 11 numbers."""
        return torch.cat((sim.qpos[:, 1:], sim.qvel.clamp(-10.0, 10.0)), 1)

    def terminated(self, sim, variables):
        """The episode ends when the torso's height is 0.7 m or less, or its pitch reaches 0.2 rad either way."""
        low = variables["height"] <= 0.7
        tipped = variables["pitch"].abs() >= 0.2
        wild = (variables["healthy"] == 0.0) & ~low & ~tipped
        return {"torso too low": low, "torso tipped over": tipped, "state out of bounds": wild}

    def fitness(self, episode):
        """Forward distance per second of a full episode [m/s]: time lost by falling counts as standing still."""
        return episode.total(episode["x_velocity"]) / episode.max_steps

    def success(self, episode):
        """The robot does not fall for the whole episode and moves forward at 1 m/s or more on average."""
        lived = (episode.lengths == episode.max_steps) & ~episode.terminated
        return lived & (self.fitness(episode) >= 1.0)

    @staticmethod
    def human_reward(x_velocity, healthy, action):
        """The reward of Gymnasium's Hopper-v5: forward speed, 1 per step alive, a small cost of control."""
        return {"forward": x_velocity, "survive": healthy, "control": -1e-3 * action.square().sum(-1)}

    @staticmethod
    def sparse_reward(x_velocity):
        """1 while it moves forward at 1 m/s or more."""
        return {"moving": (x_velocity >= 1.0).float()}
