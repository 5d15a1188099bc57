"""mjlab's Mjlab-Velocity-Flat-Unitree-Go1. On a CPU it is for trying: some 100 control steps per second of one core.

Not tried: training with its rewards to the end.
"""

import torch

from rewardgen import Pair, PpoSettings, Var
from rewardgen.extras.mjlab.task import MjlabTask
from rewardgen.extras.rsl_rl.settings import RslRlSettings

JOINTS = tuple(f"{leg}_{joint}" for leg in ("FR", "FL", "RR", "RL") for joint in ("hip", "thigh", "calf"))
XYZ = ("x", "y", "z")


class Go1Velocity(MjlabTask):
    """A Unitree Go1, a four-legged robot, on a plane. Walk with the velocity that is commanded, without falling over.

    A command is drawn for each episode: up to 1 m/s along the robot's own x (ahead) and y (left) axes, turning at up to
    0.5 rad/s; one in ten is to stand still. The twelve actions are offsets of joint angles that servos hold.
    """

    env = "Mjlab-Velocity-Flat-Unitree-Go1"
    episode_steps = 250
    action_limit = 2.0
    slow = True
    best_fitness = 1.0
    solved_fitness = 0.85
    training = {
        "ppo": PpoSettings(env_steps=20_000_000, initial_std=0.5, hidden=(256, 128)),
        "rsl-rl": RslRlSettings(env_steps=20_000_000),
    }

    command = Var("m/s", "commanded velocity along the robot's own x (ahead) and y (left) axes", ("x", "y"))
    command_turning = Var("rad/s", "commanded angular velocity about the vertical, positive to the left")
    linear_velocity = Var("m/s", "velocity of the trunk in its own frame: x ahead, y to the left, z up", XYZ)
    angular_velocity = Var("rad/s", "angular velocity of the trunk in its own frame", XYZ)
    gravity = Var("1", "direction of gravity in the frame of the trunk; z is -1 where it stands upright", XYZ)
    height = Var("m", "height of the trunk above the plane; 0.28 standing")
    joint_position = Var("rad", "joint angles, relative to those in which it stands", JOINTS)
    joint_velocity = Var("rad/s", "joint angular velocities", JOINTS)
    feet_down = Var("1", "1 for a foot that touches the ground, else 0", ("FR", "FL", "RR", "RL"))

    pairs = (
        Pair(
            "following beats standing",
            better={"command": (0.5, 0.0), "command_turning": 0.3, "linear_velocity": (0.5, 0.0, 0.0)}
            | {"angular_velocity": (0.0, 0.0, 0.3)},
            worse={"command": (0.5, 0.0), "command_turning": 0.3, "linear_velocity": 0.0, "angular_velocity": 0.0},
        ),
    )

    def variables(self, env):
        """Values from the robot's data, the command and the contact sensor of the feet."""
        robot = env.scene["robot"].data
        command = env.command_manager.get_command("twist")
        return {
            "command": command[:, :2],
            "command_turning": command[:, 2],
            "linear_velocity": robot.root_link_lin_vel_b,
            "angular_velocity": robot.root_link_ang_vel_b,
            "gravity": robot.projected_gravity_b,
            "height": robot.root_link_pos_w[:, 2],
            "joint_position": robot.joint_pos - robot.default_joint_pos,
            "joint_velocity": robot.joint_vel,
            "feet_down": (env.scene["feet_ground_contact"].data.found > 0).float(),
        }

    def fitness(self, episode):
        """How well the command is followed, from 0 to 1: the mean over a full episode; a fall costs the rest."""
        return episode.total(self._followed(episode)) / episode.max_steps

    def success(self, episode):
        """Still up at the end, and the command followed to 0.85 in the mean over the last second."""
        return (episode.last(self._followed(episode), seconds=1.0) > 0.85) & ~episode.terminated

    @staticmethod
    def _followed(episode):
        """From 0 to 1, (T, N): half for the velocity, half for turning, each by its error relative to 0.5."""
        missed = (episode["command"] - episode["linear_velocity"][..., :2]).square().sum(-1)
        turned = (episode["command_turning"] - episode["angular_velocity"][..., 2]).square()
        return 0.5 * (torch.exp(-missed / 0.25) + torch.exp(-turned / 0.25))

    @staticmethod
    def sparse_reward(command, command_turning, linear_velocity, angular_velocity):
        """The command is followed closely or not."""
        missed = (command - linear_velocity[:, :2]).norm(dim=-1)
        turned = (command_turning - angular_velocity[:, 2]).abs()
        return {"followed": ((missed < 0.2) & (turned < 0.2)).float()}
