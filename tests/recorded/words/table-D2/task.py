"""Drafted by a language model for: 'push the red box onto the green mark without moving the blue box'. Nobody has read it: it was accepted by `--yes`.

`metric` is in the language of rewards: `torch`, `math`, `F` and `tolerance` are there without an import.
"""

from __future__ import annotations

from rewardgen import Body, MujocoTask, Pair, Site, Touching


class PushRedOntoMark(MujocoTask):
    """A hand that slides over a table in x and y, a red box, a blue box and a green mark on the table. It should push the red box onto the mark without moving the blue box.

    All positions are in the world. The hand begins at (-0.3, 0), the red box at (0, 0), the blue box at (0, -0.25), and the
    mark is at (0.3, 0.25), so the red box has to go 0.39 m towards +x and +y. Only horizontal distances count. Throughout
    the last second the red box's centre should be within 0.05 m of the mark's, flat on the table and at rest. The blue box
    must not be moved by more than 0.01 m or turned by more than 10 degrees at any time.
    """

    model = "../robots/table.xml"
    frame_skip = 5

    episode_steps = 500
    start_noise = 0.005

    red = Body("red_box").position  # what has to be brought to the mark
    red_velocity = Body("red_box").velocity  # to lie still there
    red_upright = Body("red_box").upright  # flat on the table
    red_heading = Body("red_box").heading  # turns when pushed off centre
    mark = Site("mark").position  # where to
    blue = Body("blue_box").position  # must stay where it is
    blue_heading = Body("blue_box").heading  # as above
    blue_velocity = Body("blue_box").velocity  # as above
    hand = Body("hand").position  # what pushes, has to reach the red box first
    hand_velocity = Body("hand").velocity  # gentle pushing, stopping
    hand_on_red = Touching("hand", "red_box")  # pushing
    hand_on_blue = Touching("hand", "blue_box")  # to be avoided
    red_on_blue = Touching("red_box", "blue_box")  # to be avoided

    pairs = (
        Pair(
            "red on the mark beats red at the start",
            better={"red": [0.3, 0.25, 0.04], "hand": [0.22, 0.18, 0.04]},
            worse={"red": [0.0, 0.0, 0.04], "hand": [-0.08, -0.07, 0.04]},
        ),
    )

    @staticmethod
    def metric(
        red,
        red_velocity,
        red_upright,
        mark,
        blue,
        blue_heading,
        hand,
        lived,
        *,
        on_mark: float = 0.05,
        away: float = 0.1,
        touching: float = 0.1,
        rest_speed: float = 0.05,
        rest_speed_most: float = 0.1,
        blue_shift: float = 0.01,
        blue_turn_cosine: float = 0.985,
    ):
        """How far the red box was brought from where it began to the mark, as it lies in the last second, and whether it rests flat on the mark then; a little for reaching it with the hand; all of it much less the more the blue box was moved at any time; 0 to 1.

        Throughout the last second the red box's centre is within 5 cm of the mark's, horizontally, flat on the table and at rest, and the blue box was never moved by more than 1 cm nor turned by more than about 10 degrees.
        """
        far = (red[..., :2] - mark[..., :2]).norm(dim=-1)
        first = far[:, 0]
        began_away = (first > away).float()
        scale = (first - on_mark).clamp(min=0.05)
        left = (far - on_mark).clamp(min=0.0)
        flat = (red_upright > 0.95).float()
        brought = (1.0 - left / scale[:, None]).clamp(0.0, 1.0)
        brought = brought[:, -50:].mean(1) * began_away
        speed = red_velocity.norm(dim=-1)
        lies = tolerance(far, upper=on_mark, margin=0.04) * tolerance(speed, upper=rest_speed, margin=0.1) * flat * lived
        rests = lies[:, -50:].mean(1) * began_away
        gap = (hand[..., :2] - red[..., :2]).norm(dim=-1)
        near = ((gap[:, 0] - gap.amin(1)) / (gap[:, 0] - touching).clamp(min=0.05)).clamp(0.0, 1.0)
        shift = (red[..., :2] - red[:, :1, :2]).norm(dim=-1).amax(1)
        reached = torch.maximum(near, (shift / 0.03).clamp(0.0, 1.0)) * began_away
        moved = (blue - blue[:, :1]).norm(dim=-1).amax(1)
        turned = torch.cos(blue_heading - blue_heading[:, :1]).amin(1)
        untouched = tolerance(moved, upper=blue_shift, margin=0.05) * tolerance(
            turned, lower=blue_turn_cosine, upper=2.0, margin=0.3
        )
        spared = (moved <= blue_shift) & (turned >= blue_turn_cosine)
        stays = (far <= on_mark) & (speed <= rest_speed_most) & (flat > 0.5) & (lived > 0.5)
        success = (stays.float()[:, -50:].amin(1) > 0.5) & (began_away > 0.5) & spared
        progress = 0.05 * reached + 0.4 * brought + 0.25 * rests
        care = 0.2 + 0.5 * untouched + 0.3 * spared.float()
        return {
            "reached": reached,
            "brought": brought,
            "rests": rests,
            "blue_spared": untouched,
            "fitness": progress * care + 0.3 * success.float(),
            "success": success,
        }
