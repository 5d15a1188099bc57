"""Drafted by a language model for: 'walk forward for eight seconds without falling, at 1 m/s or faster on average'. Nobody has read it: it was accepted by `--yes`.

`metric` is in the language of rewards: `torch`, `math`, `F` and `tolerance` are there without an import.
"""

from __future__ import annotations

from rewardgen import Body, Hinge, MujocoTask, Outside, Pair, Shift, Slide, Touching


class WalkForward(MujocoTask):
    """A planar biped with a torso and two legs, each of a thigh, a leg and a foot. It should walk forward, along the world's +x, without falling.

    It should gain 1 m/s or more along +x on average over the whole eight seconds (8 m or more), on its two feet in turn
    (now only the right one on the floor, now only the left one), and keep at it to the end. It starts upright with its torso
    at a height of 1.25 m; it has fallen when the torso tilts beyond about 66 degrees (upright below 0.4) or sinks below 0.7 m.
    """

    model = "gymnasium:walker2d_v5.xml"
    frame_skip = 10

    episode_steps = 400
    start_noise = 0.005

    x = Slide("rootx").position  # distance gained, forward is positive
    speed_x = Slide("rootx").velocity  # forward speed, to be paid for on the way
    height = Body("torso").height  # tells walking from having collapsed
    speed_z = Slide("rootz").velocity  # bouncing
    upright = Body("torso").upright  # tells standing from having fallen
    pitch = Hinge("rooty").angle  # lean of the torso, positive is forward
    pitch_speed = Hinge("rooty").velocity  # tumbling
    right_down = Touching("foot", "floor")  # steps: the feet take turns
    left_down = Touching("foot_left", "floor")  # as above
    right_foot = Body("foot").position  # which foot is ahead, how far it is lifted
    left_foot = Body("foot_left").position  # as above
    right_thigh = Hinge("thigh_joint").angle  # the legs' posture
    right_knee = Hinge("leg_joint").angle  # as above
    right_ankle = Hinge("foot_joint").angle  # as above
    left_thigh = Hinge("thigh_left_joint").angle  # as above
    left_knee = Hinge("leg_left_joint").angle  # as above
    left_ankle = Hinge("foot_left_joint").angle  # as above

    ends = {"tipped over": Outside("upright", low=0.4), "collapsed": Outside("height", low=0.7)}
    pairs = (
        Pair("forward beats standing", better={"speed_x": 1.0}, worse={"speed_x": 0.0}),
        Pair("forward beats backward", better={"speed_x": 1.0}, worse={"speed_x": -1.0}),
    )
    invariances = (Shift("x", 3.0),)

    @staticmethod
    def metric(
        x,
        height,
        upright,
        right_down,
        left_down,
        lived,
        *,
        speed: float = 1.0,
        tipped: float = 0.4,
        collapsed: float = 0.7,
        moving: float = 0.2,
        moving_share: float = 0.75,
        alone: float = 1.5,
    ):
        """How much of 1 m/s along +x the walker makes good on average over eight seconds before any fall, in how many of the seconds it is on its way, and in how much of the time its feet take turns bearing it; less for falling; 0 to 1.

        It gains 1 m/s or more along +x on average over all eight seconds, never falls, goes forward in at least six of the eight seconds and in the last, and in at least three of the four stretches of two seconds it stands now on the right foot alone and now on the left foot alone.
        """
        def per_window(values, n, first):
            """The sum over each stretch of n steps."""
            total = torch.cumsum(values, dim=1)[:, first::n]
            return torch.diff(total, dim=1, prepend=0.0 * total[:, :1])

        step = 0.02
        up = ((upright > tipped) * (height > collapsed) * lived).cummin(1).values
        dx = torch.diff(x, dim=1, prepend=x[:, :1])
        gained = torch.where(dx > 0.0, dx * up, dx)
        pace = gained.sum(1) / ((x.shape[1] - 1) * step) / speed
        windows = per_window(gained, 50, 49) / (50 * step)
        busy = (windows > moving * speed).float()
        going = (busy.mean(1) / moving_share).clamp(0.0, 1.0)
        right_only = ((right_down > 0.5) & (left_down < 0.5)).float() * up
        left_only = ((left_down > 0.5) & (right_down < 0.5)).float() * up
        rights = (per_window(right_only, 100, 99) > alone).float()
        lefts = (per_window(left_only, 100, 99) > alone).float()
        steps = ((rights * lefts).mean(1) / moving_share).clamp(0.0, 1.0)
        lasted = up.mean(1)
        stood = up[:, -1] > 0.5
        success = (pace >= 0.995) & (going >= 0.999) & (steps >= 0.999) & (busy[:, -1] > 0.5) & stood
        travelled = torch.minimum(pace.clamp(0.0, 1.0), going)
        progress = travelled * (0.3 + 0.7 * steps) * (0.75 + 0.25 * stood.float())
        return {
            "pace": pace.clamp(0.0, 1.0),
            "going": going,
            "steps": steps,
            "upright": lasted,
            "fitness": 0.8 * progress + 0.2 * success.float(),
            "success": success,
        }
