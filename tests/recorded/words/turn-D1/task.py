"""Drafted by a language model for: 'turn once around to the left, roughly on the spot, then stand still'. Nobody has read it: it was accepted by `--yes`.

`metric` is in the language of rewards: `torch`, `math`, `F` and `tolerance` are there without an import.
"""

from __future__ import annotations

from rewardgen import Body, Energy, Hinge, MujocoTask, Pair, Touching, Wrap


class TurnLeft(MujocoTask):
    """A four-legged ant with a round torso. It should turn once around to the left, roughly on the spot, then stand still.

    Left is counterclockwise seen from above: `turns` about the vertical goes from 0 to +1. It should stay right
    way up and near the place where it began, and after one full turn stand still on its legs, the torso off the
    floor, until the end of ten seconds.
    """

    model = "gymnasium:ant.xml"
    frame_skip = 2

    episode_steps = 500

    turns = Body("torso").turns("z")  # + is left; has to become 1
    heading = Body("torso").heading  # direction, back at the start's in the end
    position = Body("torso").position  # on the spot
    height = Body("torso").height  # standing or lying
    velocity = Body("torso").velocity  # to stay, and to stand still
    spin = Body("torso").angular_velocity  # z is the turning; 0 when still
    upright = Body("torso").upright  # not turned over
    torso_down = Touching("torso", "floor")  # lying on its belly
    foot_1 = Touching("aux_1_1", "floor")  # steps
    foot_2 = Touching("aux_2_1", "floor")  # steps
    foot_3 = Touching("aux_3_1", "floor")  # steps
    foot_4 = Touching("aux_4_1", "floor")  # steps
    hip_1 = Hinge("hip_1").angle  # gait, + is left
    hip_2 = Hinge("hip_2").angle  # gait, + is left
    hip_3 = Hinge("hip_3").angle  # gait, + is left
    hip_4 = Hinge("hip_4").angle  # gait, + is left
    kinetic = Energy("kinetic")  # legs still at the end

    pairs = (
        Pair("one turn left beats one turn right", better={"turns": 1.0}, worse={"turns": -1.0}),
        Pair("one turn left beats none", better={"turns": 1.0}, worse={"turns": 0.0}),
    )
    invariances = (Wrap("heading"),)

    @staticmethod
    def metric(turns, position, height, velocity, spin, upright, torso_down, foot_1, foot_2, foot_3, foot_4,
               hip_1, hip_2, hip_3, hip_4, kinetic, lived,
               *, slack: float = 0.08, spot: float = 0.8, low: float = 0.3, slow: float = 0.1, calm: float = 0.25, swing: float = 0.2):
        """How far it has turned to the left, up to one turn and mostly as it is in the end (half), and how much of the last second it stands still after just one turn (half); both multiplied by staying right way up, and much reduced for leaving the spot and for turning further than once; 0 to 1.

        It turned once to the left, no less and no more, stayed right way up and within 0.8 m of its place, and stands still on its legs, without stepping on, with its torso off the floor throughout the last second.
        """
        most = turns.amax(1)
        least = turns.amin(1)
        end = turns[:, -50:].mean(1)
        turned = 0.25 * most.clamp(0.0, 1.0) + 0.75 * end.clamp(0.0, 1.0)
        once = tolerance(most, upper=1.25, margin=0.35) * tolerance(least, lower=-0.25, upper=2.0, margin=0.4)
        drift = (position[..., :2] - position[:, :1, :2]).norm(dim=-1).amax(1)
        on_spot = tolerance(drift, upper=spot, margin=0.6)
        up = (upright > 0.5).float() * lived
        right_way_up = up.mean(1)

        near = tolerance(turns, lower=1.0 - slack, upper=1.0 + slack, margin=0.2)
        tall = tolerance(height, lower=low, upper=1.0, margin=0.1) * (torso_down < 0.5).float()
        speed = velocity.norm(dim=-1)[:, -50:].mean(1)
        rate = spin.norm(dim=-1)[:, -50:].mean(1)

        def span(x):
            return x[:, -50:].amax(1) - x[:, -50:].amin(1)

        def changes(x):
            return torch.diff((x[:, -50:] > 0.5).float(), dim=1).abs().sum(1)

        swings = torch.maximum(torch.maximum(span(hip_1), span(hip_2)), torch.maximum(span(hip_3), span(hip_4)))
        stepping = changes(foot_1) + changes(foot_2) + changes(foot_3) + changes(foot_4)
        energy = kinetic[:, -50:].mean(1)
        still = (
            tolerance(speed, upper=slow, margin=0.4)
            * tolerance(rate, upper=calm, margin=0.8)
            * tolerance(swings, upper=swing, margin=0.4)
            * tolerance(stepping, upper=6.0, margin=8.0)
            * tolerance(energy, upper=1.0, margin=3.0)
        )
        stands = (near * tall * up)[:, -50:].mean(1) * still

        throughout = (
            ((turns - 1.0).abs() < slack) & (height > low) & (height < 1.0) & (torso_down < 0.5) & (upright > 0.8) & (lived > 0.5)
        )[:, -50:].all(1)
        success = (
            throughout
            & (most < 1.25)
            & (least > -0.25)
            & (drift < spot)
            & (up.amin(1) > 0.5)
            & (still > 0.999)
        )
        not_more = once + 0.4 * (1.0 - once) * still
        progress = not_more * (0.25 + 0.75 * on_spot) * right_way_up * (0.5 * turned + 0.5 * stands)
        fitness = 0.75 * progress + 0.25 * success.float()
        return {
            "turned": turned,
            "once": once,
            "on_spot": on_spot,
            "right_way_up": right_way_up,
            "stands": stands,
            "fitness": fitness,
            "success": success,
        }
