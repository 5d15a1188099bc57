"""Drafted by a language model for: 'walk in the direction of +x without falling over, at 1 m/s or faster on average over fifty seconds'. Nobody has read it: it was accepted by `--yes`.

`metric` is in the language of rewards: `torch`, `math`, `F` and `tolerance` are there without an import.
"""

from __future__ import annotations

from rewardgen import Body, Hinge, MujocoTask, Outside, Pair, Touching


class WalkAlongX(MujocoTask):
    """An ant with a round torso and four legs, each with a hip and an ankle. It should walk in the direction of the world's +x.

    It should gain 1 m/s or more along +x on average over the whole fifty seconds (50 m or more), keep going all the
    time, roughly straight (sideways drift in y well below the distance gained in x), and never fall over. The torso starts
    upright at a height of 0.75 m, drops onto its feet and must stay off the floor. Heading is free: any side may lead.
    """

    model = "gymnasium:ant.xml"
    frame_skip = 2

    episode_steps = 2500
    start_noise = 0.01

    position = Body("torso").position  # distance gained along x, drift along y
    velocity = Body("torso").velocity  # speed along the world's x, to be paid for on the way
    height = Body("torso").height  # tells walking from lying on the belly
    upright = Body("torso").upright  # tells standing from having fallen over
    heading = Body("torso").heading  # to keep a steady course, if wanted
    spin = Body("torso").angular_velocity  # rolling, pitching and spinning
    belly_down = Touching("torso_geom", "floor")  # a torso on the floor is not walking
    foot_1 = Touching("aux_1_1", "floor")  # contacts of the feet, for the gait
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

    ends = {"fell over": Outside("upright", low=0.2)}
    pairs = (
        Pair("forward beats backward", better={"velocity": [1.0, 0.0, 0.0]}, worse={"velocity": [-1.0, 0.0, 0.0]}),
        Pair("along x beats along y", better={"velocity": [1.0, 0.0, 0.0]}, worse={"velocity": [0.0, 1.0, 0.0]}),
    )

    @staticmethod
    def metric(
        position,
        height,
        upright,
        belly_down,
        lived,
        *,
        speed: float = 1.0,
        tipped: float = 0.2,
        belly: float = 0.28,
        on_feet: float = 0.98,
        straight_cosine: float = 0.9,
        moving: float = 0.2,
        moving_share: float = 0.84,
    ):
        """How much of 1 m/s along +x the ant makes good on average over fifty seconds, upright and on its feet, and in how much of the time it is on its way; less for straying sideways, and less for falling over; 0 to 1.

        It gains 1 m/s or more along +x on average over all fifty seconds, never falls over, has its torso off the floor practically always, goes within about 26 degrees of +x, and is moving forward in most of the time and still in the last two seconds.
        """
        def per_window(values, n, first):
            """The sum over each stretch of n steps."""
            total = torch.cumsum(values, dim=1)[:, first::n]
            return torch.diff(total, dim=1, prepend=0.0 * total[:, :1])

        step = 0.02
        x = position[..., 0]
        y = position[..., 1]
        up = ((upright > tipped) * lived).cummin(1).values  # 1 until it falls or ends
        off = (belly_down < 0.5) * (height > belly)
        walking = up * off
        dx = torch.diff(x, dim=1, prepend=x[:, :1])
        gained = torch.where(dx > 0.0, dx * walking, dx)
        pace = gained.sum(1) / ((x.shape[1] - 1) * step) / speed
        windows = per_window(gained, 100, 99) / (100 * step)
        busy = (windows > moving * speed).float()
        going = (busy.mean(1) / moving_share).clamp(0.0, 1.0)
        far_x = x[:, -1] - x[:, 0]
        far_y = y[:, -1] - y[:, 0]
        cosine = far_x / torch.sqrt(far_x**2 + far_y**2 + 1e-4)
        straight = (cosine / straight_cosine).clamp(0.0, 1.0)
        feet = walking.mean(1)
        stood = up[:, -1] > 0.5
        walked = torch.minimum(pace.clamp(0.0, 1.0), going)
        success = (
            (pace >= 0.995)
            & (going >= 0.999)
            & (busy[:, -1] > 0.5)
            & (cosine >= straight_cosine)
            & (feet >= on_feet)
            & stood
        )
        progress = walked * straight * (0.5 + 0.5 * feet) * (0.75 + 0.25 * stood.float())
        return {
            "pace": pace.clamp(0.0, 1.0),
            "going": going,
            "straight": straight,
            "on_feet": feet,
            "fitness": 0.8 * progress + 0.2 * success.float(),
            "success": success,
        }
