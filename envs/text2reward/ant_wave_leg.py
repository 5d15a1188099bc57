"""Waving a leg, one of the novel skills of Text2Reward (Xie et al., 2024), on Gymnasium's ant as it stands at first.

The scripted controller succeeds in all episodes, and so do policies of the human reward with each of three seeds.
"""

import torch

from rewardgen import Pair, PpoSettings, shipped_task

STANDING = {"upright": 1.0, "height": 0.58, "clearance": 0.33, "velocity": 0.0}


class AntWaveLeg(shipped_task("ant_lie_down")):
    """A four-legged robot that stands. Lift the front left leg off the ground and wave it, standing on the other three.

    The torso is a ball of 25 cm radius; from it four legs spread level, front left, back left, back right and front
    right, where front is the body's own +x axis. Each has a hip, which swings it sideways by up to 0.52 rad, and a knee
    0.57 m out, which bends the lower leg down by 0.52 to 1.22 rad. To wave is to swing the lifted leg from side to side
    at its hip, several times and well to either side of straight out. Without any effort it stands on all four. The
    motors' names count the legs in this order: hip_1 and ankle_1 move the front left one.
    """

    episode_steps = 100
    training = {"ppo": PpoSettings(env_steps=300_000, initial_std=0.5)}

    pairs = (
        Pair(
            "standing beats lying", better=STANDING, worse=STANDING | {"upright": 0.0, "height": 0.3, "clearance": 0.05}
        ),
        Pair(
            "the leg up beats the leg down",
            better=STANDING | {"foot_clearance": (0.25, 0.02, 0.02, 0.02)},
            worse=STANDING | {"foot_clearance": 0.02},
        ),
    )

    def scripted(self, sim, variables):
        """The neighbours of the leg step towards it and stretch, its knee lifts it, and its hip swings by itself."""
        hip, knee, spin = variables["hip"], variables["knee"], variables["hip_velocity"]
        round_ = (hip[:, 0] / 0.4).square() + (spin[:, 0] / 2.5).square()  # 1 on the circle that the swing settles to
        swing = -0.26 * hip[:, 0] + 0.05 * (1.0 - round_) * (spin[:, 0] + 0.2)
        hips = 0.4 * (sim.constant([0.0, -0.5, 0.0, 0.5]) - hip) - 0.08 * spin
        knees = 0.4 * (sim.constant([0.55, 1.15, 1.0, 1.15]) - knee) - 0.08 * variables["knee_velocity"]
        hips[:, 0] = torch.where(knee[:, 0] < 0.7, swing, hips[:, 0])
        action = torch.stack((hips, knees * sim.constant([1.0, -1.0, -1.0, 1.0])), 2).flatten(1)
        return action.roll(2, 1).clamp(-1.0, 1.0)  # actions begin with the front right leg

    @staticmethod
    def metric(upright, velocity, hip, clearance, foot_clearance, lived):
        """From 0 to 1: how high the leg is (0.1), how long it is up, the others down (0.4), how often it swings (0.5).
        Full marks are for 10 cm, for 70 % of the episode, and for six swings from one side to the other while it is up.

        The leg is up for 70 % of the episode, and swings at least six times from one side to the other meanwhile. Up is
        with its foot more than 10 cm off the ground and the other three on it, the torso within 25 degrees of upright
        and slower than 0.5 m/s. A side counts from 0.2 rad at the hip.
        """
        foot, angle = foot_clearance[:, :, 0], hip[:, :, 0]
        stands = (foot_clearance[:, :, 1:] < 0.04).all(-1) & (upright > 0.9) & (clearance > 0.1) & (lived > 0.5)
        lifted = stands & (foot > 0.1) & (velocity.norm(dim=-1) < 0.5)
        side = torch.where(lifted & (angle.abs() > 0.2), angle.sign(), 0.0)
        step = torch.ones_like(side).cumsum(1) - 1.0
        latest = side.gather(1, torch.where(side != 0.0, step, 0.0).cummax(1).values.long())
        swings = (latest[:, 1:] * latest[:, :-1] < 0.0).float().sum(1)
        share = lifted.float().mean(1)
        high = ((foot.clamp(0.0, 0.1) / 0.1) * (upright > 0.9) * lived).mean(1)
        high, up, swing = (high / 0.7).clamp(max=1.0), (share / 0.7).clamp(max=1.0), (swings / 6.0).clamp(max=1.0)
        fitness = 0.1 * high + 0.4 * up + 0.5 * swing
        success = (share > 0.7) & (swings > 5.5)
        return {"high": high, "up": up, "swing": swing, "fitness": fitness, "success": success}

    @staticmethod
    def human_reward(upright, velocity, hip, prev_hip, hip_velocity, prev_hip_velocity, foot_clearance, action):
        """Three feet down, the fourth up, and its hip going round in the plane of angle and velocity; our own.

        That is swinging; trembling goes back and forth in that plane, and sweeps no area.
        """
        feet = torch.exp(-20.0 * (foot_clearance[:, 1:] - 0.02).clamp(min=0.0).sum(1))
        stands = feet * (upright > 0.9) * torch.exp(-velocity.norm(dim=1))
        up = (foot_clearance[:, 0] / 0.15).clamp(0.0, 1.0)
        swept = hip[:, 0] * prev_hip_velocity[:, 0] - prev_hip[:, 0] * hip_velocity[:, 0]
        swing = (swept / 0.3).clamp(-1.0, 1.0)
        effort = -0.4 * action.square().mean(1)
        return {"stands": 0.5 * stands, "up": stands * up, "swing": 2.0 * stands * up * swing, "effort": effort}

    @staticmethod
    def sparse_reward(foot_clearance, upright):
        """1 while the front left foot is off the ground and the other three are on it."""
        up = (foot_clearance[:, 0] > 0.1) & (foot_clearance[:, 1:] < 0.04).all(1)
        return {"lifted": (up & (upright > 0.9)).float()}
