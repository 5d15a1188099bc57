"""Drafted by a language model for: 'push the red box onto the green mark without moving the blue box'. Nobody has read it: it was accepted by `--yes`.

`metric` is in the language of rewards: `torch`, `math`, `F` and `tolerance` are there without an import.
"""

from __future__ import annotations

from rewardgen import Body, Distance, MujocoTask, Pair, Site, Touching, Wrap


class RedOntoMark(MujocoTask):
    """A hand that slides over a table along x and y. It should push the red box onto the green mark without moving the blue box.

    The hand begins at x = -0.3, y = 0, the red box lies at (0, 0), the blue box at (0, -0.25), the mark at
    (0.3, 0.25), all in m in the world. The red box should come to rest with its centre within 4 cm of the mark,
    seen from above, and lie there until the end of ten seconds. The blue box must stay where and as it lies
    all the time.
    """

    model = "../robots/table.xml"
    frame_skip = 5

    episode_steps = 500

    hand = Body("hand").position  # to get behind the red box
    hand_velocity = Body("hand").velocity  # to push gently
    red = Body("red_box").position  # what has to move
    red_velocity = Body("red_box").velocity  # to come to rest
    red_heading = Body("red_box").heading  # pushed off centre it turns
    mark = Site("mark").position  # where it has to go
    blue = Body("blue_box").position  # must not move
    blue_velocity = Body("blue_box").velocity  # must not move
    blue_heading = Body("blue_box").heading  # must not turn
    hand_red = Distance("hand", "red_box")  # to reach the red box
    hand_blue = Distance("hand", "blue_box")  # to keep away from the blue box
    red_blue = Distance("red_box", "blue_box")  # the red box must not push the blue one
    touch_red = Touching("hand", "red_box")  # pushing
    touch_blue = Touching("hand", "blue_box")  # to be avoided
    boxes_touch = Touching("red_box", "blue_box")  # to be avoided

    pairs = (
        Pair("on the mark beats off it", better={"red": (0.3, 0.25, 0.04)}, worse={"red": (0.0, 0.0, 0.04)}),
    )
    invariances = (Wrap("red_heading"), Wrap("blue_heading"))

    @staticmethod
    def metric(hand_red, red, red_velocity, mark, blue, blue_heading, lived,
               *, near: float = 0.04, shift: float = 0.01, turn: float = 0.1, slow: float = 0.03):
        """A little for coming up to the red box, and mostly how near it is to the mark, and how still, in the last second, less if it was nearer before; a blue box that was moved costs up to seven tenths of all that; 0 to 1.

        The red box lies at rest within 4 cm of the mark throughout the last second, and the blue box was never shifted by more than 1 cm nor turned by more than 0.1 rad.
        """
        away = (red[..., :2] - mark[..., :2]).norm(dim=-1)
        first = away[:, :1].clamp(min=0.1)
        progress_now = ((first - away) / (first - near)).clamp(0.0, 1.0) * lived
        reach = hand_red[:, 0].clamp(min=0.15)
        approached = ((reach - hand_red.amin(1)) / (reach - 0.1)).clamp(0.0, 1.0)
        brought = progress_now.amax(1)
        speed = red_velocity.norm(dim=-1)[:, -50:].mean(1)
        still = tolerance(speed, upper=slow, margin=0.1)
        near_end = progress_now[:, -50:].mean(1)
        stayed = (1.0 - (brought - near_end)).clamp(0.0, 1.0)
        lies = near_end * stayed * still

        moved = (blue[..., :2] - blue[:, :1, :2]).norm(dim=-1).amax(1)
        angle = blue_heading - blue_heading[:, :1]
        turned = torch.atan2(torch.sin(angle), torch.cos(angle)).abs().amax(1)
        blue_kept = tolerance(moved, upper=shift, margin=0.05) * tolerance(turned, upper=turn, margin=0.4)

        throughout = ((away <= near) & (lived > 0.5))[:, -50:].all(1)
        success = throughout & (speed <= slow) & (moved <= shift) & (turned <= turn)
        progress = (0.3 + 0.7 * blue_kept) * (0.05 * approached + 0.95 * lies)
        fitness = 0.75 * progress + 0.25 * success.float()
        return {
            "approached": approached,
            "brought": brought,
            "lies": lies,
            "blue_kept": blue_kept,
            "fitness": fitness,
            "success": success,
        }
