"""Drafted by a language model for: 'run forward for fifty seconds at 2 m/s or faster on average, without doing it on its back'. Nobody has read it: it was accepted by `--yes`.

`metric` is in the language of rewards: `torch`, `math`, `F` and `tolerance` are there without an import.
"""

from __future__ import annotations

from rewardgen import Body, Hinge, MujocoTask, Pair, Shift, Slide, Touching


class RunForward(MujocoTask):
    """A planar cheetah with a torso, a back leg and a front leg (thigh, shin, foot each). It should run forward, along +x, right way up.

    The head is at the +x end. The episode lasts fifty seconds; on average over all of it, including the
    start from rest, it should move at 2 m/s or faster (100 m or more), and keep running all the time.
    It must never be on its back: the torso's upright is 1 as it stands, 0 on end, -1 upside down.
    """

    model = "gymnasium:half_cheetah.xml"
    frame_skip = 2

    episode_steps = 2500

    x = Slide("rootx").position  # distance run, forward is +
    speed = Slide("rootx").velocity  # forward speed
    vertical = Slide("rootz").velocity  # bouncing
    height = Body("torso").height  # 0.7 as it stands
    upright = Body("torso").upright  # below 0 it is on its back
    pitch = Hinge("rooty").angle  # leaning; positive nose down
    pitch_rate = Hinge("rooty").velocity  # tipping over
    torso_down = Touching("torso", "floor")  # sliding instead of running
    head_down = Touching("head", "floor")  # nose on the floor
    back_foot = Touching("bfoot", "floor")  # steps
    front_foot = Touching("ffoot", "floor")  # steps
    back_thigh = Hinge("bthigh").angle  # gait
    back_shin = Hinge("bshin").angle  # gait
    front_thigh = Hinge("fthigh").angle  # gait
    front_shin = Hinge("fshin").angle  # gait

    pairs = (
        Pair("forward beats backward", better={"speed": 2.0}, worse={"speed": -2.0}),
        Pair("running beats standing", better={"speed": 2.0}, worse={"speed": 0.0}),
        Pair("right way up beats on its back", better={"speed": 2.0, "upright": 1.0}, worse={"speed": 2.0, "upright": -1.0}),
    )
    invariances = (Shift("x", 3.0),)

    @staticmethod
    def metric(x, upright, torso_down, lived, *, target: float = 2.0, slowest: float = 0.5):
        """The average forward speed over the fifty seconds as a share of 2 m/s, where way made on its back counts nothing, reduced by the time spent on its back, by sliding on the torso and by stretches of five seconds without running; 0 to 1.

        It ran forward at 2 m/s or faster on average over all fifty seconds, was never on its back, kept moving forward through every five seconds, and had its torso off the floor most of the time.
        """
        seconds = 0.02 * (x.shape[1] - 1)
        feet = (upright > 0.0).float() * lived
        steps = torch.diff(x, dim=1)
        total = x[:, -1] - x[:, 0]
        own = (steps * feet[:, 1:]).sum(1)
        average = torch.minimum(total, own) / seconds
        distance = (average / (0.9975 * target)).clamp(0.0, 1.0)
        right_way_up = feet.mean(1)
        stretches = (x[:, 250:] - x[:, :-250]) / 5.0
        steady = (stretches / slowest).clamp(0.0, 1.0).mean(1)
        off_floor = 1.0 - torso_down.mean(1)
        carried = (off_floor / 0.5).clamp(0.0, 1.0)
        success = (
            (distance > 0.9999)
            & (feet.amin(1) > 0.5)
            & (stretches.amin(1) > slowest)
            & (off_floor > 0.5)
        )
        progress = distance * right_way_up * (0.3 + 0.7 * steady) * (0.4 + 0.6 * carried)
        fitness = 0.85 * progress + 0.15 * success.float()
        return {
            "distance": distance,
            "right_way_up": right_way_up,
            "steady": steady,
            "carried": carried,
            "fitness": fitness,
            "success": success,
        }
