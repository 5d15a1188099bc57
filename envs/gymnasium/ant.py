"""Gymnasium's Ant-v5."""

import torch

from rewardgen import MujocoTask, Outside, Pair, PpoSettings, Shift, Var, Wrap, heading, upright

LEGS = ("leg_1", "leg_2", "leg_3", "leg_4")
JOINTS = ("hip_1", "ankle_1", "hip_2", "ankle_2", "hip_3", "ankle_3", "hip_4", "ankle_4")

STANDING = {"height": 0.6, "upright": 1.0, "healthy": 1.0, "x_velocity": 1.0, "x_position": 0.0}


class Ant(MujocoTask):
    """A four-legged robot. Walk forward along the world's +x axis as fast as it can without falling or jumping.

    A round torso carries four legs: leg 1 front left, 2 back left, 3 back right, 4 front right, where front is the
    body's own +x axis. Each has a hip, which swings it sideways about the vertical, and an ankle, which lifts it. Eight
    motors turn the joints; the action lists them in another order than the joint variables, by the names given.
    """

    model = "gymnasium:ant.xml"
    frame_skip = 5
    episode_steps = 1000
    needs_contact_forces = True
    solved_fitness = 1.0
    slow = True
    # Wider noise throws the torso up, and only rewards with a large charge on effort narrow it in time.
    training = {"ppo": PpoSettings.dense(env_steps=1_000_000, initial_std=0.2)}

    x_position = Var("m", "position of the torso along the world's +x axis; episodes begin near 0")
    y_position = Var("m", "position of the torso along the world's +y axis (to the left); episodes begin near 0")
    x_velocity = Var("m/s", "velocity of the torso along the world's +x axis, mean over the control step")
    y_velocity = Var("m/s", "velocity of the torso along the world's +y axis, mean over the control step")
    z_velocity = Var("m/s", "vertical velocity of the torso, positive upwards")
    height = Var("m", "height of the torso's centre above the ground; 0.75 in the reference pose")
    upright = Var("1", "cosine of the torso's tilt: 1 upright, 0 on its side, -1 upside down")
    heading = Var("rad", "direction the torso faces about the vertical, in (-pi, pi]: 0 along +x, positive to the left")
    angular_velocity = Var("rad/s", "angular velocity of the torso in its own frame", ("roll", "pitch", "yaw"))
    joint_position = Var("rad", "joint angles; hips range over +-0.52, ankles bend by 0.52 to 1.22 either way", JOINTS)
    joint_velocity = Var("rad/s", "joint angular velocities", JOINTS)
    foot_force = Var("N", "size of the contact force on each lower leg; 0 in the air", LEGS)
    contact_load = Var("1", "sum of the squares of all contact forces and torques, each clipped to [-1, 1]")
    healthy = Var("1", "1 while no termination condition holds, else 0")

    pairs = (
        Pair(
            "standing beats sinking", better=STANDING, worse=STANDING | {"height": 0.25, "upright": 0.0, "healthy": 1.0}
        ),
        Pair(
            "standing beats fallen", better=STANDING, worse=STANDING | {"height": 0.15, "upright": -0.9, "healthy": 0.0}
        ),
        Pair("level beats tilted", better=STANDING, worse=STANDING | {"upright": 0.2}),
        Pair("further on beats behind", better={"x_position": 3.0}, worse={"x_position": 0.0}),
        Pair("forward beats backward", better=STANDING | {"x_velocity": 1.0}, worse=STANDING | {"x_velocity": -1.0}),
        Pair(
            "fast beats standing still",
            better=STANDING | {"x_velocity": 3.0},
            worse=STANDING | {"x_velocity": 0.0},
        ),
        Pair("gentle beats full effort", better={"action": 0.1}, worse={"action": 1.0}),
    )
    invariances = (
        Shift("x_position", 3.0),
        Wrap("heading"),
    )

    ends = {"torso too low": Outside("height", low=0.2), "torso too high": Outside("height", high=1.0)}

    def reset(self, sim, draw):
        """The reference pose at x = y = 0, with noise on positions (uniform, 0.1) and velocities (normal, 0.1)."""
        return sim.qpos0 + draw.uniform(-0.1, 0.1, sim.model.nq), draw.normal(0.1, sim.model.nv)

    def variables(self, sim):
        """The declared variables; velocities from the torso's positions before and after, as Gymnasium's."""
        torso = sim.body("torso")
        velocity = (sim.field("xpos")[:, torso] - sim.before("xpos")[:, torso]) / sim.control_step_s
        forces = sim.field("cfrc_ext")
        # The lower legs have no names in the model; each follows its hip.
        feet = sim.constant([sim.body(f"aux_{leg}") + 1 for leg in (1, 2, 3, 4)])
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
            "foot_force": forces[:, feet, 3:].norm(dim=2),
            "contact_load": forces.clamp(-1.0, 1.0).square().sum((1, 2)),
            "healthy": ((height >= 0.2) & (height <= 1.0)).double(),
        }

    def observe(self, sim, variables):
        """Positions except x and y, velocities, and the contact forces and torques on all bodies clipped to [-1, 1]."""
        forces = sim.field("cfrc_ext")[:, 1:].clamp(-1.0, 1.0).flatten(1)
        return torch.cat((sim.qpos[:, 2:], sim.qvel, forces), 1)

    def fitness(self, episode):
        """Forward distance per second of a full episode [m/s]: time lost by a termination counts as standing still."""
        return episode.total(episode["x_velocity"]) / episode.max_steps

    def success(self, episode):
        """No termination for the whole episode, and forward at 1 m/s or more on average."""
        lived = (episode.lengths == episode.max_steps) & ~episode.terminated
        return lived & (self.fitness(episode) >= 1.0)

    @staticmethod
    def human_reward(x_velocity, healthy, contact_load, action):
        """The reward of Gymnasium's Ant-v5: forward speed, 1 per step alive, costs of control and contact."""
        control = -0.5 * action.square().sum(-1)
        return {"forward": x_velocity, "survive": healthy, "control": control, "contact": -5e-4 * contact_load}

    @staticmethod
    def sparse_reward(x_velocity):
        """1 while it moves forward at 1 m/s or more."""
        return {"moving": (x_velocity >= 1.0).float()}
