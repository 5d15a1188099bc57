"""Drafted by a language model for: 'keep the pole upright while the cart sways from side to side, half a metre to each side of the middle'. Nobody has read it: it was accepted by `--yes`.

`metric` is in the language of rewards: `torch`, `math`, `F` and `tolerance` are there without an import.
"""

from __future__ import annotations

from rewardgen import Effort, Hinge, MujocoTask, Outside, Pair, Slide


class SwayUpright(MujocoTask):
    """A cart on a straight rail along the world's x axis carries a pole on a free hinge; a force pushes the cart.

    The pole starts upright above the cart, which rests in the middle of the rail (x = 0). The pole should stay upright
    for the whole episode of 20 s while the cart sways from side to side, again and again: to x = +0.5 m, back through
    the middle to x = -0.5 m, and so on until the end, no matter to which side first. Any pace will do that takes the
    cart from one side to the other within 5 s. It should turn round near half a metre, neither much earlier nor much
    later. The pole's angle is 0 when it is upright and positive when its tip leans towards +x. The rail ends at 1.8 m.
    """

    model = "shipped:cartpole.xml"
    frame_skip = 2

    episode_steps = 1000
    start_noise = 0.01

    x = Slide("slider").position  # where the cart is: 0 in the middle, should swing between -0.5 and 0.5
    speed = Slide("slider").velocity  # which way and how fast the cart sways
    angle = Hinge("hinge").angle  # the pole's lean, 0 upright
    turning = Hinge("hinge").velocity  # how fast the pole tips, for balancing
    push = Effort("force")  # for a calm use of the motor

    ends = {
        "the pole fell": Outside("angle", low=-1.3, high=1.3),
        "the cart ran off": Outside("x", low=-1.6, high=1.6),
    }
    pairs = (
        Pair("upright beats fallen", better={"angle": 0.0, "turning": 0.0}, worse={"angle": 1.1, "turning": 0.0}),
        Pair("within the sway beats far out", better={"x": 0.4, "speed": 0.0}, worse={"x": 1.4, "speed": 0.0}),
    )

    @staticmethod
    def metric(
        x,
        angle,
        lived,
        *,
        reach: float = 0.42,
        most: float = 0.62,
        lean: float = 0.45,
        swing_steps: float = 250.0,
        rest_range: float = 0.12,
    ):
        """How upright the pole stays, and how steadily the cart sways to both sides; 0 to 1.

        `balanced` is the share of the 20 s in which the pole is upright (full up to a lean of 0.25 rad, fading beyond).
        `sways` is the share of the time after the first 5 s in which the cart came over to the other side no longer
        than 5 s ago, averaged over sides that begin 0.15, 0.3 and 0.42 m from the middle, so that smaller sways count
        in part. `moving` is the share of the time without long rests: within any 2.56 s the cart covers a range of more
        than 0.12 m (the first 2 s are free). `inside` is 1 if the cart never goes farther than 0.62 m from the middle
        and falls with the farthest distance beyond it. `fitness` multiplies them, with floors, and adds 0.25 for
        success; balancing in the middle without swaying earns little.

        It is a success when the episode lasts its whole 20 s, the pole never leans by more than 0.45 rad, the cart keeps
        changing sides to the end, each time within 5 s and to at least 0.42 m from the middle, without resting
        for long, and it never goes beyond 0.62 m.
        """
        tilt = torch.atan2(torch.sin(angle), torch.cos(angle)).abs()
        balanced = (tolerance(tilt, upper=0.25, margin=0.4) * lived).mean(1)

        step = torch.ones_like(x).cumsum(1)

        def swaying(distance):
            # The side last visited: 0 none yet, 1 the negative, 2 the positive one.
            key = (2.0 * step + (x > 0.0).float()) * (x.abs() >= distance).float()
            last = key.cummax(1).values
            side = (last > 0.0).float() * (1.0 + torch.remainder(last, 2.0))
            changed = (torch.diff(F.pad(side, (1, 0)), dim=1) != 0.0).float()
            since = step - (changed * step).cummax(1).values
            return ((since <= swing_steps).float() * lived)[:, 250:]

        full = swaying(reach)
        sways = (swaying(0.15).mean(1) + swaying(0.3).mean(1) + full.mean(1)) / 3.0

        # The range that the cart covers in every window of 128 steps, by doubling.
        high = x
        low = x
        for k in (1, 2, 4, 8, 16, 32, 64):
            high = torch.maximum(high[:, k:], high[:, :-k])
            low = torch.minimum(low[:, k:], low[:, :-k])
        moving = ((high - low > rest_range).float() * lived[:, 127:])[:, 100:].mean(1)

        farthest = x.abs().amax(1)
        inside = tolerance(farthest, upper=most, margin=0.4)

        success = (
            (lived.amin(1) > 0.5)
            & (tilt.amax(1) <= lean)
            & (full.amin(1) > 0.5)
            & (moving > 0.97)
            & (farthest <= most)
        )
        sway = sways * (0.3 + 0.7 * moving) * (0.3 + 0.7 * inside)
        progress = balanced * (0.06 + 0.06 * moving + 0.88 * sway)
        return {
            "balanced": balanced,
            "sways": sways,
            "moving": moving,
            "inside": inside,
            "fitness": 0.75 * progress + 0.25 * success.float(),
            "success": success,
        }
