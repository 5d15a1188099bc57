"""Gymnasium's Swimmer-v5.

Its strokes pay late: with a discount of 0.999 and short rollouts the human reward reached 0.02, 0.12 and 0.03 in
500,000 steps; with rl-zoo's discount for this environment, which is shipped, 0.32, 0.28 and 0.08.
"""

import torch

from rewardgen import CentreOfMass, MujocoTask, Pair, PpoSettings, Var, Wrap

XYZ, JOINTS = ("x", "y", "z"), ("front", "back")

SWIMMING = {"x_velocity": 0.2, "centre_velocity": (0.2, 0.0, 0.0), "heading": 0.0}
BACKWARD = {"x_velocity": -0.2, "centre_velocity": (-0.2, 0.0, 0.0), "heading": 0.0}
RESTING = {"x_velocity": 0.0, "centre_velocity": 0.0, "heading": 0.0}


class Swimmer(MujocoTask):
    """A snake of three links in a viscous fluid. Swim forward along the world's +x axis as far as it can.

    The links are 1 m long each and move in a plane; at first the snake lies along the x axis, its front towards +x. Two
    motors bend the joints between front and middle link, and between middle and back link. Strokes to and fro alike
    lead nowhere: the wave has to run along the body.
    """

    model = "gymnasium:swimmer.xml"
    frame_skip = 4
    episode_steps = 1000
    solved_fitness = 0.15
    training = {
        "ppo": PpoSettings(
            env_steps=500_000,
            num_envs=16,
            rollout_steps=256,
            epochs=10,
            minibatches=8,
            discount=0.9999,
            gae_lambda=0.98,
        )
    }

    x_position = Var("m", "position along +x of the point that the front link carries 0.5 m behind its rear end")
    x_velocity = Var("m/s", "velocity of that point along +x, mean over the control step")
    y_velocity = Var("m/s", "velocity of that point along +y (to the left), mean over the control step")
    centre = CentreOfMass("torso").position.told("centre of mass of the whole snake in the world; z does not change")
    centre_velocity = CentreOfMass("torso").velocity.told("velocity of the centre of mass along the world's axes")
    heading = Var("rad", "direction of the front link in (-pi, pi]: 0 along +x, positive to the left")
    turn_velocity = Var("rad/s", "angular velocity of the front link, positive to the left")
    joint_position = Var(
        "rad", "joint angles, 0 straight, +-1.75 at the stops; positive swings what is behind to the right", JOINTS
    )
    joint_velocity = Var("rad/s", "joint angular velocities", JOINTS)

    pairs = (
        Pair("forward beats backward", better=SWIMMING, worse=BACKWARD),
        Pair("swimming beats resting", better=SWIMMING, worse=RESTING),
        Pair(
            "further on beats behind",
            better={"x_position": 3.0, "centre": (3.0, 0.0, 0.0)},
            worse={"x_position": 0.0, "centre": 0.0},
        ),
        Pair("gentle beats full effort", better={"action": 0.1}, worse={"action": 1.0}),
    )
    invariances = (Wrap("heading"),)

    def reset(self, sim, draw):
        """Straight along the x axis, with uniform noise of 0.1 on every position and velocity."""
        return sim.qpos0 + draw.uniform(-0.1, 0.1, 5), draw.uniform(-0.1, 0.1, 5)

    def variables(self, sim):
        """The point that Gymnasium tracks, and the bends."""
        qpos, qvel = sim.qpos, sim.qvel
        velocity = (qpos[:, :2] - sim.before("qpos")[:, :2]) / sim.control_step_s
        return {
            "x_position": qpos[:, 0],
            "x_velocity": velocity[:, 0],
            "y_velocity": velocity[:, 1],
            "heading": torch.atan2(qpos[:, 2].sin(), qpos[:, 2].cos()),
            "turn_velocity": qvel[:, 2],
            "joint_position": qpos[:, 3:],
            "joint_velocity": qvel[:, 3:],
        }

    def observe(self, sim, variables):
        """The angles of front link and joints, and all velocities: 8 numbers."""
        return torch.cat((sim.qpos[:, 2:], sim.qvel), 1)

    def fitness(self, episode):
        """How far the centre of mass has come along +x, per second of the 40 [m/s]."""
        way = episode["centre"][:, :, 0]
        return (episode.last(way) - episode.first(way)) / (episode.max_steps * episode.control_step_s)

    def success(self, episode):
        """It has come two of its own lengths forward, 6 m."""
        return self.fitness(episode) >= 0.15

    @staticmethod
    def human_reward(x_velocity, action):
        """The reward of Gymnasium's Swimmer-v5: forward speed, a small cost of control."""
        return {"forward": x_velocity, "control": -1e-4 * action.square().sum(-1)}

    @staticmethod
    def sparse_reward(centre_velocity):
        """1 while it moves forward at 0.2 m/s or more."""
        return {"moving": (centre_velocity[:, 0] >= 0.2).float()}
