"""Gymnasium's HumanoidStandup-v5. Its human reward does not solve it: 0.67 over three seeds in two million steps."""

import torch

from rewardgen import Geom, MujocoTask, Pair, PpoSettings, Shift, Var

LEG_JOINTS = ("hip_x", "hip_z", "hip_y", "knee")
ARM_JOINTS = ("shoulder1", "shoulder2", "elbow")
JOINTS = (
    *("abdomen_z", "abdomen_y", "abdomen_x"),
    *(f"{side}_{joint}" for side in ("right", "left") for joint in LEG_JOINTS),
    *(f"{side}_{joint}" for side in ("right", "left") for joint in ARM_JOINTS),
)
SIDES = ("right", "left")

STILL = {"z_velocity": 0.0, "angular_velocity": 0.0, "joint_velocity": 0.0}
STANDING = STILL | {"height": 1.2, "head_height": 1.35, "upright": 1.0, "foot_clearance": 0.0}
SITTING = STILL | {"height": 0.45, "head_height": 0.6, "upright": 1.0, "foot_clearance": 0.0}
LYING = STILL | {"height": 0.1, "head_height": 0.1, "upright": 0.0, "foot_clearance": 0.0}


class HumanoidStandup(MujocoTask):
    """A human-like robot lies on its back. Stand up, and stay standing, upright.

    A torso with abdomen, two legs (three hip joints and a knee each; the feet are balls without ankles) and two arms
    (two shoulder joints and an elbow each). Seventeen motors turn the joints; the action lists them in nearly the order
    of the joint variables, with the names that are given. At first the head points along -x and the face upwards.
    """

    model = "gymnasium:humanoidstandup.xml"
    frame_skip = 5
    episode_steps = 1000
    needs_contact_forces = True
    solved_fitness = 1.1
    slow = True
    training = {"ppo": PpoSettings(env_steps=2_000_000)}

    height = Var("m", "height of the torso's centre above the ground; 0.1 lying, 1.2 standing")
    head_height = Geom("head").height.told("height of the head's centre above the ground; 0.1 lying, 1.35 standing")
    upright = Var(
        "1", "cosine between the spine, from waist to head, and the vertical: 1 upright, 0 lying, -1 head down"
    )
    x_position = Var("m", "position of the torso along the world's +x axis; episodes begin near 0")
    x_velocity = Var("m/s", "velocity of the torso along the world's +x axis")
    y_velocity = Var("m/s", "velocity of the torso along the world's +y axis")
    z_velocity = Var("m/s", "vertical velocity of the torso, positive upwards")
    angular_velocity = Var(
        "rad/s", "angular velocity of the torso about its own axes: -x to the head, z out of the chest", ("x", "y", "z")
    )
    joint_position = Var("rad", "joint angles, 0 with body and legs stretched; negative knees are bent", JOINTS)
    joint_velocity = Var("rad/s", "joint angular velocities", JOINTS)
    foot_clearance = Var("m", "height of each foot's lowest point above the ground; about 0 in contact", SIDES)
    foot_force = Var("N", "size of the contact force on each foot; 0 in the air", SIDES)
    contact_load = Var("1", "sum of the squares of all contact forces [N] and torques [N m] on the bodies")

    pairs = (
        Pair("standing beats lying", better=STANDING, worse=LYING),
        Pair("standing beats sitting", better=STANDING, worse=SITTING),
        Pair("sitting beats lying", better=SITTING, worse=LYING),
        Pair("gentle beats full effort", better={"action": 0.04}, worse={"action": 0.4}),
    )
    invariances = (Shift("x_position", 3.0),)

    def reset(self, sim, draw):
        """Lying on its back, stretched out and still, with uniform noise of 0.01 on every position and velocity."""
        return sim.qpos0 + draw.uniform(-1e-2, 1e-2, sim.model.nq), draw.uniform(-1e-2, 1e-2, sim.model.nv)

    def variables(self, sim):
        """The declared variables; the spine points along the torso's own -x axis."""
        forces = sim.field("cfrc_ext")
        feet = sim.constant([sim.body("right_foot"), sim.body("left_foot")])
        return {
            "height": sim.qpos[:, 2],
            "upright": -sim.field("xmat")[:, sim.body("torso"), 6],
            "x_position": sim.qpos[:, 0],
            "x_velocity": sim.qvel[:, 0],
            "y_velocity": sim.qvel[:, 1],
            "z_velocity": sim.qvel[:, 2],
            "angular_velocity": sim.qvel[:, 3:6],
            "joint_position": sim.qpos[:, 7:],
            "joint_velocity": sim.qvel[:, 6:],
            "foot_clearance": torch.stack((sim.clearance("right_foot"), sim.clearance("left_foot")), 1),
            "foot_force": forces[:, feet, 3:].norm(dim=2),
            "contact_load": forces.square().sum((1, 2)),
        }

    def observe(self, sim, variables):
        """Positions except x and y, velocities, inertias and velocities of all bodies, joint torques, contact forces.

        These are Gymnasium's 348 numbers.
        """
        bodies = (sim.field("cinert"), sim.field("cvel"))
        parts = [sim.qpos[:, 2:], sim.qvel, *(each[:, 1:].flatten(1) for each in bodies)]
        parts += [sim.field("qfrc_actuator")[:, 6:], sim.field("cfrc_ext")[:, 1:].flatten(1)]
        return torch.cat(parts, 1)

    def fitness(self, episode):
        """Mean height of the head over the last 5 of the 15 seconds [m]: 0.1 lying, 0.6 sitting, 1.35 standing."""
        return episode.last(episode["head_height"], seconds=5.0)

    def success(self, episode):
        """It stands for the last 2 seconds: the head above 1.15 m, the spine within 35 degrees of upright."""
        standing = (episode["head_height"] > 1.15) & (episode["upright"] > 0.82)
        return episode.last(standing, seconds=2.0) == 1.0

    @staticmethod
    def human_reward(height, contact_load, action):
        """The reward of Gymnasium's HumanoidStandup-v5: the torso's height, costs of control and contact."""
        contact = (5e-7 * contact_load).clamp(max=10.0)
        up, alive = height / 0.003, torch.ones_like(height)
        return {"up": up, "alive": alive, "control": -0.1 * action.square().sum(-1), "contact": -contact}

    @staticmethod
    def sparse_reward(head_height, upright):
        """1 while it stands."""
        return {"standing": ((head_height > 1.15) & (upright > 0.82)).float()}
