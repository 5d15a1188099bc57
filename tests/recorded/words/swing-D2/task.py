"""Drafted by a language model for: 'swing the pole up and then keep it upright, at least throughout the last two seconds of ten'. Nobody has read it: it was accepted by `--yes`.

`metric` is in the language of rewards: `torch`, `math`, `F` and `tolerance` are there without an import.
"""

from __future__ import annotations

from rewardgen import Hinge, MujocoTask, Pair, Site, Slide


class SwingUp(MujocoTask):
    """A cart on a rail along the world's x, with a pole hinged to it. It should swing the pole up from below and then keep it upright.

    The hinge's angle is 0 with the pole upright and pi or -pi with the pole hanging. Episodes begin with the pole upright,
    so it has to come down first: it must hang (135 degrees or more from the top) at some time, then be swung up, and be
    upright, within 13 degrees, throughout at least the last two of the ten seconds. Holding it up from the beginning, without
    a swing-up, counts for nothing, and neither does whirling through the top. The angle is not wrapped: a pole that stands
    upright at 2 pi or -2 pi has gone through the bottom, one at 0 may never have left the top.
    """

    model = "../../../../envs/cartpole.xml"
    frame_skip = 2

    episode_steps = 500
    start_noise = 0.05

    angle = Hinge("hinge").angle  # 0 is upright, pi hanging, not wrapped
    spin = Hinge("hinge").velocity  # to pump up the swing and to come to rest at the top
    tip = Site("tip").position  # z is 1.8 m at the top, 0.2 m hanging
    cart = Slide("slider").position  # to stay off the stops
    cart_velocity = Slide("slider").velocity  # to come to rest
    force = Slide("slider").force  # effort on the cart

    pairs = (
        Pair("up after a swing beats hanging", better={"angle": 6.2832}, worse={"angle": 3.1416}),
        Pair("up after a swing beats level", better={"angle": 6.2832}, worse={"angle": 4.7124}),
    )

    @staticmethod
    def metric(
        angle,
        lived,
        *,
        hanging: float = -0.7,
        standing: float = 0.975,
        hold_steps: float = 100.0,
        calm_rate: float = 1.5,
    ):
        """Above all how long the pole, after it had hung, stands upright without a break up to the end of the episode (two seconds count fully); then the longest such time anywhere, and how high it was brought in the last five seconds without whirling; 0 to 1.

        The pole hung at some time (135 degrees or more from the top), and after that it is within 13 degrees of upright at every step of the last two seconds.
        """
        up = torch.cos(angle)
        hung = (up < hanging).float().cummax(1).values  # 1 since it first hung
        holds = (up >= standing).float() * hung * lived
        counted = torch.cumsum(holds, dim=1)
        run = counted - (counted * (1.0 - holds)).cummax(1).values  # steps upright without a break
        longest = (run.amax(1) / hold_steps).clamp(0.0, 1.0)
        final = (run[:, -1] / hold_steps).clamp(0.0, 1.0)
        rate = (angle[:, 10:] - angle[:, :-10]).abs() / 0.2  # over 0.2 s, blind to jitter
        calm = tolerance(rate, upper=calm_rate, margin=2.5)
        after = (hung * lived)[:, 10:] * calm
        height = ((up[:, 10:] - hanging) / (standing - hanging)).clamp(0.0, 1.0)
        risen = (height * after)[:, -250:].amax(1)
        near = tolerance(up[:, 10:], lower=standing, upper=2.0, margin=0.1) * after
        kept = near[:, -100:].mean(1)
        success = run[:, -1] > hold_steps - 0.5
        fitness = 0.1 * risen + 0.2 * longest + 0.3 * final + 0.1 * kept + 0.3 * success.float()
        return {
            "hung": hung[:, -1],
            "risen": risen,
            "longest": longest,
            "final": final,
            "kept": kept,
            "fitness": fitness,
            "success": success,
        }
