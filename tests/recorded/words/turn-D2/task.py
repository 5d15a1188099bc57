"""Drafted by a language model for: 'turn once around to the left, roughly on the spot, then stand still'. Nobody has read it: it was accepted by `--yes`.

`metric` is in the language of rewards: `torch`, `math`, `F` and `tolerance` are there without an import.
"""

from __future__ import annotations

from rewardgen import Body, Hinge, MujocoTask, Outside, Pair, Touching


class TurnOnceLeft(MujocoTask):
    """An ant with a round torso and four legs, each with a hip and an ankle. It should turn once around to the left, roughly on the spot, and then stand still.

    Left is counter-clockwise seen from above, from the world's x to y: turns goes from 0 to 1 (one full turn, neither less
    nor more), and stays there. The torso should stay within 0.8 m of where it began, horizontally, never tip over, and
    throughout the last two of the twelve seconds stand still, upright, on its legs, with the torso off the floor.
    """

    model = "gymnasium:ant.xml"
    frame_skip = 2

    episode_steps = 600
    start_noise = 0.01

    turns = Body("torso").turns("z")  # full turns to the left since the start, not wrapped
    position = Body("torso").position  # to stay on the spot
    velocity = Body("torso").velocity  # to stand still
    angular_velocity = Body("torso").angular_velocity  # z is the speed of turning to the left
    upright = Body("torso").upright  # tells standing from having tipped over
    height = Body("torso").height  # tells standing from lying on the belly
    belly_down = Touching("torso_geom", "floor")  # a torso on the floor does not stand
    foot_1 = Touching("aux_1_1", "floor")  # contacts of the feet, for stepping
    foot_2 = Touching("aux_2_1", "floor")  # as above
    foot_3 = Touching("aux_3_1", "floor")  # as above
    foot_4 = Touching("aux_4_1", "floor")  # as above
    hip_1 = Hinge("hip_1").angle  # the legs' posture
    hip_2 = Hinge("hip_2").angle  # as above
    hip_3 = Hinge("hip_3").angle  # as above
    hip_4 = Hinge("hip_4").angle  # as above
    ankle_1 = Hinge("ankle_1").angle  # as above
    ankle_2 = Hinge("ankle_2").angle  # as above
    ankle_3 = Hinge("ankle_3").angle  # as above
    ankle_4 = Hinge("ankle_4").angle  # as above

    ends = {"tipped over": Outside("upright", low=0.0)}
    pairs = (
        Pair("a full turn beats none", better={"turns": 1.0}, worse={"turns": 0.0}),
        Pair("a full turn beats two", better={"turns": 1.0}, worse={"turns": 2.0}),
        Pair("half a turn left beats half a turn right", better={"turns": 0.5}, worse={"turns": -0.5}),
    )

    @staticmethod
    def metric(
        turns,
        position,
        velocity,
        angular_velocity,
        upright,
        height,
        belly_down,
        lived,
        *,
        exact: float = 0.085,
        excess: float = 0.25,
        spot: float = 0.8,
        tipped: float = 0.3,
        standing: float = 0.85,
        belly: float = 0.28,
        stands_share: float = 0.9,
    ):
        """How close the turn to the left comes to exactly one full turn as it is in the last two seconds (turning on or to the right counts against it), times how well it stayed on the spot and upright, and times how much of the last two seconds it stands still; 0 to 1.

        Throughout the last two seconds it is within about 30 degrees of one full turn to the left and practically always stands still, upright with its torso off the floor; it never turned more than a quarter turn too far or to the right, never strayed more than 0.8 m, and never tipped over.
        """
        tail = turns[:, -100:]
        most = turns.amax(1)
        least = turns.amin(1)
        off = ((tail - 1.0).abs() - exact).clamp(min=0.0) / (1.0 - exact)
        turned = (1.0 - off).clamp(0.0, 1.0).mean(1)
        too_far = tolerance(most, lower=-10.0, upper=1.0 + excess, margin=0.5)
        too_right = tolerance(least, lower=-excess, upper=10.0, margin=0.5)
        turned = turned * too_far * too_right
        strayed = (position[..., :2] - position[:, :1, :2]).norm(dim=-1).amax(1)
        on_spot = tolerance(strayed, upper=spot, margin=1.0)
        up = ((upright > tipped) * lived).cummin(1).values
        safe = 0.3 + 0.7 * up.mean(1)
        rate = (tail - turns[:, -110:-10]).abs() / 0.2  # turns per second
        calm = (
            tolerance(velocity[:, -100:].norm(dim=-1), upper=0.2, margin=0.4)
            * tolerance(angular_velocity[:, -100:].norm(dim=-1), upper=0.5, margin=1.0)
            * tolerance(rate, upper=0.06, margin=0.15)
        )
        on_legs = (upright > standing) * (height > belly) * (belly_down < 0.5) * lived
        stands = (calm * on_legs[:, -100:]).mean(1)
        success = (
            ((tail - 1.0).abs().amax(1) <= exact)
            & (most <= 1.0 + excess)
            & (least >= -excess)
            & (strayed <= spot)
            & (up[:, -1] > 0.5)
            & (stands >= stands_share)
        )
        progress = turned * on_spot * safe * (0.4 + 0.6 * stands)
        return {
            "turned": turned,
            "on_spot": on_spot,
            "upright": up.mean(1),
            "stands": stands,
            "fitness": 0.75 * progress + 0.25 * success.float(),
            "success": success,
        }
