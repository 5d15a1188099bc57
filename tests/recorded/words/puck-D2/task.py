"""Drafted by a language model for: 'push the cylinder onto the goal and leave it there'. Nobody has read it: it was accepted by `--yes`.

`metric` is in the language of rewards: `torch`, `math`, `F` and `tolerance` are there without an import.
"""

from __future__ import annotations

from rewardgen import Body, Hinge, MujocoTask, Pair, Touching


class PushOntoGoal(MujocoTask):
    """An arm with seven joints whose base stands at y = -0.6 m, above a table with a cylinder and a flat goal. It should push the cylinder onto the goal and leave it there.

    All positions are in the world. The cylinder ("object") slides on the table; it begins at about (0.57, -0.23), 0.22 m
    from the goal at (0.45, -0.05). Only the horizontal distance (x and y) counts; the cylinder's centre always lies 0.048 m
    higher than the goal's. It should lie within 0.05 m of the goal's centre and be at rest throughout the last second. The
    goal must stay where it is. The arm's tip begins at (0.82, -0.6, 0) and has to come down to the table (z about -0.28),
    on the far side of the cylinder as seen from the goal, to push it.
    """

    model = "gymnasium:pusher_v5.xml"
    frame_skip = 2

    episode_steps = 400
    start = {"obj_slidex": 0.12, "obj_slidey": -0.18}
    start_noise = 0.005

    object = Body("object").position  # what has to be brought to the goal
    object_velocity = Body("object").velocity  # to lie still there
    goal = Body("goal").position  # where to
    tip = Body("tips_arm").position  # end of the hand, has to reach the cylinder first
    tip_velocity = Body("tips_arm").velocity  # gentle pushing, stopping
    wrist_touches = Touching("r_wrist_roll_link", "object")  # the hand pushes the cylinder
    pan = Hinge("r_shoulder_pan_joint").angle  # the arm's posture
    lift = Hinge("r_shoulder_lift_joint").angle  # as above
    elbow = Hinge("r_elbow_flex_joint").angle  # as above
    wrist = Hinge("r_wrist_flex_joint").angle  # as above
    pan_speed = Hinge("r_shoulder_pan_joint").velocity  # calm motion
    lift_speed = Hinge("r_shoulder_lift_joint").velocity  # as above

    pairs = (
        Pair(
            "on the goal beats at the start",
            better={"object": [0.45, -0.05, -0.275], "tip": [0.51, -0.14, -0.275]},
            worse={"object": [0.57, -0.23, -0.275], "tip": [0.63, -0.32, -0.275]},
        ),
    )

    @staticmethod
    def metric(
        object,
        object_velocity,
        goal,
        tip,
        lived,
        *,
        on_goal: float = 0.05,
        away: float = 0.1,
        touching: float = 0.12,
        rest_speed: float = 0.05,
        rest_speed_most: float = 0.1,
    ):
        """How far the cylinder was brought from where it began to the goal, as it lies in the last second, and whether it rests on the goal then; a little for reaching it with the tip; 0 to 1.

        The cylinder began away from the goal, and throughout the last second its centre is within 5 cm of the goal's, horizontally, and it is at rest.
        """
        now = (object[..., :2] - goal[..., :2]).norm(dim=-1)
        fixed = (object[..., :2] - goal[:, :1, :2]).norm(dim=-1)  # the goal must not come to the cylinder
        far = torch.maximum(now, fixed)
        first = far[:, 0]
        began_away = (first > away).float()
        scale = (first - on_goal).clamp(min=0.05)
        left = (far - on_goal).clamp(min=0.0)
        brought = (1.0 - left / scale[:, None]).clamp(0.0, 1.0)
        brought = brought[:, -50:].mean(1) * began_away
        speed = object_velocity[..., :2].norm(dim=-1)
        lies = tolerance(far, upper=on_goal, margin=0.04) * tolerance(speed, upper=rest_speed, margin=0.1) * lived
        rests = lies[:, -50:].mean(1) * began_away
        gap = (tip - object).norm(dim=-1)
        near = ((gap[:, 0] - gap.amin(1)) / (gap[:, 0] - touching).clamp(min=0.05)).clamp(0.0, 1.0)
        shift = (object[..., :2] - object[:, :1, :2]).norm(dim=-1).amax(1)
        reached = torch.maximum(near, (shift / 0.03).clamp(0.0, 1.0)) * began_away
        stays = (far <= on_goal) & (speed <= rest_speed_most) & (lived > 0.5)
        success = (stays.float()[:, -50:].amin(1) > 0.5) & (began_away > 0.5)
        return {
            "reached": reached,
            "brought": brought,
            "rests": rests,
            "fitness": 0.05 * reached + 0.4 * brought + 0.25 * rests + 0.3 * success.float(),
            "success": success,
        }
