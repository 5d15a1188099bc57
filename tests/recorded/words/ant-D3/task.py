"""Drafted by a language model for: 'walk in the direction of +x without falling over, at 1 m/s or faster on average over fifty seconds'. Nobody has read it: it was accepted by `--yes`.

`metric` is in the language of rewards: `torch`, `math`, `F` and `tolerance` are there without an import.
"""

from __future__ import annotations

from rewardgen import Body, Hinge, MujocoTask, Outside, Pair, Touching


class WalkAlongX(MujocoTask):
    """A four-legged ant: a round torso (a sphere of radius 0.25 m) and four legs, each with a hip and an ankle joint.

    It begins upright at rest at the origin, facing +x, and drops a little onto its feet. It should walk on its legs in the
    direction of the world's +x axis for all fifty seconds, at 1 m/s or faster on average (50 m along +x in all, the start
    included), roughly straight (sideways, along y, by less than 0.3 of the distance), without falling over. It may face
    any way while it walks. An episode ends when it tips over (`upright` below 0). Its torso is about 0.35 to 0.6 m high
    when it stands on its feet; it should carry it off the floor.
    """

    model = "gymnasium:ant.xml"
    frame_skip = 2

    episode_steps = 2500

    position = Body("torso").position  # progress along x, straying along y
    velocity = Body("torso").velocity  # forward is +x of the world
    height = Body("torso").height  # carried or dragged
    upright = Body("torso").upright  # fallen over or not
    heading = Body("torso").heading  # to keep straight
    spin = Body("torso").angular_velocity  # not to tumble or turn
    torso_down = Touching("torso", "floor")  # sliding on its belly
    foot_1 = Touching("aux_1_1", "floor")  # steps
    foot_2 = Touching("aux_2_1", "floor")
    foot_3 = Touching("aux_3_1", "floor")
    foot_4 = Touching("aux_4_1", "floor")
    hip_1 = Hinge("hip_1").angle
    hip_2 = Hinge("hip_2").angle
    hip_3 = Hinge("hip_3").angle
    hip_4 = Hinge("hip_4").angle
    ankle_1 = Hinge("ankle_1").angle
    ankle_2 = Hinge("ankle_2").angle
    ankle_3 = Hinge("ankle_3").angle
    ankle_4 = Hinge("ankle_4").angle
    hip_1_speed = Hinge("hip_1").velocity
    hip_2_speed = Hinge("hip_2").velocity
    hip_3_speed = Hinge("hip_3").velocity
    hip_4_speed = Hinge("hip_4").velocity

    ends = {"tipped over": Outside("upright", low=0.0)}
    pairs = (
        Pair(
            "along +x beats along -x",
            better={"velocity": (1.0, 0.0, 0.0)},
            worse={"velocity": (-1.0, 0.0, 0.0)},
        ),
        Pair(
            "on its feet beats on its back",
            better={"upright": 1.0, "height": 0.5, "torso_down": 0.0},
            worse={"upright": -1.0, "height": 0.25, "torso_down": 1.0},
        ),
    )

    @staticmethod
    def metric(
        position, upright, torso_down, lived, *, pace: float = 1.0, stretch: float = 0.4, stray: float = 0.3, going: float = 0.85,
    ):
        """The average speed along +x, up to 1 m/s, times how long it lasted without falling over, how straight it went,
        how little it slid on its belly and how steadily it moved on; 0 to 1.

        It covers 1 m/s along +x on average over all fifty seconds without ever tipping over, goes on for at least 85 % of
        the time (0.4 m along +x within three seconds), never strays sideways by more than 0.3 of the distance covered, and has its torso off
        the floor at least 70 % of the time.
        """
        x = position[:, :, 0]
        y = position[:, :, 1]
        distance = x[:, -1] - x[:, 0]
        speed = distance / (0.02 * (x.shape[1] - 1))
        forward = (speed / pace).clamp(0.0, 1.0)

        fallen = ((upright < 0.0) | (lived < 0.5)).float()
        lasted = (1.0 - fallen.cummax(1).values).mean(1)

        aside = (y - y[:, :1]).abs().amax(1) / distance.clamp(min=5.0)
        straight = tolerance(aside, upper=stray, margin=0.5)

        carried = 1.0 - torso_down.mean(1).clamp(0.0, 1.0)

        advance = x[:, 150:] - x[:, :-150]  # in every three seconds
        onward = (advance / stretch).clamp(0.0, 1.0).mean(1)

        progress = (
            forward
            * (0.2 + 0.8 * lasted)
            * (0.3 + 0.7 * straight)
            * (0.4 + 0.6 * carried)
            * (0.5 + 0.5 * onward)
        )
        success = (
            (speed >= 0.995 * pace)
            & (lasted > 0.9999)
            & (aside < stray)
            & (carried > 0.7)
            & (onward > going)
        )
        return {
            "forward": forward,
            "lasted": lasted * forward,
            "straight": straight * forward,
            "carried": carried * forward,
            "onward": onward,
            "fitness": 0.75 * progress + 0.25 * success.float(),
            "success": success,
        }
