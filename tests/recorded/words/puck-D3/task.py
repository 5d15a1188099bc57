"""Drafted by a language model for: 'push the cylinder onto the goal and leave it there'. Nobody has read it: it was accepted by `--yes`.

`metric` is in the language of rewards: `torch`, `math`, `F` and `tolerance` are there without an import.
"""

from __future__ import annotations

from rewardgen import Body, Hinge, MujocoTask, Pair, Touching


class PushOntoGoal(MujocoTask):
    """An arm with seven joints, its shoulder at (0, -0.6, 0) above a table, its tip (tips_arm) free to go anywhere in reach.

    A cylinder of radius 0.05 m slides on the table in x and y; it begins at about (0.45, -0.30, -0.275), in the world. The
    arm should come down behind it, on the side away from the goal, push it towards +y onto the goal, a flat disc of
    radius 0.08 m centred at (0.45, -0.05, -0.323), and leave it there: at rest with its centre within 0.05 m of the
    goal's in x and y, best with the hand off it again. The goal is not to be moved. At the start the arm is stretched out
    along +x, its tip at (0.82, -0.6, 0), above the cylinder's level.
    """

    model = "gymnasium:pusher_v5.xml"
    frame_skip = 2

    episode_steps = 500
    start = {"obj_slidey": -0.25}

    cylinder = Body("object").position  # what has to get onto the goal
    goal = Body("goal").position  # where to; has to stay where it is
    tip = Body("tips_arm").position  # has to get behind the cylinder
    cylinder_velocity = Body("object").velocity  # towards the goal, then at rest
    tip_velocity = Body("tips_arm").velocity  # gentle approach and push
    touch = Touching("r_wrist_roll_link", "object")  # the push by the hand, and letting go
    pan = Hinge("r_shoulder_pan_joint").angle  # sweeps the arm to +y
    lift = Hinge("r_shoulder_lift_joint").angle  # positive lowers the arm
    upper_roll = Hinge("r_upper_arm_roll_joint").angle
    elbow = Hinge("r_elbow_flex_joint").angle
    fore_roll = Hinge("r_forearm_roll_joint").angle
    wrist = Hinge("r_wrist_flex_joint").angle
    pan_speed = Hinge("r_shoulder_pan_joint").velocity
    lift_speed = Hinge("r_shoulder_lift_joint").velocity
    upper_roll_speed = Hinge("r_upper_arm_roll_joint").velocity
    elbow_speed = Hinge("r_elbow_flex_joint").velocity
    fore_roll_speed = Hinge("r_forearm_roll_joint").velocity
    wrist_speed = Hinge("r_wrist_flex_joint").velocity

    pairs = (
        Pair(
            "the cylinder at rest on the goal beats the same at its start",
            better={"cylinder": (0.45, -0.05, -0.275), "tip": (0.45, -0.20, -0.275)},
            worse={"cylinder": (0.45, -0.30, -0.275), "tip": (0.45, -0.45, -0.275)},
        ),
    )

    @staticmethod
    def metric(
        cylinder, goal, tip, cylinder_velocity, touch, lived,
        *, near_enough: float = 0.05, at_rest: float = 0.05,
    ):
        """How much closer the cylinder is to the goal, at its best and mostly in the last second, and how well it lies on
        it then, at rest (a little less while the hand still touches it); a little for bringing the tip to the cylinder; 0 to 1.

        Throughout the last second the cylinder's centre is within 0.05 m of the goal's in x and y, its mean speed is
        below 0.05 m/s, and the goal has not been moved. The hand may rest against it.
        """
        gap = (cylinder - goal)[:, :, :2].norm(dim=-1)
        first = gap[:, :1].clamp(min=0.1)
        closer = (1.0 - (gap - 0.02) / (first - 0.02)).clamp(0.0, 1.0)
        best = closer.amax(1)
        final = closer[:, -50:].mean(1)

        reach = (cylinder - tip).norm(dim=-1)
        near = ((1.0 - reach.amin(1) / reach[:, 0].clamp(min=0.1)) / 0.65).clamp(0.0, 1.0)
        near = torch.maximum(near, (best / 0.2).clamp(0.0, 1.0))

        moved = (goal - goal[:, :1])[:, :, :2].norm(dim=-1).amax(1)
        fair = tolerance(moved, upper=0.02, margin=0.03)

        speed = cylinder_velocity.norm(dim=-1)
        rest = tolerance(speed, upper=at_rest, margin=0.15)
        touched = (touch > 0.5).float()
        on_goal = tolerance(gap, upper=near_enough, margin=0.05) * lived
        left = (on_goal * (0.3 + 0.7 * rest) * (1.0 - 0.1 * touched))[:, -50:].mean(1)

        progress = (0.1 * near + 0.15 * best + 0.35 * final + 0.4 * left) * (0.1 + 0.9 * fair)
        success = (
            (gap[:, -50:].amax(1) < near_enough)
            & (speed[:, -50:].mean(1) < at_rest)
            & (moved < 0.02)
            & (lived.amin(1) > 0.5)
        )
        return {
            "near": near,
            "closer": final,
            "left_there": left,
            "fitness": 0.75 * progress + 0.25 * success.float(),
            "success": success,
        }
