"""A backflip, one of the novel skills of Text2Reward (Xie et al., 2024), on Gymnasium's hopper.

The human reward solves it with each of three seeds at the shipped budget, with success in 67 % of the episodes. An
expert policy of an earlier form of it is beside this file.
"""

import torch

from rewardgen import Body, CentreOfMass, MujocoTask, Pair, PpoSettings, Var
from rewardgen.reward.tolerance import tolerance

JOINTS = ("thigh", "leg", "foot")
PARTS = ("foot", "leg", "thigh", "torso")

STANDING = {"upright": 1.0, "height": 1.21, "spin": 0.0, "com_velocity": 0.0, "clearance": (0.0, 0.02, 0.5, 0.96)}
LYING = {"upright": 0.0, "height": 0.06, "spin": 0.0, "com_velocity": 0.0, "clearance": (0.02, 0.02, 0.02, 0.01)}


class HopperBackflip(MujocoTask):
    """A one-legged planar robot, 1.45 m tall. Jump, turn over backwards once in the air, land, and stand still.

    It moves in the x-z plane only and faces +x: a torso on top, then thigh, leg and a foot that points forward. Three
    motors turn the thigh joint (hip), leg joint (knee) and foot joint (ankle). Backwards is with the head towards -x.
    Nothing but the foot may ever touch the ground, nor the foot while the torso is on its head. Without any effort it
    topples within two seconds.
    """

    model = "gymnasium:hopper.xml"
    frame_skip = 10
    episode_steps = 150
    best_fitness = 1.0
    solved_fitness = 0.95
    training = {"ppo": PpoSettings(env_steps=300_000)}

    _way = -1.0

    turns = Var("1", "full turns of each part since the episode began, positive backwards; 1 after one backflip", PARTS)
    spin = Var("rad/s", "angular velocity of the torso, positive backwards")
    upright = Body("torso").upright
    height = Body("torso").height.told("height of the torso's centre above the ground; 1.21 standing straight")
    com = CentreOfMass("torso").position.told("centre of mass in the world; its z is 0.55 standing straight")
    com_velocity = CentreOfMass("torso").velocity.told("velocity of the centre of mass along the world's axes")
    joint_position = Var(
        "rad", "joint angles, 0 straight: negative swings thigh and leg back, positive lifts the toes", JOINTS
    )
    joint_velocity = Var("rad/s", "joint angular velocities", JOINTS)
    clearance = Var("m", "height above the ground of each part's lowest point; 0 or just below in contact", PARTS)

    pairs = (
        Pair("standing after it beats lying", better=STANDING | {"turns": 1.0}, worse=LYING | {"turns": 0.75}),
        Pair("standing after it beats before it", better=STANDING | {"turns": 1.0}, worse=STANDING | {"turns": 0.0}),
        Pair("its way round beats the other", better=STANDING | {"turns": 1.0}, worse=STANDING | {"turns": -1.0}),
    )

    def variables(self, sim):
        """Values that are not declared by a part's name; turns in the flip's direction are positive."""
        qpos = sim.qpos
        pitches = torch.cumsum(qpos[:, 2:] * sim.constant([1.0, -1.0, -1.0, -1.0]), 1)  # of the parts, torso first
        return {
            "turns": self._way * pitches.flip(1) / (2.0 * torch.pi),
            "spin": self._way * sim.qvel[:, 2],
            "joint_position": qpos[:, 3:],
            "joint_velocity": sim.qvel[:, 3:],
            "clearance": torch.stack([sim.clearance(f"{each}_geom") for each in PARTS], 1),
        }

    def observe(self, sim, variables):
        """Height, sine and cosine of the pitch, turns of the torso, joint angles, all velocities, and clearances."""
        height, pitch, joints = sim.qpos[:, 1:2], sim.qpos[:, 2:3], sim.qpos[:, 3:]
        turned = variables["turns"][:, 3:]
        velocities = sim.qvel.clamp(-10.0, 10.0)
        return torch.cat((height, pitch.sin(), pitch.cos(), turned, joints, velocities, variables["clearance"]), 1)

    def terminated(self, sim, variables):
        """The episode ends when the torso touches the ground, or has turned twice, either way."""
        return {
            "torso on the ground": variables["clearance"][:, 3] < 1e-3,
            "turned twice": variables["turns"][:, 3].abs() > 2.0,
        }

    @staticmethod
    def metric(turns, height, com_velocity, spin, clearance, lived, terminated):
        """From 0 to 1: a jump (0.1), the turn in the air of the part that turns least (0.4), standing one turn further
        (0.5). The jump counts up to a clearance of 0.2 m of the lowest part. The turn ends for good where thigh or
        torso touch the ground, or the foot does between 0.2 and 0.8 turns of the torso. Standing is over the last
        second, half of it for being up and half for being still too, and counts by as much as has been turned.

        One turn of all parts in the air, and all through the last second it stands still on its foot: the torso within
        25 degrees of upright, one turn further, its centre above 1 m, the centre of mass slower than 0.3 m/s and the
        torso's spin below 1 rad/s.
        """
        torso, foot, body = turns[:, :, 3], clearance[:, :, 0], clearance[:, :, 2:].amin(-1)
        touched = (body < 1e-3) | ((foot < 0.02) & (torso > 0.2) & (torso < 0.8))
        clean = (touched.float().cumsum(1) < 0.5) & (lived > 0.5)
        turned = torch.where(clean, turns.amin(-1), 0.0).amax(1).clamp(0.0, 1.0)
        turn = (turned / 0.9).clamp(max=1.0)
        jump = (clearance.amin(-1) * lived).amax(1).clamp(0.0, 0.2) / 0.2
        over = ((torso - 1.0).abs() < 0.07) & (height > 1.0) & (terminated.unsqueeze(1) < 0.5)
        rests = over & (foot < 1e-3) & (com_velocity.norm(dim=-1) < 0.3) & (spin.abs() < 1.0)
        up, still = over[:, -50:].float().mean(1), rests[:, -50:].float().mean(1)
        fitness = 0.1 * jump + 0.4 * turn + 0.25 * turn * (up + still)
        success = (turned > 0.9) & (still > 0.99)
        return {"jump": jump, "turn": turn, "up": up, "still": still, "fitness": fitness, "success": success}

    @staticmethod
    def human_reward(
        turns, prev_turns, spin, com, com_velocity, height, clearance, action, *, way_weight: float = 25.0
    ):
        """The way to one turn, made high up, then standing there; after the best reward of a recorded search."""
        clear = (clearance[:, 2:].amin(1) > 0.0).float()
        high = ((com[:, 2] - 0.27) / 0.25).clamp(0.0, 1.0)
        nearer = (prev_turns - 1.0).abs().mean(1) - (turns - 1.0).abs().mean(1)
        way = (way_weight * nearer).clamp(-1.5, 1.5)
        way = torch.where(way > 0.0, way * high * clear, way)
        near = tolerance(turns, lower=0.93, upper=1.07, margin=0.15)
        tall = tolerance(height, lower=1.0, upper=1.4, margin=0.4)
        down = (clearance[:, 0] < 0.0).float()
        still = torch.exp(-(com_velocity.norm(dim=-1) + 0.2 * spin.abs()))
        there = clear * near[:, 3] * near.mean(1) * tall
        stands = 2.0 * there * (0.3 + 0.3 * down + 0.4 * down * still)
        return {"way": way, "stands": stands, "effort": -0.005 * action.square().mean(-1)}

    @staticmethod
    def sparse_reward(turns):
        """1 while all parts are one turn further, within 25 degrees."""
        return {"turned": ((turns - 1.0).abs() < 0.07).all(1).float()}
