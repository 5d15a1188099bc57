"""Drafted by a language model for: 'turn once around to the left, roughly on the spot, then stand still'. Nobody has read it: it was accepted by `--yes`.

`metric` is in the language of rewards: `torch`, `math`, `F` and `tolerance` are there without an import.
"""

from __future__ import annotations

from rewardgen import Body, Hinge, MujocoTask, Outside, Pair, Touching


class TurnLeft(MujocoTask):
    """A four-legged ant: a round torso (a sphere of radius 0.25 m) and four legs, each with a hip and an ankle joint.

    It begins upright at rest, facing +x, and drops a little onto its feet. It should turn once around to the left, that is
    counter-clockwise seen from above (`turns` runs from 0 to +1), roughly on the spot, its torso within 0.75 m of where
    it began, and then stand still on its legs until the end, at one full turn. Turning right, turning on to a second turn,
    walking in a circle or tipping over does not count. Its torso is about 0.35 to 0.6 m high when it stands on its feet.
    """

    model = "gymnasium:ant.xml"
    frame_skip = 2

    episode_steps = 500

    turns = Body("torso").turns("z")  # +1 is once around to the left
    position = Body("torso").position  # to stay on the spot
    height = Body("torso").height  # on its legs, not on its belly
    upright = Body("torso").upright  # not tipped over
    velocity = Body("torso").velocity  # still at the end
    spin = Body("torso").angular_velocity  # z positive turns left; still at the end
    torso_down = Touching("torso", "floor")  # lying on its belly
    foot_1 = Touching("aux_1_1", "floor")  # steps, and the stand
    foot_2 = Touching("aux_2_1", "floor")
    foot_3 = Touching("aux_3_1", "floor")
    foot_4 = Touching("aux_4_1", "floor")
    hip_1 = Hinge("hip_1").angle  # the hips swing the legs to turn
    hip_2 = Hinge("hip_2").angle
    hip_3 = Hinge("hip_3").angle
    hip_4 = Hinge("hip_4").angle
    hip_1_speed = Hinge("hip_1").velocity  # still legs at the end
    hip_2_speed = Hinge("hip_2").velocity
    hip_3_speed = Hinge("hip_3").velocity
    hip_4_speed = Hinge("hip_4").velocity
    ankle_1_speed = Hinge("ankle_1").velocity
    ankle_2_speed = Hinge("ankle_2").velocity
    ankle_3_speed = Hinge("ankle_3").velocity
    ankle_4_speed = Hinge("ankle_4").velocity

    ends = {"tipped over": Outside("upright", low=-0.1)}
    pairs = (
        Pair(
            "on its feet beats on its back",
            better={"upright": 1.0, "height": 0.5, "torso_down": 0.0},
            worse={"upright": -1.0, "height": 0.25, "torso_down": 1.0},
        ),
    )

    @staticmethod
    def metric(
        turns, position, height, upright, velocity, spin, torso_down, lived,
        hip_1_speed, hip_2_speed, hip_3_speed, hip_4_speed,
        ankle_1_speed, ankle_2_speed, ankle_3_speed, ankle_4_speed,
        *, away: float = 0.75, exact: float = 0.08, slow: float = 0.2, calm: float = 0.5, legs_calm: float = 1.5,
    ):
        """How much of one turn to the left it has made in the end (turning on counts against it), more if it stays on
        the spot and upright, and how well it stands still at one full turn during the last second; 0 to 1.

        Throughout the last second it is within 0.08 of one full turn to the left, upright (cosine above 0.8), higher
        than 0.3 m and with the torso off the floor, on average slower than 0.2 m/s and 0.5 rad/s, its joints slower than
        1.5 rad/s; it was never further than 0.75 m from where it began, nor beyond 1.25 turns to the left or 0.4 to the
        right.
        """
        last = turns[:, -50:].mean(1)
        turned = (1.0 - (last - 1.0).abs()).clamp(0.0, 1.0)
        once = tolerance(turns.amax(1), lower=-100.0, upper=1.25, margin=0.4) * tolerance(
            turns.amin(1), lower=-0.4, upper=100.0, margin=0.4
        )

        distance = (position - position[:, :1])[:, :, :2].norm(dim=-1).amax(1)
        on_spot = tolerance(distance, upper=away, margin=0.75)

        posture = (
            tolerance(upright, lower=0.8, upper=1.1, margin=0.4)
            * tolerance(height, lower=0.3, upper=0.9, margin=0.1)
            * (1.0 - 0.5 * torso_down)
            * lived
        )
        up = posture[:, -50:].mean(1)

        speed = velocity.norm(dim=-1)
        rate = spin.norm(dim=-1)
        legs = (
            hip_1_speed.abs() + hip_2_speed.abs() + hip_3_speed.abs() + hip_4_speed.abs()
            + ankle_1_speed.abs() + ankle_2_speed.abs() + ankle_3_speed.abs() + ankle_4_speed.abs()
        ) / 8.0
        still = (
            tolerance(speed, upper=slow, margin=0.5)
            * tolerance(rate, upper=calm, margin=1.0)
            * (0.4 + 0.6 * tolerance(legs, upper=legs_calm, margin=3.0))
        )
        there = tolerance(turns, lower=1.0 - exact, upper=1.0 + exact, margin=0.15)
        stands = (there * posture * still)[:, -50:].mean(1)

        progress = (
            (0.55 * turned * (0.3 + 0.7 * up) + 0.45 * stands) * (0.3 + 0.7 * on_spot) * (0.3 + 0.7 * once)
        )
        end = slice(-48, None)
        success = (
            (turns[:, end].amin(1) > 1.0 - exact)
            & (turns[:, end].amax(1) < 1.0 + exact)
            & (turns.amax(1) < 1.25)
            & (turns.amin(1) > -0.4)
            & (distance < away)
            & (upright[:, end].amin(1) > 0.8)
            & (height[:, end].amin(1) > 0.3)
            & (torso_down[:, end].mean(1) < 0.1)
            & (speed[:, end].mean(1) < slow)
            & (rate[:, end].mean(1) < calm)
            & (legs[:, end].mean(1) < legs_calm)
            & (lived.amin(1) > 0.5)
        )
        return {
            "turned": turned,
            "on_spot": on_spot * turned,
            "upright": up * turned,
            "stands": stands,
            "fitness": 0.75 * progress + 0.25 * success.float(),
            "success": success,
        }
