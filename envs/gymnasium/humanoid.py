"""Gymnasium's Humanoid-v5. Its human reward does not solve it: 0.8 m/s after 2.3 million steps, more than ship."""

import torch

from rewardgen import MujocoTask, Pair, PpoSettings, Shift, Var, Wrap, heading, upright

LEG_JOINTS = ("hip_x", "hip_z", "hip_y", "knee")
ARM_JOINTS = ("shoulder1", "shoulder2", "elbow")
JOINTS = (
    *("abdomen_z", "abdomen_y", "abdomen_x"),
    *(f"{side}_{joint}" for side in ("right", "left") for joint in LEG_JOINTS),
    *(f"{side}_{joint}" for side in ("right", "left") for joint in ARM_JOINTS),
)
SIDES = ("right", "left")

STANDING = {"height": 1.4, "upright": 1.0, "healthy": 1.0, "x_velocity": 1.0, "x_position": 0.0}


class Humanoid(MujocoTask):
    """A human-like robot in three dimensions. Walk forward along the world's +x axis as fast as it can without falling.

    A torso with abdomen, two legs (three hip joints and a knee each; the feet are balls without ankles) and two arms
    (two shoulder joints and an elbow each). Seventeen motors turn the joints; the action lists them in nearly the order
    of the joint variables, with the names that are given.
    """

    model = "gymnasium:humanoid.xml"
    frame_skip = 5
    episode_steps = 1000
    needs_contact_forces = True
    solved_fitness = 1.0
    slow = True
    training = {"ppo": PpoSettings(env_steps=2_000_000)}

    x_position = Var("m", "position of the torso along the world's +x axis; episodes begin near 0")
    y_position = Var("m", "position of the torso along the world's +y axis (to the left); episodes begin near 0")
    x_velocity = Var("m/s", "velocity of the centre of mass along the world's +x axis, mean over the control step")
    y_velocity = Var("m/s", "velocity of the centre of mass along the world's +y axis, mean over the control step")
    z_velocity = Var("m/s", "vertical velocity of the torso, positive upwards")
    height = Var("m", "height of the torso's centre above the ground; 1.4 standing straight")
    upright = Var("1", "cosine of the torso's tilt: 1 upright, 0 lying, -1 upside down")
    heading = Var("rad", "direction the torso faces about the vertical, in (-pi, pi]: 0 along +x, positive to the left")
    angular_velocity = Var("rad/s", "angular velocity of the torso in its own frame", ("roll", "pitch", "yaw"))
    joint_position = Var(
        "rad", "joint angles, 0 standing straight: negative hip_y swings a leg forward, negative knee bends it", JOINTS
    )
    joint_velocity = Var("rad/s", "joint angular velocities", JOINTS)
    foot_clearance = Var("m", "height of each foot's lowest point above the ground; about 0 in contact", SIDES)
    foot_position = Var("m", "position of each foot along the world's +x axis relative to the torso", SIDES)
    foot_force = Var("N", "size of the contact force on each foot; 0 in the air", SIDES)
    contact_load = Var("1", "sum of the squares of all contact forces [N] and torques [N m] on the bodies")
    healthy = Var("1", "1 while no termination condition holds, else 0")

    pairs = (
        Pair(
            "standing beats sinking", better=STANDING, worse=STANDING | {"height": 1.05, "upright": 0.7, "healthy": 1.0}
        ),
        Pair(
            "standing beats fallen", better=STANDING, worse=STANDING | {"height": 0.3, "upright": 0.0, "healthy": 0.0}
        ),
        Pair("upright beats tilted", better=STANDING, worse=STANDING | {"upright": 0.5}),
        Pair("further on beats behind", better={"x_position": 3.0}, worse={"x_position": 0.0}),
        Pair("forward beats backward", better=STANDING | {"x_velocity": 1.0}, worse=STANDING | {"x_velocity": -1.0}),
        Pair(
            "fast beats standing still",
            better=STANDING | {"x_velocity": 3.0},
            worse=STANDING | {"x_velocity": 0.0},
        ),
        Pair("gentle beats full effort", better={"action": 0.04}, worse={"action": 0.4}),
    )
    invariances = (
        Shift("x_position", 3.0),
        Wrap("heading"),
    )

    def reset(self, sim, draw):
        """Standing straight and still at x = y = 0, with uniform noise of 0.01 on every position and velocity."""
        return sim.qpos0 + draw.uniform(-1e-2, 1e-2, sim.model.nq), draw.uniform(-1e-2, 1e-2, sim.model.nv)

    def variables(self, sim):
        """The declared variables; velocities from the centre of mass before and after, as Gymnasium's."""
        velocity = (_mass_centre(sim, sim.field("xipos")) - _mass_centre(sim, sim.before("xipos"))) / sim.control_step_s
        forces = sim.field("cfrc_ext")
        feet = sim.constant([sim.body("right_foot"), sim.body("left_foot")])
        height = sim.qpos[:, 2]
        return {
            "x_position": sim.qpos[:, 0],
            "y_position": sim.qpos[:, 1],
            "x_velocity": velocity[:, 0],
            "y_velocity": velocity[:, 1],
            "z_velocity": sim.qvel[:, 2],
            "height": height,
            "upright": upright(sim.qpos[:, 3:7]),
            "heading": heading(sim.qpos[:, 3:7]),
            "angular_velocity": sim.qvel[:, 3:6],
            "joint_position": sim.qpos[:, 7:],
            "joint_velocity": sim.qvel[:, 6:],
            "foot_clearance": torch.stack((sim.clearance("right_foot"), sim.clearance("left_foot")), 1),
            "foot_position": sim.field("xpos")[:, feet, 0] - sim.field("xpos")[:, sim.body("torso"), :1],
            "foot_force": forces[:, feet, 3:].norm(dim=2),
            "contact_load": forces.square().sum((1, 2)),
            "healthy": ((height > 1.0) & (height < 2.0)).double(),
        }

    def observe(self, sim, variables):
        """Positions except x and y, velocities, inertias and velocities of all bodies, joint torques, contact forces.

        These are Gymnasium's 348 numbers.
        """
        bodies = (sim.field("cinert"), sim.field("cvel"))
        parts = [sim.qpos[:, 2:], sim.qvel, *(each[:, 1:].flatten(1) for each in bodies)]
        parts += [sim.field("qfrc_actuator")[:, 6:], sim.field("cfrc_ext")[:, 1:].flatten(1)]
        return torch.cat(parts, 1)

    def terminated(self, sim, variables):
        """The episode ends when the torso's height leaves (1.0, 2.0) m."""
        return {"torso too low": variables["height"] <= 1.0, "torso too high": variables["height"] >= 2.0}

    def fitness(self, episode):
        """Forward distance per second of a full episode [m/s]: time lost by falling counts as standing still."""
        return episode.total(episode["x_velocity"]) / episode.max_steps

    def success(self, episode):
        """The robot does not fall for the whole episode and moves forward at 1 m/s or more on average."""
        lived = (episode.lengths == episode.max_steps) & ~episode.terminated
        return lived & (self.fitness(episode) >= 1.0)

    @staticmethod
    def human_reward(x_velocity, healthy, contact_load, action):
        """The reward of Gymnasium's Humanoid-v5: forward speed, 5 per step alive, costs of control and contact."""
        contact = (5e-7 * contact_load).clamp(max=10.0)
        control = -0.1 * action.square().sum(-1)
        return {"forward": 1.25 * x_velocity, "survive": 5.0 * healthy, "control": control, "contact": -contact}

    @staticmethod
    def sparse_reward(x_velocity):
        """1 while it moves forward at 1 m/s or more."""
        return {"moving": (x_velocity >= 1.0).float()}


def _mass_centre(sim, body_positions):
    """Centre of mass of the robot from the centres of its bodies (N, nbody, 3): (N, 3) [m]."""
    mass = sim.constant(sim.model.body_mass)
    return torch.einsum("b,nbj->nj", mass / mass.sum(), body_positions)
