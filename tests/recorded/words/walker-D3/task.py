"""Drafted by a language model for: 'walk forward for eight seconds without falling, at 1 m/s or faster on average'. Nobody has read it: it was accepted by `--yes`.

`metric` is in the language of rewards: `torch`, `math`, `F` and `tolerance` are there without an import.
"""

from __future__ import annotations

from rewardgen import Body, Hinge, MujocoTask, Outside, Pair, Slide, Touching


class WalkForward(MujocoTask):
    """A planar biped: torso and two legs (right: thigh, leg, foot; left: thigh_left, leg_left, foot_left).

    It moves in the x-z plane only and faces +x. It starts upright at rest and should walk forward, along +x of the world,
    for the whole eight seconds of the episode, at an average of 1 m/s or more (8 m in all, the start included), without
    ever falling. Walking means steps with both feet in turn: each foot is lifted for at least 0.08 s and put down again,
    at least five times in all and at least once in every two seconds, and much of the time one foot is down and the other
    is not. Sliding, hopping with both feet together or on one leg, diving and rolling do not count. The torso's height is
    1.25 m when it stands straight.
    """

    model = "gymnasium:walker2d_v5.xml"
    frame_skip = 10

    episode_steps = 400

    x = Slide("rootx").position  # distance covered forward
    velocity = Body("torso").velocity  # forward is +x
    height = Body("torso").height  # low is fallen
    upright = Body("torso").upright  # tipped over is fallen
    spin = Body("torso").angular_velocity  # y; positive tips forwards
    right_foot = Body("foot").position  # where the steps go
    left_foot = Body("foot_left").position
    right_down = Touching("foot", "floor")  # steps
    left_down = Touching("foot_left", "floor")
    right_thigh_down = Touching("thigh", "floor")  # fallen
    left_thigh_down = Touching("thigh_left", "floor")  # fallen
    torso_down = Touching("torso", "floor")  # fallen
    right_hip = Hinge("thigh_joint").angle
    right_knee = Hinge("leg_joint").angle
    right_ankle = Hinge("foot_joint").angle
    left_hip = Hinge("thigh_left_joint").angle
    left_knee = Hinge("leg_left_joint").angle
    left_ankle = Hinge("foot_left_joint").angle
    right_hip_speed = Hinge("thigh_joint").velocity
    right_knee_speed = Hinge("leg_joint").velocity
    left_hip_speed = Hinge("thigh_left_joint").velocity
    left_knee_speed = Hinge("leg_left_joint").velocity

    ends = {
        "torso on the floor": Outside("torso_down", high=0.5),
        "sank": Outside("height", low=0.6),
        "tipped over": Outside("upright", low=0.0),
    }
    pairs = (
        Pair(
            "upright beats fallen",
            better={"upright": 1.0, "height": 1.25, "torso_down": 0.0},
            worse={"upright": 0.0, "height": 0.1, "torso_down": 1.0},
        ),
        Pair(
            "forward beats backward",
            better={"velocity": (1.0, 0.0, 0.0)},
            worse={"velocity": (-1.0, 0.0, 0.0)},
        ),
    )

    @staticmethod
    def metric(
        x, height, upright, right_down, left_down, right_thigh_down, left_thigh_down, torso_down, lived,
        *, pace: float = 1.0, steps_needed: float = 5.0, stretch: float = 0.3, single_needed: float = 0.25,
    ):
        """The average speed forward, up to 1 m/s, times how long it lasted without falling and how well it walks (both
        feet step again and again, one down while the other is up); stepping on the spot counts for a little; 0 to 1.

        It covers 1 m/s on average over all eight seconds without falling, each foot is lifted and put down at least five
        times, and in every two seconds, exactly one foot is down at least a quarter of the time, and it moves at least
        0.3 m forward in every two seconds.
        """

        def window_sum(v, n):
            c = F.pad(v.cumsum(1), (1, 0))
            return c[:, n:] - c[:, :-n]

        speed = (x[:, -1] - x[:, 0]) / (0.02 * (x.shape[1] - 1))
        forward = (speed / pace).clamp(0.0, 1.0)

        fallen = (
            (torso_down > 0.5)
            | (right_thigh_down > 0.5)
            | (left_thigh_down > 0.5)
            | (height < 0.6)
            | (upright < 0.0)
            | (lived < 0.5)
        ).float()
        up = 1.0 - fallen.cummax(1).values
        lasted = up.mean(1)

        # a step: the foot is off the floor for at least 4 control steps, then put down, before any fall
        def landings(down):
            swing = (window_sum((down < 0.5).float(), 4) > 3.5).float()
            return (torch.diff(swing, dim=1) < -0.5).float() * up[:, 4:]

        right_steps = landings(right_down)
        left_steps = landings(left_down)
        count = torch.minimum(right_steps.sum(1), left_steps.sum(1))
        often = torch.minimum(
            (window_sum(right_steps, 100) > 0.5).float().mean(1),
            (window_sum(left_steps, 100) > 0.5).float().mean(1),
        )
        single = (((right_down > 0.5) != (left_down > 0.5)).float() * up).mean(1) / lasted.clamp(min=0.01)
        in_turn = (single / single_needed).clamp(0.0, 1.0)
        walks = (count / steps_needed).clamp(0.0, 1.0) * (0.2 + 0.8 * often) * in_turn

        advance = x[:, 100:] - x[:, :-100]  # in every two seconds
        onward = (advance / stretch).clamp(0.0, 1.0).mean(1)

        not_back = tolerance(speed, lower=-0.1, upper=1000.0, margin=0.2)
        moving = forward * (0.3 + 0.7 * lasted) * (0.3 + 0.7 * walks) * (0.5 + 0.5 * onward)
        progress = 0.1 * walks * lasted * not_back + 0.9 * moving
        success = (
            (speed >= 0.99 * pace)
            & (lasted > 0.999)
            & (count >= steps_needed)
            & (often > 0.95)
            & (single > single_needed)
            & (advance.amin(1) > stretch)
        )
        return {
            "forward": forward,
            "walks": walks,
            "lasted": lasted * forward,
            "onward": onward,
            "fitness": 0.75 * progress + 0.25 * success.float(),
            "success": success,
        }
