"""The DeepMind Control Suite's `finger-turn_hard`, on its own model (Tassa et al. 2018, arXiv:1801.00690).

The human reward reaches 0.78, 0.77, 0.84 and 0.86 with SAC, in 15 to 30 minutes of a core each.
"""

import math

import torch

from rewardgen import Geom, Hinge, MujocoTask, Pair, PpoSettings, SacSettings, Var, Wrap, tolerance

RADIUS, TARGET = 0.13, 0.03
AXLE = (0.2, 0.4)
FINGER = ("proximal", "distal")


class FingerTurnHard(MujocoTask):
    """A finger of two links beside a body that turns on an axle. Turn the body until its tip is in the target.

    All moves in the x-z plane, without gravity. The finger's base is at x = -0.2, z = 0.4 m, its links are 0.18 and
    0.19 m long, and two motors turn its joints. The axle is at x = 0.2, z = 0.4 m, in the middle of the body, which is
    0.08 m wide and 0.26 m long, and stops within 0.1 s once the finger no longer pushes it. One of its ends is the tip;
    the target, a ball of radius 0.03 m, lies anywhere on the circle of the tip. Wanted is that the tip gets into the
    target and stays.
    """

    model = "dm_control:finger.xml"
    frame_skip = 2
    episode_steps = 1000
    current_fields = True
    best_fitness = 1.0
    solved_fitness = 0.8
    training = {
        "sac": SacSettings(env_steps=1_000_000, steps_per_update=2, temperature=0.2, random_steps=20_000),
        "ppo": PpoSettings(env_steps=1_000_000),
    }

    distance = Var("m", "distance of the body's tip from the edge of the target; 0 or less is inside")
    angle_to_target = Var(
        "rad", "angle by which the body has yet to turn, positive as its angle, in (-pi, pi]; 0 is the target's middle"
    )
    spinner_angle = Hinge("hinge").angle.told("angle of the body, 0 with its tip up, positive towards -x; not wrapped")
    spinner_velocity = Hinge("hinge").velocity.told("angular velocity of the body, positive as its angle")
    fingertip = Geom("fingertip").position.told("place of the fingertip's middle; y is always 0")
    finger_angle = Var(
        "rad",
        "angles of the finger's joints: proximal 0 points at the axle and -1.57 down; distal 0 is straight",
        FINGER,
    )
    finger_velocity = Var("rad/s", "angular velocities of the finger's joints", FINGER)
    touch = Var("N", "force on the fingertip's two sides; 0 if nothing touches", ("top", "bottom"))

    pairs = (
        Pair(
            "in the target beats on the far side",
            better={"distance": -0.03, "angle_to_target": 0.0, "spinner_velocity": 0.0},
            worse={"distance": 0.23, "angle_to_target": 3.1, "spinner_velocity": 0.0},
        ),
    )
    invariances = (Wrap("spinner_angle"),)

    def edit_model(self, spec):
        """The target is a body that each episode puts elsewhere, in place of the mark that the Suite moves."""
        for part in (spec.sensor("target"), spec.site("target")):
            spec.delete(part)
        body = spec.worldbody.add_body(name="target", mocap=True)
        body.add_geom(name="target", size=(TARGET, 0.0, 0.0), material="target", contype=0, conaffinity=0)

    def reset(self, sim, draw):
        """The joints at any angles at which nothing touches, at rest; the target anywhere on the circle of the tip."""
        angle = draw.uniform(-math.pi, math.pi, 1)
        target = torch.cat((AXLE[0] + RADIUS * angle.sin(), torch.zeros_like(angle), AXLE[1] + RADIUS * angle.cos()), 1)
        low, high = sim.constant(sim.model.jnt_range).T
        low[2], high[2] = -math.pi, math.pi
        qpos = sim.without_contact(lambda: draw.uniform(low, high, 3))
        return qpos, torch.zeros_like(sim.qvel), {"target": target}

    def variables(self, sim):
        """Places of tip and target on their circle."""
        tip, target = _places(sim)
        angle = torch.atan2(-target[:, 0], target[:, 1]) - sim.qpos[:, 2]
        return {
            "distance": (target - tip).norm(dim=1) - TARGET,
            "angle_to_target": torch.atan2(angle.sin(), angle.cos()),
            "finger_angle": sim.qpos[:, :2],
            "finger_velocity": sim.qvel[:, :2],
            "touch": torch.cat((sim.sensor("touchtop"), sim.sensor("touchbottom")), 1),
        }

    def observe(self, sim, variables):
        """Angles of the finger, the body's tip, all velocities, logarithms of the touch, and the target: 12 numbers."""
        tip, target = _places(sim)
        touch = variables["touch"].log1p()
        return torch.cat((sim.qpos[:, :2], tip, sim.qvel, touch, target, variables["distance"][:, None]), 1)

    def fitness(self, episode):
        """Share of the episode with the tip in the target.

        It is the Suite's own reward, by which it is scored.
        """
        return episode.share(episode["distance"] <= 0.0)

    def success(self, episode):
        """The tip is in the target during the whole of the last second."""
        return episode.last(episode["distance"] <= 0.0, seconds=1.0) == 1.0

    @staticmethod
    def human_reward(
        distance,
        prev_distance,
        angle_to_target,
        prev_angle_to_target,
        spinner_angle,
        prev_spinner_angle,
        spinner_velocity,
        fingertip,
        prev_fingertip,
        action,
    ):
        """The way of the fingertip to the body and of its tip to the target, then resting there; after the best reward
        of a recorded search. The Suite's own, 1 while the tip is in the target, is sparse.
        """
        angle = torch.stack((prev_spinner_angle, spinner_angle))
        along = torch.stack((-angle.sin(), angle.cos()), -1)
        finger = torch.stack((prev_fingertip, fingertip))
        from_axle = torch.stack((finger[:, :, 0] - 0.2, finger[:, :, 2] - 0.4), -1)
        nearest = along * (from_axle * along).sum(-1, keepdim=True).clamp(-0.09, 0.09)
        gap = ((from_axle - nearest).norm(dim=-1) - 0.1).clamp(0.0, 0.7)
        inside = tolerance(torch.stack((prev_distance, distance)), lower=-1.0, upper=-0.005, margin=0.015)
        missing = torch.stack((prev_angle_to_target, angle_to_target)).abs() + 1.2 * gap * (1.0 - inside)
        way = (12.0 * (missing[0] - missing[1])).clamp(-4.0, 4.0)
        still = tolerance(spinner_velocity, margin=4.0)
        return {
            "way": way,
            "inside": inside[1] * (0.7 + 0.3 * still),
            "effort": -0.01 * action.square().mean(-1),
        }

    @staticmethod
    def sparse_reward(distance, spinner_velocity):
        """1 while the tip rests in the target: in it, and the body turns no faster than 0.5 rad/s."""
        return {"resting": ((distance <= 0.0) & (spinner_velocity.abs() < 0.5)).float()}


def _places(sim):
    """Tip and target from the axle, (x, z) each, (N, 2) [m]."""
    angle = sim.qpos[:, 2]
    tip = RADIUS * torch.stack((-angle.sin(), angle.cos()), 1)
    return tip, sim.goal("target")[:, ::2] - sim.constant(AXLE)
