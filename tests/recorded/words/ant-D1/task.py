"""Drafted by a language model for: 'walk in the direction of +x without falling over, at 1 m/s or faster on average over fifty seconds'. Nobody has read it: it was accepted by `--yes`.

`metric` is in the language of rewards: `torch`, `math`, `F` and `tolerance` are there without an import.
"""

from __future__ import annotations

from rewardgen import Body, Hinge, MujocoTask, Outside, Pair, Touching, Wrap


class WalkAlongX(MujocoTask):
    """A four-legged ant with a round torso. It should walk in the direction of +x of the world without falling over.

    The episode lasts fifty seconds; on average over all of it, including the start from rest, it should
    move along +x at 1 m/s or faster (50 m or more), walking on its legs all the time, without much drift to the
    side (y). It may face any direction. It must stay right way up: upright is 1 as it stands, -1 upside down.
    """

    model = "gymnasium:ant.xml"
    frame_skip = 2

    episode_steps = 2500

    position = Body("torso").position  # way along x, drift along y
    velocity = Body("torso").velocity  # x is the speed that counts
    height = Body("torso").height  # standing or sunk
    upright = Body("torso").upright  # fallen over or not
    heading = Body("torso").heading  # may help to walk straight
    spin = Body("torso").angular_velocity  # rocking
    torso_down = Touching("torso", "floor")  # sliding on its belly
    foot_1 = Touching("aux_1_1", "floor")  # steps
    foot_2 = Touching("aux_2_1", "floor")  # steps
    foot_3 = Touching("aux_3_1", "floor")  # steps
    foot_4 = Touching("aux_4_1", "floor")  # steps
    hip_1 = Hinge("hip_1").angle  # gait
    hip_2 = Hinge("hip_2").angle  # gait
    hip_3 = Hinge("hip_3").angle  # gait
    hip_4 = Hinge("hip_4").angle  # gait
    ankle_1 = Hinge("ankle_1").angle  # gait
    ankle_2 = Hinge("ankle_2").angle  # gait
    ankle_3 = Hinge("ankle_3").angle  # gait
    ankle_4 = Hinge("ankle_4").angle  # gait

    ends = {"fell over": Outside("upright", low=-0.2)}
    pairs = (
        Pair("along +x beats along -x", better={"velocity": (1.0, 0.0, 0.0)}, worse={"velocity": (-1.0, 0.0, 0.0)}),
        Pair("along +x beats standing", better={"velocity": (1.0, 0.0, 0.0)}, worse={"velocity": (0.0, 0.0, 0.0)}),
    )
    invariances = (Wrap("heading"),)

    @staticmethod
    def metric(position, upright, torso_down, lived,
               *, target: float = 1.0, tilt: float = 0.17, slowest: float = 0.25, drift: float = 0.36):
        """The way made along +x before any fall as a share of the 50 m that 1 m/s makes in fifty seconds, reduced if it falls over early, for stretches of five seconds without walking on, for drifting aside, and for sliding on its belly; 0 to 1.

        It moved along +x at 1 m/s or faster on average over all fifty seconds, never fell over, kept walking through every five seconds, drifted aside by no more than about a third of its way, and had its torso off the floor most of the time.
        """
        x = position[..., 0]
        y = position[..., 1]
        seconds = 0.02 * (x.shape[1] - 1)
        up = ((upright > tilt) & (lived > 0.5)).float().cummin(1).values
        made = (torch.diff(x, dim=1) * up[:, 1:]).sum(1)
        distance = (made / (0.995 * target * seconds)).clamp(0.0, 1.0)
        survived = up.mean(1)
        stretches = (x[:, 250:] - x[:, :-250]) / 5.0
        steady = (stretches / slowest).clamp(0.0, 1.0).mean(1)
        aside = (y - y[:, :1]).abs().amax(1) / (drift * made).clamp(min=2.0)
        straight = tolerance(aside, upper=1.0, margin=1.0)
        off_floor = 1.0 - torso_down.mean(1)
        carried = (off_floor / 0.6).clamp(0.0, 1.0)
        success = (
            (distance > 0.9999)
            & (up.amin(1) > 0.5)
            & (stretches.amin(1) > slowest)
            & (aside <= 1.0)
            & (off_floor > 0.6)
        )
        progress = distance * (0.3 + 0.7 * survived) * (0.3 + 0.7 * steady) * straight * (0.4 + 0.6 * carried)
        fitness = 0.85 * progress + 0.15 * success.float()
        return {
            "distance": distance,
            "survived": survived,
            "steady": steady,
            "straight": straight,
            "carried": carried,
            "fitness": fitness,
            "success": success,
        }
