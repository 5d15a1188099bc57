"""The DeepMind Control Suite's `hopper-hop`, on its own model (Tassa et al. 2018, arXiv:1801.00690).

The human reward does not reach `solved_fitness` at the shipped budget: 0.05, 0.00 and 0.00 with three seeds.
"""

import math

import torch

from rewardgen import Body, Hinge, MujocoTask, Pair, PpoSettings, Shift, Slide, Var, tolerance

JOINTS = ("waist", "hip", "knee", "ankle")
STANDING = {"height": 0.9, "upright": 1.0}
LYING = {"height": 0.1, "upright": 0.0}


class HopperHop(MujocoTask):
    """A one-legged planar robot. Get onto its foot, and hop forward (+x) at 2 m/s or more without falling over.

    It moves in the x-z plane only: a torso with a nose, a pelvis, a thigh, a calf and a foot. Four motors turn waist,
    hip, knee and ankle. It begins in any pose, in the air or on the ground, so it has to get up before it can hop.
    Nothing ends an episode.
    """

    model = "dm_control:hopper.xml"
    frame_skip = 4
    episode_steps = 1000
    current_fields = True
    best_fitness = 1.0
    solved_fitness = 0.4
    training = {"ppo": PpoSettings(env_steps=1_000_000)}

    x_position = Slide("rootx").position.told("how far the torso has come along +x since x = 0, where episodes begin")
    x_velocity = Var("m/s", "velocity of the whole robot's centre of mass along +x")
    height = Var(
        "m", "height of the torso's middle above the foot's; 0.6 or more counts as standing, below 0 is upside down"
    )
    z_velocity = Slide("rootz").velocity.told("vertical velocity of the torso, positive upwards")
    upright = Body("torso").upright.told("cosine of the torso's tilt: 1 upright, 0 lying, -1 upside down")
    pitch = Hinge("rooty").angle.told("pitch of the torso from upright, positive leaning towards +x; not wrapped")
    pitch_velocity = Hinge("rooty").velocity.told("angular velocity of the pitch, positive when tipping forward")
    joint_position = Var("rad", "joint angles, 0 straight; positive bends the knee", JOINTS)
    joint_velocity = Var("rad/s", "joint angular velocities", JOINTS)
    foot_force = Var("N", "force of the ground on the toe and on the heel; 0 in the air", ("toe", "heel"))
    foot_clearance = Var("m", "height of the foot's lowest point above the ground; about 0 in contact")

    pairs = (
        Pair("standing beats lying", better=STANDING | {"x_velocity": 1.0}, worse=LYING | {"x_velocity": 1.0}),
        Pair("forward beats backward", better=STANDING | {"x_velocity": 1.0}, worse=STANDING | {"x_velocity": -1.0}),
        Pair(
            "fast beats standing still",
            better=STANDING | {"x_velocity": 2.0},
            worse=STANDING | {"x_velocity": 0.0},
        ),
    )
    invariances = (Shift("x_position", 3.0),)

    def reset(self, sim, draw):
        """The torso at x = 0 and a height of 1 m in any direction, the joints anywhere within their limits, at rest."""
        qpos = sim.qpos0.repeat(draw.num_envs, 1)
        low, high = sim.constant(sim.model.jnt_range[3:]).T
        qpos[:, 2:3] = draw.uniform(-math.pi, math.pi, 1)
        qpos[:, 3:] = draw.uniform(low, high, len(JOINTS))
        return qpos, torch.zeros_like(sim.qvel)

    def variables(self, sim):
        """Values that are not declared by the name of a joint or body."""
        middle = sim.field("xipos")[:, :, 2]
        return {
            "x_velocity": sim.sensor("torso_subtreelinvel")[:, 0],
            "height": middle[:, sim.body("torso")] - middle[:, sim.body("foot")],
            "joint_position": sim.qpos[:, 3:],
            "joint_velocity": sim.qvel[:, 3:],
            "foot_force": torch.cat((sim.sensor("touch_toe"), sim.sensor("touch_heel")), 1),
            "foot_clearance": sim.clearance("foot"),
        }

    def observe(self, sim, variables):
        """All positions except x, all velocities, and the logarithms of the forces on toe and heel: 15 numbers."""
        return torch.cat((sim.qpos[:, 1:], sim.qvel, variables["foot_force"].log1p()), 1)

    def fitness(self, episode):
        """Mean of `x_velocity` as a share of 2 m/s, within 0 and 1, while the torso is 0.6 m above the foot.

        It is the Suite's own reward, by which it is scored; the human reward is the same.
        """
        reward = self.human_reward(episode["x_velocity"], episode["height"])["hop"]
        return episode.total(reward) / episode.max_steps

    def success(self, episode):
        """It moves forward at 1 m/s or more on average, and stands for three quarters of the time."""
        return (episode.mean(episode["x_velocity"]) >= 1.0) & (episode.share(episode["height"] >= 0.6) >= 0.75)

    @staticmethod
    def human_reward(x_velocity, height):
        """The Suite's reward (dm_control/suite/hopper.py)."""
        speed = tolerance(x_velocity, 2.0, math.inf, margin=1.0, value_at_margin=0.5, sigmoid="linear")
        return {"hop": tolerance(height, 0.6, 2.0) * speed}

    @staticmethod
    def sparse_reward(x_velocity, height):
        """1 while it stands and moves forward at 1 m/s or more."""
        return {"hopping": ((x_velocity >= 1.0) & (height >= 0.6)).float()}
