"""Drafted by a language model for: 'pick up the ball and hold it at least 30 cm above the floor for two seconds'. Nobody has read it: it was accepted by `--yes`.

`metric` is in the language of rewards: `torch`, `math`, `F` and `tolerance` are there without an import.
"""

from __future__ import annotations

from rewardgen import Body, ContactForce, Direction, Distance, MujocoTask, Pair, Slide, Touching


class HoldBall(MujocoTask):
    """A crane: a wrist that slides up and down (z) with two fingers that slide along y and close on what is between.

    A ball of radius 0.04 m lies on the floor, straight below the open fingers. The crane should lower the wrist until
    the fingers are on both sides of the ball, close them, lift the ball and hold it in the grip with its centre at least
    0.30 m above the floor for two seconds without a break; going to 0.35 m or higher is safe. At the start the wrist is
    at 0.5 m and the fingers at 0.42 m, one at y = 0.08, the other at y = -0.08; a finger's centre is about 0.05 m from
    the ball's centre in a good grip. Throwing or flicking the ball up is not holding it.
    """

    model = "../robots/crane.xml"
    frame_skip = 5

    episode_steps = 300

    ball = Body("ball").position  # where to grip
    ball_height = Body("ball").height  # what has to rise and stay up
    ball_velocity = Body("ball").velocity  # thrown or held
    wrist_height = Body("wrist").height  # has to go down, then up
    wrist_velocity = Body("wrist").velocity  # to lift gently
    left_way = Direction("left_finger", "ball")  # to bring the finger beside the ball
    right_way = Direction("right_finger", "ball")
    left_distance = Distance("left_finger", "ball")  # reaching
    right_distance = Distance("right_finger", "ball")
    left_touch = Touching("left_finger", "ball")  # the grip
    right_touch = Touching("right_finger", "ball")
    wrist_touch = Touching("wrist", "ball")
    left_force = ContactForce("left_finger", "ball")  # how firm
    right_force = ContactForce("right_finger", "ball")
    ball_on_floor = Touching("ball", "floor")
    left = Slide("left").position  # opening of the fingers
    right = Slide("right").position
    left_speed = Slide("left").velocity
    right_speed = Slide("right").velocity

    pairs = (
        Pair(
            "held high beats let go on the floor",
            better={
                "ball": (0.0, 0.0, 0.4), "ball_height": 0.4, "wrist_height": 0.48, "ball_on_floor": 0.0,
                "left_way": (0.0, -0.048, 0.0), "right_way": (0.0, 0.048, 0.0),
                "left_distance": 0.048, "right_distance": 0.048,
                "left_touch": 1.0, "right_touch": 1.0, "left_force": 5.0, "right_force": 5.0,
                "left": -0.032, "right": -0.032,
            },
            worse={
                "ball": (0.0, 0.0, 0.04), "ball_height": 0.04, "wrist_height": 0.48, "ball_on_floor": 1.0,
                "left_way": (0.0, -0.08, -0.36), "right_way": (0.0, 0.08, -0.36),
                "left_distance": 0.369, "right_distance": 0.369,
                "left_touch": 0.0, "right_touch": 0.0, "left_force": 0.0, "right_force": 0.0,
                "left": 0.0, "right": 0.0,
            },
        ),
    )

    @staticmethod
    def metric(
        ball_height, left_distance, right_distance, left_touch, right_touch, wrist_touch, lived,
        *, high: float = 0.30, grip_share: float = 0.8,
    ):
        """A little for bringing the fingers to the ball and for gripping it, more for lifting it in the grip, most for
        how much of two seconds in a row it is held in the grip at 0.30 m or higher; 0 to 1.

        At some time the ball's centre stays at or above 0.30 m for two seconds without a break, in the grip: at least
        two parts of the gripper (normally both fingers) touch it in at least 80 % of that time.
        """
        def window_sum(v, n):
            c = F.pad(v.cumsum(1), (1, 0))
            return c[:, n:] - c[:, :-n]

        touches = left_touch + right_touch + wrist_touch
        grip = (touches > 1.5).float() * lived

        far = torch.maximum(left_distance, right_distance)
        near = (1.0 - (far - 0.06) / (0.36 - 0.06)).clamp(0.0, 1.0)
        reached = torch.maximum(near, grip).amax(1)

        gripped = (window_sum(grip, 10) / 10.0).amax(1).clamp(0.0, 1.0)  # a grip for 0.2 s, not a tap

        rise = ((ball_height - 0.045) / (high - 0.045)).clamp(0.0, 1.0)
        lifted = (window_sum(rise * (0.15 + 0.85 * grip), 10) / 10.0).amax(1).clamp(0.0, 1.0)

        up = (ball_height >= high - 0.001).float() * lived
        # two seconds in a row, less a step at each end
        held = (window_sum(up * grip, 98) / 98.0).amax(1).clamp(0.0, 1.0)
        without_break = window_sum(up, 98) > 97.5
        in_grip = window_sum(grip, 98) / 98.0 > grip_share
        success = (without_break & in_grip).float().amax(1) > 0.5

        progress = 0.1 * reached + 0.15 * gripped + 0.35 * lifted + 0.4 * held
        return {
            "reached": reached,
            "gripped": gripped,
            "lifted": lifted,
            "held": held,
            "fitness": 0.7 * progress + 0.3 * success.float(),
            "success": success,
        }
