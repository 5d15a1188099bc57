"""Drafted by a language model for: 'hop forward for eight seconds without falling, at 1 m/s or faster on average'. Nobody has read it: it was accepted by `--yes`.

`metric` is in the language of rewards: `torch`, `math`, `F` and `tolerance` are there without an import.
"""

from __future__ import annotations

from rewardgen import Body, ContactForce, Hinge, MujocoTask, Outside, Pair, Shift, Slide, Touching


class HopForward(MujocoTask):
    """A planar one-legged hopper with a torso, a thigh, a leg and a foot. It should hop forward, along the world's +x, without falling.

    It should gain 1 m/s or more along +x on average over the whole eight seconds (8 m or more), in hops, with the foot off
    the floor and on it again, and keep at it to the end. It starts upright with its torso at a height of 1.25 m; it has
    fallen when the torso tilts beyond about 66 degrees (upright below 0.4), sinks below 0.7 m or touches the floor.
    """

    model = "gymnasium:hopper.xml"
    frame_skip = 10

    episode_steps = 400
    start_noise = 0.005

    x = Slide("rootx").position  # distance gained, forward is positive
    speed_x = Slide("rootx").velocity  # forward speed, to be paid for on the way
    height = Body("torso").height  # tells hopping from having collapsed
    speed_z = Slide("rootz").velocity  # up and down in a hop
    upright = Body("torso").upright  # tells standing from having fallen
    pitch = Hinge("rooty").angle  # lean of the torso, positive is forward
    pitch_speed = Hinge("rooty").velocity  # tumbling
    torso_down = Touching("torso", "floor")  # a fall
    foot_down = Touching("foot", "floor")  # tells hops from sliding
    foot_force = ContactForce("foot", "floor")  # how hard it pushes off and lands
    foot_position = Body("foot").position  # where the foot is put, how far it is lifted
    thigh = Hinge("thigh_joint").angle  # the leg's posture
    knee = Hinge("leg_joint").angle  # as above
    ankle = Hinge("foot_joint").angle  # as above

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
        torso_down,
        foot_down,
        lived,
        *,
        speed: float = 1.0,
        tipped: float = 0.4,
        collapsed: float = 0.7,
        moving: float = 0.2,
        moving_share: float = 0.75,
    ):
        """How much of 1 m/s along +x the hopper makes good on average over eight seconds before any fall, and in how many of the seconds it is on its way and in how many it hops (foot off the floor for 0.06 s or longer, and on it); less for falling; 0 to 1.

        It gains 1 m/s or more along +x on average over all eight seconds, never falls, goes forward in at least six of the eight seconds and in the last, and hops in at least six of them.
        """
        def per_window(values, n, first):
            """The sum over each stretch of n steps."""
            total = torch.cumsum(values, dim=1)[:, first::n]
            return torch.diff(total, dim=1, prepend=0.0 * total[:, :1])

        step = 0.02
        up = ((upright > tipped) * (height > collapsed) * (torso_down < 0.5) * lived).cummin(1).values
        dx = torch.diff(x, dim=1, prepend=x[:, :1])
        gained = torch.where(dx > 0.0, dx * up, dx)
        pace = gained.sum(1) / ((x.shape[1] - 1) * step) / speed
        windows = per_window(gained, 50, 49) / (50 * step)
        busy = (windows > moving * speed).float()
        going = (busy.mean(1) / moving_share).clamp(0.0, 1.0)
        down = (foot_down > 0.5).float() * up
        air = (foot_down < 0.5).float() * up
        off = air[:, 2:] * air[:, 1:-1] * air[:, :-2]  # off for three steps on end
        flight = (per_window(off, 50, 47) > 0.5).float()
        landing = (per_window(down, 50, 49) > 0.5).float()
        hops = ((flight * landing).mean(1) / moving_share).clamp(0.0, 1.0)
        lasted = up.mean(1)
        stood = up[:, -1] > 0.5
        success = (pace >= 0.995) & (going >= 0.999) & (hops >= 0.999) & (busy[:, -1] > 0.5) & stood
        travelled = torch.minimum(pace.clamp(0.0, 1.0), going)
        progress = travelled * (0.3 + 0.7 * hops) * (0.75 + 0.25 * stood.float())
        return {
            "pace": pace.clamp(0.0, 1.0),
            "going": going,
            "hops": hops,
            "upright": lasted,
            "fitness": 0.8 * progress + 0.2 * success.float(),
            "success": success,
        }
