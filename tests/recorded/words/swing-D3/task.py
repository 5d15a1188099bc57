"""Drafted by a language model for: 'swing the pole up and then keep it upright, at least throughout the last two seconds of ten'. Nobody has read it: it was accepted by `--yes`.

`metric` is in the language of rewards: `torch`, `math`, `F` and `tolerance` are there without an import.
"""

from __future__ import annotations

from rewardgen import Hinge, MujocoTask, Pair, Slide, Wrap


class SwingUp(MujocoTask):
    """A cart on a rail along x with a pole on a free hinge; the only actuator pushes the cart along x.

    The pole begins hanging straight down at rest (angle 3.14 rad) and should be swung up, to either side, and then be
    kept upright (angle 0 or any whole number of turns) until the ten seconds are over: at least throughout the last two
    seconds within 0.35 rad of the vertical. A positive angle leans towards +x. The cart can move 1.8 m to either side of
    the middle of the rail, where it begins. Whirling through the top does not count.
    """

    model = "shipped:cartpole.xml"
    frame_skip = 2

    episode_steps = 500
    start = {"hinge": 3.14159}
    start_noise = 0.01

    angle = Hinge("hinge").angle.told(
        "angle of the pole: 0 (or any whole turn of 6.283) straight up, 3.142 hanging straight down, positive towards +x from the top"
    )  # what has to become upright
    spin = Hinge("hinge").velocity  # energy on the way up, rest at the top
    cart = Slide("slider").position  # room left on the rail
    cart_speed = Slide("slider").velocity  # to catch the pole
    push = Slide("slider").force  # effort, smoothness

    pairs = (
        Pair("upright beats hanging", better={"angle": 0.0, "spin": 0.0}, worse={"angle": 3.14159, "spin": 0.0}),
    )
    invariances = (Wrap("angle"),)

    @staticmethod
    def metric(angle, spin, lived, *, lean: float = 0.35, calm: float = 1.5):
        """How high the pole has been swung, how much of its best two seconds it is upright and calm, and, most of all,
        how much of the last two seconds; 0 to 1.

        It is within 0.35 rad of upright throughout the last two of the ten seconds.
        """

        def window_sum(v, n):
            c = F.pad(v.cumsum(1), (1, 0))
            return c[:, n:] - c[:, :-n]

        cosine = torch.cos(angle)
        off = torch.acos(cosine.clamp(-1.0, 1.0))  # how far from upright, 0 to pi
        raised = (0.5 + 0.5 * cosine).amax(1).clamp(0.0, 1.0)

        steady = tolerance(spin.abs(), upper=calm, margin=2.5)
        up = tolerance(off, upper=lean, margin=0.35) * (0.3 + 0.7 * steady) * lived
        balanced = (window_sum(up, 100) / 100.0).amax(1).clamp(0.0, 1.0)
        kept = up[:, -100:].mean(1)

        success = (off[:, -98:].amax(1) < lean) & (lived.amin(1) > 0.5)
        progress = 0.2 * raised + 0.25 * balanced + 0.55 * kept
        return {
            "raised": raised,
            "balanced": balanced,
            "kept": kept,
            "fitness": 0.6 * progress + 0.4 * success.float(),
            "success": success,
        }
