"""Drafted by a language model for: 'swing the pole up and then keep it upright, at least throughout the last two seconds of ten'. Nobody has read it: it was accepted by `--yes`.

`metric` is in the language of rewards: `torch`, `math`, `F` and `tolerance` are there without an import.
"""

from __future__ import annotations

from rewardgen import Hinge, MujocoTask, Pair, Slide, Wrap


class SwingUp(MujocoTask):
    """A cart on a horizontal rail, pushed along x by one actuator, with a pole that turns freely on a hinge on the cart.

    The pole begins hanging straight down (angle pi) and at rest. Moving the cart to and fro, it should swing the pole up,
    to either side, and then keep it upright; at least throughout the last two seconds of the ten seconds of an episode
    the pole has to stand. The angle is 0 (or any multiple of 2 pi) when the pole is upright, pi or -pi when it hangs, and
    positive when the pole leans towards +x from upright. The cart can move from -1.8 m to 1.8 m; where it is in the end
    does not matter. There is no actuator at the hinge.
    """

    model = "shipped:cartpole.xml"
    frame_skip = 2

    episode_steps = 500
    start = {"hinge": 3.14159}
    start_noise = 0.05

    angle = Hinge("hinge").angle.told("angle of the pole in rad, 0 (or a multiple of 2 pi) upright, pi hanging down; not wrapped, counts full turns")  # has to become upright and stay so
    spin = Hinge("hinge").velocity  # energy of the swing; standing still, not whirling through the top
    cart_position = Slide("slider").position  # room that is left on the rail, limits -1.8 to 1.8
    cart_velocity = Slide("slider").velocity  # how the cart pumps and catches the pole

    pairs = (
        Pair(
            "standing still upright beats hanging still",
            better={"angle": 0.0, "spin": 0.0},
            worse={"angle": 3.14159, "spin": 0.0},
        ),
        Pair(
            "standing still upright beats whirling through the top",
            better={"angle": 0.0, "spin": 0.0},
            worse={"angle": 0.0, "spin": 12.0},
        ),
    )
    invariances = (Wrap("angle"),)

    @staticmethod
    def metric(angle, spin, lived, *, lean: float = 0.26):
        """A little for how high the pole was swung (less if it whirls round and round) and for the longest time in a row
        that it was kept upright, up to two seconds; most for how much of the last two seconds it stands upright and calm;
        0 to 1.

        The pole is within 15 degrees of upright at every moment of the last two seconds of the ten.
        """
        tilt = torch.atan2(torch.sin(angle), torch.cos(angle)).abs()
        upright = ((tilt <= lean) & (lived > 0.5)).float()

        calm = tolerance(spin.abs(), upper=1.5, margin=2.5)
        stands = (tolerance(tilt, upper=lean, margin=0.4) * calm * lived)[:, -100:].mean(1)

        top = ((torch.cos(angle) + 1.0) * lived).amax(1) / (1.0 + math.cos(lean))
        turned = (angle - angle[:, :1]).abs().amax(1) / (2.0 * math.pi)
        whirl = (turned - 1.0).clamp(0.0, 1.0)
        risen = torch.maximum(top.clamp(0.0, 1.0) * (1.0 - 0.8 * whirl), stands)

        count = upright.cumsum(1)
        before = (count * (1.0 - upright)).cummax(1).values
        kept = ((count - before).amax(1) / 100.0).clamp(0.0, 1.0)

        success = upright[:, -100:].amin(1) > 0.5
        progress = 0.2 * risen + 0.1 * kept + 0.7 * stands
        fitness = 0.75 * progress + 0.25 * success.float()
        return {"risen": risen, "kept": kept, "stands": stands, "fitness": fitness, "success": success}
