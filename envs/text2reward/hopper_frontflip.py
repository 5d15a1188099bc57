"""Text2Reward's hopper front flip: the backflip the other way round.

The human reward solves it: of fifteen seeds ten reach 0.95 to 1.00, two 0.93, and three 0.38, 0.38 and 0.52.
"""

import torch

from rewardgen import PpoSettings, Var, shipped_task
from rewardgen.reward.tolerance import tolerance

PARTS = ("foot", "leg", "thigh", "torso")

TAKE_OFF = (0.0, 1.14, -0.42, 0.0, -1.94, 0.75), (1.4, -0.2, 2.6, 0.0, 2.7, -3.6)
"""Positions [m, rad] and velocities [m/s, rad/s] of a policy that flips, just before it kicks the ground."""


class HopperFrontflip(shipped_task("hopper_backflip")):
    """A one-legged planar robot, 1.45 m tall. Jump, turn over forwards once in the air, land, and stand still.

    It moves in the x-z plane only and faces +x: a torso on top, then thigh, leg and a foot that points forward. Three
    motors turn the thigh joint (hip), leg joint (knee) and foot joint (ankle). Forwards is with the head towards +x.
    Nothing but the foot may ever touch the ground, nor the foot while the torso is on its head. Without any effort it
    topples within two seconds.
    """

    levels = (0.01, 0.1, 0.25, 0.4, 0.6, 0.8)
    training = {"ppo": PpoSettings(env_steps=1_200_000, levels=levels, anneal=0.9, anneal_from=2 / 3)}

    _way = 1.0

    turns = Var("1", "full turns of each part since the episode began, positive forwards; 1 after a front flip", PARTS)
    spin = Var("rad/s", "angular velocity of the torso, positive forwards")

    def reset(self, sim, draw):
        """The robot stands, nearly still. The lower the difficulty, the nearer it may be to a take-off: leaning
        forwards, the leg folded back, the foot about to kick the ground behind.
        """
        qpos, qvel = super().reset(sim, draw)
        if draw.difficulty < 1.0:
            share = (1.0 - draw.difficulty) * draw.uniform(0.0, 1.0, 1)
            qpos = qpos + share * (sim.constant(TAKE_OFF[0]) - qpos)
            qvel = qvel + share * (sim.constant(TAKE_OFF[1]) - qvel)
        return qpos, qvel

    @staticmethod
    def human_reward(
        turns, prev_turns, spin, com, com_velocity, height, clearance, action, *, way_weight: float = 25.0
    ):
        """The backflip's, but its way is paid in the air and high up above all; a knee near the ground costs, as the
        easiest front flip springs off it, and so does the foot on the ground while the torso is on its head.
        """
        clear = (clearance[:, 2:].amin(1) > 0.0).float()
        air = (clearance.amin(1) > 0.0).float()
        high = ((com[:, 2] - 0.27) / 0.25).clamp(0.0, 2.0)
        nearer = (prev_turns - 1.0).abs().mean(1) - (turns - 1.0).abs().mean(1)
        way = (way_weight * nearer).clamp(-1.5, 1.5)
        way = torch.where(way > 0.0, way * high * (0.1 + 0.9 * air) * clear, way * high.clamp(min=1.0))
        near = tolerance(turns, lower=0.93, upper=1.07, margin=0.15)
        tall = tolerance(height, lower=1.0, upper=1.4, margin=0.4)
        down = (clearance[:, 0] < 0.0).float()
        still = torch.exp(-(com_velocity.norm(dim=-1) + 0.2 * spin.abs()))
        there = clear * near[:, 3] * near.mean(1) * tall
        stands = 2.0 * there * (0.3 + 0.3 * down + 0.4 * down * still)
        knee = -torch.exp(-clearance[:, 2].clamp(min=0.0) / 0.02)
        on_head = (clearance[:, 0] < 0.02) & (turns[:, 3] > 0.35)
        early = -3.0 * ((0.83 - turns[:, 3]) / 0.15).clamp(0.0, 1.0) * on_head.float()
        effort = -0.005 * action.square().mean(-1)
        return {"way": way, "stands": stands, "knee": knee, "early": early, "effort": effort}
