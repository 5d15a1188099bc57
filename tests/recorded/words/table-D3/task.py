"""Drafted by a language model for: 'push the red box onto the green mark without moving the blue box'. Nobody has read it: it was accepted by `--yes`.

`metric` is in the language of rewards: `torch`, `math`, `F` and `tolerance` are there without an import.
"""

from __future__ import annotations

from rewardgen import Body, ContactForce, MujocoTask, Pair, Site, Touching


class PushRed(MujocoTask):
    """A hand (an upright cylinder of radius 0.03 m) that slides over a table along x and y, with two boxes of 0.08 m.

    It should push the red box, which begins at (0, 0), onto the green mark at (0.3, 0.25), both in the world's x and y,
    and leave it there, without moving the blue box, which stands at (0, -0.25). The hand begins at (-0.3, 0) and can
    reach x from -0.7 to 0.7 and y from -0.6 to 0.6; it can only push, so it has to get behind the box, on the side away
    from the mark, and to go round it to change the direction of the push.
    """

    model = "../robots/table.xml"
    frame_skip = 5

    episode_steps = 400
    start_noise = 0.003

    red = Body("red_box").position  # what has to get onto the mark
    mark = Site("mark").position  # where to; it does not move
    blue = Body("blue_box").position  # has to stay where it is
    hand = Body("hand").position  # to get behind the red box
    hand_velocity = Body("hand").velocity  # to approach and push gently
    red_velocity = Body("red_box").velocity  # towards the mark, then at rest
    red_turn = Body("red_box").heading  # pushed off its middle, it turns
    red_spin = Body("red_box").angular_velocity
    red_upright = Body("red_box").upright  # tipped over or not
    blue_velocity = Body("blue_box").velocity  # any speed is bad
    blue_turn = Body("blue_box").heading  # turning is moving, too
    touch_red = Touching("hand", "red_box")  # the push
    touch_blue = Touching("hand", "blue_box")  # better not
    boxes_touch = Touching("red_box", "blue_box")  # better not
    force_red = ContactForce("hand", "red_box")  # how hard it pushes

    pairs = (
        Pair(
            "the red box at rest on the mark beats the same at its start",
            better={"red": (0.3, 0.25, 0.04), "hand": (0.23, 0.25, 0.04)},
            worse={"red": (0.0, 0.0, 0.04), "hand": (-0.07, 0.0, 0.04)},
        ),
    )

    @staticmethod
    def metric(red, mark, blue, hand, blue_turn, lived, *, near_enough: float = 0.04, slack: float = 0.01):
        """How much closer the red box is to the mark, at its best and mostly in the last second, and how well it lies on
        it then, with a little for bringing the hand to the red box; most of it is lost as the blue box moves; 0 to 1.

        Throughout the last second the red box's centre is within 4 cm of the mark in x and y, and at no time is the blue
        box shifted by more than 1 cm or turned by more than 0.1 rad from where it began.
        """
        gap = (red - mark)[:, :, :2].norm(dim=-1)
        first = gap[:, :1].clamp(min=0.05)
        closer = (1.0 - (gap - 0.02) / (first - 0.02)).clamp(0.0, 1.0)
        best = closer.amax(1)
        final = closer[:, -50:].mean(1)
        on_mark = (tolerance(gap, upper=near_enough, margin=0.04) * lived)[:, -50:].mean(1)

        reach = (hand - red)[:, :, :2].norm(dim=-1)
        near = (1.0 - (reach - 0.08) / (0.3 - 0.08)).clamp(0.0, 1.0).amax(1)
        near = torch.maximum(near, (best / 0.2).clamp(0.0, 1.0))

        shift = (blue - blue[:, :1])[:, :, :2].norm(dim=-1).amax(1)
        angle = blue_turn - blue_turn[:, :1]
        turned = torch.atan2(torch.sin(angle), torch.cos(angle)).abs().amax(1)
        spared = tolerance(shift, upper=slack, margin=0.04) * tolerance(turned, upper=0.1, margin=0.3)

        progress = (0.1 * near + 0.15 * best + 0.35 * final + 0.4 * on_mark) * (0.2 + 0.8 * spared)
        success = (
            (gap[:, -50:].amax(1) < near_enough)
            & (shift < slack)
            & (turned < 0.1)
            & (lived.amin(1) > 0.5)
        )
        return {
            "near": near,
            "closer": final,
            "on_mark": on_mark,
            "spared": spared * (0.02 + 0.98 * best),
            "fitness": 0.75 * progress + 0.25 * success.float(),
            "success": success,
        }
