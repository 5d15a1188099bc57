"""Drafted by a language model for: 'pick up the ball and hold it at least 30 cm above the floor for two seconds'. Nobody has read it: it was accepted by `--yes`.

`metric` is in the language of rewards: `torch`, `math`, `F` and `tolerance` are there without an import.
"""

from __future__ import annotations

from rewardgen import Body, ContactForce, Direction, MujocoTask, Pair, Slide, Touching


class PickUpBall(MujocoTask):
    """A gripper that hangs above a floor: a wrist that only moves up and down, with two flat fingers that close on y.

    A ball of radius 0.04 m and 0.04 m high (its centre) lies on the floor at the origin, straight below the gripper. The
    gripper should come down around it, close both fingers on it, lift it and hold it with its underside at least 0.30 m
    above the floor, that is its centre at least 0.34 m high, for two seconds without a break. What comes after that does
    not matter; to hold it on to the end is fine. At the start the fingers are open, the left one at y = 0.08 m, the right
    one at y = -0.08 m, their centres 0.38 m above the ball's; each pad reaches 0.06 m further down than its centre, so it
    meets the floor before the finger's centre is as low as the ball's. Both finger joints close towards negative values
    and touch a ball in the middle at about -0.03 m. The gripper cannot move in x or follow a ball that was pushed away.
    z points upwards, all directions are along the world's axes.
    """

    model = "../robots/crane.xml"
    frame_skip = 5

    episode_steps = 400
    start_noise = 0.005

    ball_height = Body("ball").height  # the ball's centre: 0.04 on the floor, 0.34 when its underside is 30 cm above it
    ball_velocity = Body("ball").velocity  # held, not thrown or shaken
    ball_on_floor = Touching("ball", "floor")  # 0 once it is picked up
    left_touches = Touching("left_finger", "ball")  # a hold needs both fingers on the ball
    right_touches = Touching("right_finger", "ball")  # a hold needs both fingers on the ball
    left_force = ContactForce("left_finger", "ball")  # how firmly it is squeezed from the left
    right_force = ContactForce("right_finger", "ball")  # how firmly it is squeezed from the right
    left_to_ball = Direction("left_finger", "ball")  # the fingers have to come down beside the ball
    right_to_ball = Direction("right_finger", "ball")  # the fingers have to come down beside the ball
    wrist_height = Body("wrist").height  # how far the gripper is down or up
    wrist_velocity = Body("wrist").velocity  # calm descent and lift
    left_closed = Slide("left").position  # positive opens, negative closes
    right_closed = Slide("right").position  # positive opens, negative closes
    left_speed = Slide("left").velocity  # closing without knocking the ball
    right_speed = Slide("right").velocity  # closing without knocking the ball
    left_on_floor = Touching("left_finger", "floor")  # pressing into the floor hinders
    right_on_floor = Touching("right_finger", "floor")  # pressing into the floor hinders

    pairs = (
        Pair(
            "held high beats held on the floor",
            better={
                "ball_height": 0.4,
                "ball_on_floor": 0.0,
                "left_touches": 1.0,
                "right_touches": 1.0,
                "left_to_ball": (0.0, -0.048, -0.03),
                "right_to_ball": (0.0, 0.048, -0.03),
                "wrist_height": 0.51,
            },
            worse={
                "ball_height": 0.04,
                "ball_on_floor": 1.0,
                "left_touches": 1.0,
                "right_touches": 1.0,
                "left_to_ball": (0.0, -0.048, -0.03),
                "right_to_ball": (0.0, 0.048, -0.03),
                "wrist_height": 0.15,
            },
        ),
    )

    @staticmethod
    def metric(
        ball_height,
        ball_velocity,
        left_touches,
        right_touches,
        left_to_ball,
        right_to_ball,
        lived,
        *,
        high: float = 0.335,
        fast: float = 0.8,
        needed: float = 98.0,
    ):
        """A little for bringing the fingers to the ball and gripping it with both, more for how high it is lifted in the
        grip for at least half a second, most for how much of two seconds in a row it is held high enough; 0 to 1.

        For two seconds in a row, at any time, both fingers grip the ball and its centre is at least 0.34 m high (its
        underside 30 cm above the floor), without violent shaking (faster than 0.8 m/s).
        """

        def longest(condition):
            count = condition.float().cumsum(1)
            before = (count * (1.0 - condition.float())).cummax(1).values
            return (count - before).amax(1)

        both = (left_touches > 0.5).float() * (right_touches > 0.5).float()
        # a contact may flicker for a few steps
        grip = F.pad(both, (4, 0)).unfold(1, 5, 1).amax(-1) * lived
        gripped = (longest(grip > 0.5) / 25.0).clamp(0.0, 1.0)

        far = torch.maximum(left_to_ball.norm(dim=-1), right_to_ball.norm(dim=-1))
        first = far[:, 0].clamp(min=0.2)
        came = ((first - far.amin(1)) / (first - 0.08)).clamp(0.0, 1.0)
        reached = torch.maximum(came, gripped)

        rise = ((ball_height - 0.05) / (high - 0.05)).clamp(0.0, 1.0) * grip
        # the lowest of each 25 steps in a row, in two stages of 13
        lifted = rise.unfold(1, 13, 1).amin(-1).unfold(1, 13, 1).amin(-1).amax(1)

        speed = ball_velocity.norm(dim=-1)
        held = (grip > 0.5) & (ball_height >= high) & (speed <= fast)
        steps = longest(held)
        hold = (steps / needed).clamp(0.0, 1.0)
        success = steps >= needed

        progress = 0.1 * reached + 0.15 * gripped + 0.3 * lifted + 0.45 * hold
        fitness = 0.75 * progress + 0.25 * success.float()
        return {
            "reached": reached,
            "gripped": gripped,
            "lifted": lifted,
            "hold": hold,
            "fitness": fitness,
            "success": success,
        }
