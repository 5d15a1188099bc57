"""Drafted by a language model for: 'push the cylinder onto the goal and leave it there'. Nobody has read it: it was accepted by `--yes`.

`metric` is in the language of rewards: `torch`, `math`, `F` and `tolerance` are there without an import.
"""

from __future__ import annotations

from rewardgen import Body, Direction, Hinge, MujocoTask, Pair, Touching


class PushOntoGoal(MujocoTask):
    """A fixed arm with seven joints, its shoulder at (0, -0.6, 0), above a table whose top is at z = -0.325 m.

    It should push the cylinder (radius 0.05 m, height 0.1 m, sliding on the table without tipping or turning) onto the
    goal, a flat disc of radius 0.08 m on the table that nothing can push, and leave it there: at rest on the disc to
    the end. The hand may stay close to it; best it lets go of it, but it need not. At the start the cylinder is 0.25 m short of the goal, on the side of the shoulder, so it
    has to go 0.25 m along the world's +y; the arm is stretched out along +x, 0.275 m above the cylinder's middle, and
    has to come down behind the cylinder (at smaller y) first. The hand is a fork that opens along the forearm: a cross
    bar through the hand's centre, and two prongs 0.2 m apart which reach 0.1 m further; only the
    fork can touch the cylinder, the rest of the arm passes through it. All directions are along the
    world's axes. On the goal means that the horizontal distance (x and y only) between the two centres is small; the
    vertical part of object_to_goal is always -0.048 m.
    """

    model = "gymnasium:pusher_v5.xml"
    frame_skip = 2

    episode_steps = 300
    start = {"obj_slidey": -0.25}
    start_noise = 0.02

    object_to_goal = Direction("object", "goal")  # x and y have to become 0 and stay so
    object_velocity = Body("object").velocity  # it has to rest on the goal, not pass over it
    hand_to_object = Direction("tips_arm", "object")  # the hand has to come to the cylinder first
    hand_to_goal = Direction("tips_arm", "goal")  # tells whether the hand is behind the cylinder as seen from the goal
    hand_position = Body("tips_arm").position  # height above the table, withdrawing
    hand_velocity = Body("tips_arm").velocity  # slow approach, slow push
    hand_touches = Touching("r_wrist_roll_link", "object")  # pushing; best over at the end, though the hand may rest against it
    hand_on_table = Touching("r_wrist_roll_link", "table")  # scraping along the table hinders
    elbow_position = Body("r_elbow_flex_link").position  # where the arm is bent
    pan = Hinge("r_shoulder_pan_joint").angle  # swings the arm sideways, positive towards the goal
    pan_speed = Hinge("r_shoulder_pan_joint").velocity  # how fast it swings
    lift = Hinge("r_shoulder_lift_joint").angle  # positive lowers the arm
    upper_roll = Hinge("r_upper_arm_roll_joint").angle  # the plane in which the elbow bends
    elbow = Hinge("r_elbow_flex_joint").angle  # reach of the hand
    wrist = Hinge("r_wrist_flex_joint").angle  # direction of the prongs

    pairs = (
        Pair(
            "on the goal beats short of it",
            better={"object_to_goal": (0.0, 0.0, -0.048)},
            worse={"object_to_goal": (0.0, 0.25, -0.048)},
        ),
        Pair(
            "resting on the goal beats sliding over it",
            better={"object_to_goal": (0.0, 0.0, -0.048), "object_velocity": (0.0, 0.0, 0.0)},
            worse={"object_to_goal": (0.0, 0.0, -0.048), "object_velocity": (0.0, 0.6, 0.0)},
        ),
    )

    @staticmethod
    def metric(
        object_to_goal,
        object_velocity,
        hand_to_object,
        hand_touches,
        *,
        near: float = 0.04,
        slow: float = 0.05,
        at_hand: float = 0.14,
    ):
        """How much of the way to the goal the cylinder has come and kept in the last second, less if it still moves then,
        and how much of that second it rests on the goal; a little for bringing the hand to the cylinder and for having
        let go of it in the last half second; 0 to 1.

        Throughout the last second the cylinder's centre is horizontally within 0.04 m of the goal's centre and at rest
        (slower than 0.05 m/s, straying less than 0.02 m). The hand may rest against it or be away.
        """
        offset = object_to_goal[..., :2]
        away = offset.norm(dim=-1)
        first = away[:, 0].clamp(min=0.1)
        last = away[:, -50:]
        speed = object_velocity[..., :2].norm(dim=-1)[:, -50:]
        calm = tolerance(speed, upper=slow, margin=0.1)
        way = ((first - last.mean(1)) / (first - near)).clamp(0.0, 1.0)
        brought = way * (0.4 + 0.6 * calm.mean(1))

        hand = hand_to_object.norm(dim=-1)
        hand_first = hand[:, 0].clamp(min=at_hand + 0.1)
        came = ((hand_first - hand.amin(1)) / (hand_first - at_hand)).clamp(0.0, 1.0)
        reached = torch.maximum(came, way)

        on = tolerance(last, upper=near, margin=0.04)
        rests = (on * calm).mean(1)

        let_go = (1.0 - hand_touches[:, -25:].mean(1)).clamp(0.0, 1.0)

        end = offset[:, -50:]
        strayed = (end.amax(1) - end.amin(1)).norm(dim=-1)
        success = (last.amax(1) <= near) & (speed.amax(1) <= slow) & (strayed < 0.02)

        progress = 0.1 * reached + 0.5 * brought + 0.4 * rests * (0.85 + 0.15 * let_go)
        fitness = 0.75 * progress + 0.25 * success.float()
        return {
            "reached": reached,
            "brought": brought,
            "rests": rests,
            "left": rests * let_go,
            "fitness": fitness,
            "success": success,
        }
