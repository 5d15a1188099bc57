"""A flip like those of Text2Reward's hopper (Xie et al., 2024), on Gymnasium's half cheetah.

The human reward solves it with SAC (1.00, 1.00, 1.00, 0.73 and 0.97 with five seeds, 87 % success), but seldom with
PPO: 0.92, 0.75 and 1.00 after 300k steps, and 0.50 with two of five seeds after 1M.
"""

import torch

from rewardgen import Hinge, MujocoTask, Pair, PpoSettings, SacSettings, Slide, Var
from rewardgen.reward.tolerance import tolerance

JOINTS = ("back_thigh", "back_shin", "back_foot", "front_thigh", "front_shin", "front_foot")
PARTS = ("torso", "head", "bthigh", "bshin", "bfoot", "fthigh", "fshin", "ffoot")
TORSO_HEIGHT = 0.7

STANDING = {"height": 0.57, "spin": 0.0, "x_velocity": 0.0, "z_velocity": 0.0}
LYING = STANDING | {"height": 0.05, "turns": 0.5}


class CheetahFlip(MujocoTask):
    """A planar cheetah with one back and one front leg. Jump, turn over once in the air, land on its feet, stand still.

    It moves in the x-z plane only and faces +x: a level torso 1 m long with a head in front, and two legs of thigh,
    shin and foot. Six motors turn the joints. Forwards, over its nose, or backwards are alike. Neither torso nor head
    may ever touch the ground, and nothing may while it is upside down. Without any effort the springs in its joints let
    it stand.
    """

    model = "gymnasium:half_cheetah.xml"
    frame_skip = 3
    episode_steps = 100
    start = {"rootz": -0.1}
    start_noise = 0.02
    best_fitness = 1.0
    solved_fitness = 0.95
    training = {"sac": SacSettings(env_steps=100_000), "ppo": PpoSettings(env_steps=300_000)}

    turns = Var("1", "full turns of the torso since the episode began, positive nose down; 1 or -1 after a flip")
    spin = Hinge("rooty").velocity.told("angular velocity of the torso, positive nose down")
    height = Var("m", "height of the torso's centre above the ground; 0.57 standing")
    x_velocity = Slide("rootx").velocity.told("velocity of the torso's centre along +x")
    z_velocity = Slide("rootz").velocity.told("velocity of the torso's centre upwards")
    joint_position = Var("rad", "joint angles, 0 in the reference pose; positive swings the limb back", JOINTS)
    joint_velocity = Var("rad/s", "joint angular velocities", JOINTS)
    clearance = Var(
        "m", "height above the ground of each part's lowest point (b back, f front); 0 or just below in contact", PARTS
    )

    pairs = (Pair("standing after it beats lying on the back", better=STANDING | {"turns": 1.0}, worse=LYING),)

    def variables(self, sim):
        """Values that are not declared by the name of a joint or body."""
        return {
            "turns": sim.qpos[:, 2] / (2.0 * torch.pi),
            "height": TORSO_HEIGHT + sim.qpos[:, 1],
            "joint_position": sim.qpos[:, 3:],
            "joint_velocity": sim.qvel[:, 3:],
            "clearance": torch.stack([sim.clearance(each) for each in PARTS], 1),
        }

    def observe(self, sim, variables):
        """Height, sine and cosine of the pitch, turns, joint angles, all velocities, and clearances."""
        height, pitch, joints = sim.qpos[:, 1:2], sim.qpos[:, 2:3], sim.qpos[:, 3:]
        turned = variables["turns"].unsqueeze(1)
        velocities = sim.qvel.clamp(-20.0, 20.0)
        return torch.cat((height, pitch.sin(), pitch.cos(), turned, joints, velocities, variables["clearance"]), 1)

    def terminated(self, sim, variables):
        """The episode ends when the torso or the head touches the ground, or it has turned twice, either way."""
        return {
            "torso or head on the ground": variables["clearance"][:, :2].amin(1) < 1e-3,
            "turned twice": variables["turns"].abs() > 2.0,
        }

    @staticmethod
    def metric(turns, height, x_velocity, z_velocity, spin, clearance, lived, terminated):
        """From 0 to 1: a jump (0.1), the turn in the air (0.4), standing one turn further (0.5). The jump counts up to
        a clearance of 0.2 m of the lowest part. The turn, either way, ends for good where torso or head touch the
        ground, or anything does between 0.3 and 0.7 turns. Standing is over the last second, half of it for being up
        and half for being still too, and counts by as much as has been turned.

        One turn, either way, in the air, and all through the last second it stands still on its feet: the torso within
        25 degrees of level, one turn further, its centre above 0.45 m, the shins off the ground, the torso's centre
        slower than 0.3 m/s and its spin below 1 rad/s.
        """
        turns, lowest = turns.abs(), clearance.amin(-1)
        body = torch.minimum(clearance[:, :, 0], clearance[:, :, 1])
        shins = torch.minimum(clearance[:, :, 3], clearance[:, :, 6])
        feet = torch.maximum(clearance[:, :, 4], clearance[:, :, 7])
        touched = (body < 1e-3) | ((lowest < 0.02) & (turns > 0.3) & (turns < 0.7))
        clean = (touched.float().cumsum(1) < 0.5) & (lived > 0.5)
        turned = torch.where(clean, turns, 0.0).amax(1).clamp(0.0, 1.0)
        turn = (turned / 0.9).clamp(max=1.0)
        jump = (lowest * lived).amax(1).clamp(0.0, 0.2) / 0.2
        over = ((turns - 1.0).abs() < 0.07) & (height > 0.45) & (shins > 0.01) & (terminated.unsqueeze(1) < 0.5)
        slow = torch.hypot(x_velocity, z_velocity) < 0.3
        rests = over & (feet < 0.01) & slow & (spin.abs() < 1.0)
        up, still = over[:, -33:].float().mean(1), rests[:, -33:].float().mean(1)
        fitness = 0.1 * jump + 0.4 * turn + 0.25 * turn * (up + still)
        success = (turned > 0.9) & (still > 0.99)
        return {"jump": jump, "turn": turn, "up": up, "still": still, "fitness": fitness, "success": success}

    @staticmethod
    def human_reward(
        turns, prev_turns, spin, x_velocity, z_velocity, clearance, height, action, *, way_weight: float = 25.0
    ):
        """The way to one turn forwards, made high up and in the air, then standing there; our own."""
        high = ((height - 0.5) / 0.3).clamp(0.0, 1.0) * (0.3 + 0.7 * (clearance.amin(1) > 0.02))
        way = (way_weight * ((prev_turns - 1.0).abs() - (turns - 1.0).abs())).clamp(-2.5, 2.5)
        way = torch.where(way > 0.0, way * high, way)
        near = tolerance(turns, lower=0.95, upper=1.05, margin=0.15)
        tall = tolerance(height, lower=0.53, upper=0.65, margin=0.2)
        down = torch.exp(-10.0 * (clearance[:, 4].clamp(min=0.0) + clearance[:, 7].clamp(min=0.0)))
        still = torch.exp(-(x_velocity.abs() + z_velocity.abs() + 0.2 * spin.abs()))
        stands = 3.0 * near * tall * (0.3 + 0.3 * down + 0.4 * down * still)
        return {"way": way, "stands": stands, "effort": -0.01 * action.square().mean(-1)}

    @staticmethod
    def sparse_reward(turns):
        """1 while it is level one turn further, within 25 degrees."""
        return {"turned": ((turns.abs() - 1.0).abs() < 0.07).float()}
