"""The DeepMind Control Suite's `quadruped-run`, on its own model (Tassa et al. 2018, arXiv:1801.00690).

Marked slow: nobody has trained the human reward to `solved_fitness` here; the budget is a guess.
"""

# MuJoCo's compiled modules carry no type stubs.
# pyright: reportAttributeAccessIssue=false

import math
from itertools import count

import mujoco
import torch

from rewardgen import Body, MujocoTask, Pair, PpoSettings, Var, tolerance

LEGS = ("front_left", "front_right", "back_right", "back_left")
JOINTS = tuple(f"{joint}_{leg}" for leg in LEGS for joint in ("yaw", "pitch", "knee", "ankle"))
AXES = ("forward", "left", "up")
ELSEWHERE = ("wall_px", "wall_py", "wall_nx", "wall_ny", "terrain")
STANDING = {"upright": 1.0, "height": 0.5}


class QuadrupedRun(MujocoTask):
    """A heavy four-legged robot in three dimensions. Run at 5 m/s or more in the direction that it faces, upright.

    An egg-shaped torso with four legs of four joints each, which twelve servos move: for each leg its yaw, and through
    tendons its lift and its extension. A servo follows its command with a delay of 0.1 s. It begins in any
    orientation just above the ground, so it may have to roll over first. Nothing ends an episode.
    """

    model = "dm_control:quadruped.xml"
    frame_skip = 4
    episode_steps = 1000
    current_fields = True
    best_fitness = 1.0
    solved_fitness = 0.7
    slow = True
    training = {"ppo": PpoSettings(env_steps=2_000_000)}

    velocity = Var("m/s", "velocity of the torso in its own frame", AXES)
    upright = Body("torso").upright.told("cosine of the torso's tilt: 1 upright, 0 on its side, -1 on its back")
    height = Body("torso").height.told("height of the torso's middle above the ground; about 0.5 standing")
    angular_velocity = Var("rad/s", "angular velocity of the torso in its own frame", ("roll", "pitch", "yaw"))
    joint_position = Var("rad", "angles of the legs' joints, 0 in the reference pose, where it stands", JOINTS)
    joint_velocity = Var("rad/s", "angular velocities of the legs' joints", JOINTS)
    toe_clearance = Var("m", "height of each toe's lowest point above the ground; about 0 in contact", LEGS)
    toe_position = Var(
        "m", "place of each toe in the torso's frame", tuple(f"{leg}_{axis}" for leg in LEGS for axis in AXES)
    )

    pairs = (
        Pair(
            "upright beats on its back",
            better={"upright": 1.0, "velocity": (1.0, 0.0, 0.0)},
            worse={"upright": -1.0, "velocity": (1.0, 0.0, 0.0)},
        ),
        Pair(
            "forward beats backward",
            better=STANDING | {"velocity": (2.0, 0.0, 0.0)},
            worse=STANDING | {"velocity": (-2.0, 0.0, 0.0)},
        ),
        Pair(
            "fast beats standing still",
            better=STANDING | {"velocity": (4.0, 0.0, 0.0)},
            worse=STANDING | {"velocity": (0.0, 0.0, 0.0)},
        ),
    )

    def edit_model(self, spec):
        """As the Suite does for this task: a wide floor, and no walls, terrain, ball, target and range finders."""
        spec.geom("floor").size = (100.0, 100.0, 0.5)
        rangefinder = mujoco.mjtSensor.mjSENS_RANGEFINDER
        parts = [spec.body("ball"), spec.site("target"), *(spec.geom(name) for name in ELSEWHERE)]
        for part in [*(each for each in spec.sensors if each.type == rangefinder), *parts]:
            spec.delete(part)

    def reset(self, sim, draw):
        """At x = y = 0 and at rest in any orientation, the legs straight, as low as nothing touches the ground."""
        start = sim.qpos0.repeat(draw.num_envs, 1)
        orientation = draw.normal(1.0, 4)
        start[:, 3:7] = orientation / orientation.norm(dim=1, keepdim=True)
        centimetres = count()

        def higher():
            start[:, 2] = next(centimetres) / 100.0
            return start.clone()

        return sim.without_contact(higher), torch.zeros_like(sim.qvel)

    def variables(self, sim):
        """Values computed from the torso's sensors and the joints."""
        toes, torso = sim.constant([sim.body(f"toe_{leg}") for leg in LEGS]), sim.body("torso")
        frame = sim.field("xmat")[:, torso].view(-1, 3, 3)
        places = (sim.field("xpos")[:, toes] - sim.field("xpos")[:, torso, None]) @ frame
        return {
            "velocity": sim.sensor("velocimeter"),
            "angular_velocity": sim.sensor("imu_gyro"),
            "joint_position": sim.qpos[:, 7:],
            "joint_velocity": sim.qvel[:, 6:],
            "toe_clearance": torch.stack([sim.clearance(f"toe_{leg}") for leg in LEGS], 1),
            "toe_position": places.flatten(1),
        }

    def observe(self, sim, variables):
        """Joints, servos, the torso's velocity, tilt, acceleration and turning, and what the toes feel: 78 numbers."""
        names = [f"{kind}_toe_{leg}" for kind in ("force", "torque") for leg in LEGS]
        own = (sim.qpos[:, 7:], sim.qvel[:, 6:], sim.field("act"), variables["velocity"], variables["upright"][:, None])
        felt = (sim.sensor("imu_accel"), sim.sensor("imu_gyro"), *(sim.sensor(name).asinh() for name in names))
        return torch.cat((*own, *felt), 1)

    def fitness(self, episode):
        """Mean of how upright it is, 0 on its back to 1, times the forward speed as a share of 5 m/s.

        It is the Suite's own reward, by which it is scored; the human reward is the same.
        """
        return episode.total(self.human_reward(episode["velocity"], episode["upright"])["run"]) / episode.max_steps

    def success(self, episode):
        """It runs at 2 m/s or more on average, and is upright for three quarters of the time."""
        forward = episode.mean(episode["velocity"][..., 0])
        return (forward >= 2.0) & (episode.share(episode["upright"] > 0.8) >= 0.75)

    @staticmethod
    def human_reward(velocity, upright):
        """The Suite's reward (dm_control/suite/quadruped.py)."""
        level = tolerance(upright, 1.0, math.inf, margin=2.0, value_at_margin=0.0, sigmoid="linear")
        speed = tolerance(velocity[..., 0], 5.0, math.inf, margin=5.0, value_at_margin=0.5, sigmoid="linear")
        return {"run": level * speed}

    @staticmethod
    def sparse_reward(velocity, upright):
        """1 while it runs forward at 2 m/s or more, upright."""
        return {"running": ((velocity[..., 0] >= 2.0) & (upright > 0.8)).float()}
