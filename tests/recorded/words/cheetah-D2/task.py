"""Drafted by a language model for: 'run forward for fifty seconds at 2 m/s or faster on average, without doing it on its back'. Nobody has read it: it was accepted by `--yes`.

`metric` is in the language of rewards: `torch`, `math`, `F` and `tolerance` are there without an import.
"""

from __future__ import annotations

from rewardgen import Body, Hinge, MujocoTask, Pair, Shift, Slide, Touching


class RunForward(MujocoTask):
    """A planar cheetah with a torso, a head, a back leg and a front leg. It should run forward, along the world's +x, the right way up.

    It should gain 2 m/s or more along +x on average over the whole fifty seconds (100 m or more), keep running all the
    time, and not do it on its back: upright is 1 as it stands, 0 pitched by a quarter turn, -1 on its back. Ground gained
    on its back or in somersaults while upside down does not count.
    """

    model = "gymnasium:half_cheetah.xml"
    frame_skip = 2

    episode_steps = 2500
    start_noise = 0.01

    x = Slide("rootx").position  # distance gained, forward is positive
    speed_x = Slide("rootx").velocity  # forward speed, to be paid for on the way
    upright = Body("torso").upright  # tells running from doing it on the back
    height = Body("torso").height  # crouching, jumping, lying
    speed_z = Slide("rootz").velocity  # bouncing
    pitch = Hinge("rooty").angle  # how far the torso is pitched, positive nose down
    pitch_speed = Hinge("rooty").velocity  # tumbling
    turns = Body("torso").turns("y")  # somersaults
    back_foot_down = Touching("bfoot", "floor")  # contacts of the feet, for the gait
    front_foot_down = Touching("ffoot", "floor")  # as above
    back_thigh = Hinge("bthigh").angle  # the legs' posture
    back_shin = Hinge("bshin").angle  # as above
    back_foot = Hinge("bfoot").angle  # as above
    front_thigh = Hinge("fthigh").angle  # as above
    front_shin = Hinge("fshin").angle  # as above
    front_foot = Hinge("ffoot").angle  # as above

    pairs = (
        Pair("forward beats standing", better={"speed_x": 2.0}, worse={"speed_x": 0.0}),
        Pair("forward beats backward", better={"speed_x": 2.0}, worse={"speed_x": -2.0}),
        Pair("on its feet beats on its back", better={"speed_x": 2.0, "upright": 1.0}, worse={"speed_x": 2.0, "upright": -1.0}),
    )
    invariances = (Shift("x", 3.0),)

    @staticmethod
    def metric(
        x,
        upright,
        lived,
        *,
        speed: float = 2.0,
        tipped: float = 0.2,
        right_way_up: float = 0.98,
        moving: float = 0.2,
        moving_share: float = 0.84,
    ):
        """How much of 2 m/s along +x the cheetah makes good on average over fifty seconds, counting only ground gained the right way up, and in how much of the time it is on its way; less for time spent on its back; 0 to 1.

        It gains 2 m/s or more along +x on average over all fifty seconds, is on its back or tilted nearly as far for at most one second in all, and is running forward in most of the time and still in the last two seconds.
        """
        def per_window(values, n, first):
            """The sum over each stretch of n steps."""
            total = torch.cumsum(values, dim=1)[:, first::n]
            return torch.diff(total, dim=1, prepend=0.0 * total[:, :1])

        step = 0.02
        running = (upright > tipped) * lived
        dx = torch.diff(x, dim=1, prepend=x[:, :1])
        gained = torch.where(dx > 0.0, dx * running, dx)
        pace = gained.sum(1) / ((x.shape[1] - 1) * step) / speed
        windows = per_window(gained, 100, 99) / (100 * step)
        busy = (windows > moving * speed).float()
        going = (busy.mean(1) / moving_share).clamp(0.0, 1.0)
        up = running.mean(1)
        success = (pace >= 0.995) & (going >= 0.999) & (busy[:, -1] > 0.5) & (up >= right_way_up)
        progress = torch.minimum(pace.clamp(0.0, 1.0), going) * up
        return {
            "pace": pace.clamp(0.0, 1.0),
            "going": going,
            "right_way_up": up,
            "fitness": 0.8 * progress + 0.2 * success.float(),
            "success": success,
        }
