"""Drafted by a language model for: 'hop forward for eight seconds without falling, at 1 m/s or faster on average'. Nobody has read it: it was accepted by `--yes`.

`metric` is in the language of rewards: `torch`, `math`, `F` and `tolerance` are there without an import.
"""

from __future__ import annotations

from rewardgen import Body, CentreOfMass, ContactForce, Hinge, MujocoTask, Outside, Pair, Shift, Slide, Touching


class HopForward(MujocoTask):
    """A planar one-legged hopper: torso, thigh, leg and a foot; it moves in the x-z plane only and faces +x.

    It starts upright at rest and should hop forward, along +x of the world, for the whole eight seconds of the episode:
    push off with the foot, fly for at least 0.08 s, land on the foot, again and again, at least about once a second,
    at an average of 1 m/s or more (8 m in all, the start included), without ever falling. Sliding or shuffling
    with the foot on the floor, diving and rolling do not count. The torso's height is 1.25 m when it stands straight.
    """

    model = "gymnasium:hopper.xml"
    frame_skip = 10

    episode_steps = 400

    x = Slide("rootx").position  # distance covered forward
    velocity = Body("torso").velocity  # forward is +x
    height = Body("torso").height  # low is fallen
    upright = Body("torso").upright  # tipped over is fallen
    pitch = Hinge("rooty").angle  # lean, positive forwards
    pitch_speed = Hinge("rooty").velocity  # to balance
    com = CentreOfMass("torso").position  # for balance over the foot
    com_velocity = CentreOfMass("torso").velocity  # what the push-off gives
    foot = Body("foot").position  # where it lands
    foot_velocity = Body("foot").velocity  # sliding or swinging
    foot_down = Touching("foot", "floor")  # stance and flight
    leg_down = Touching("leg", "floor")  # in flight nothing touches
    thigh_down = Touching("thigh", "floor")  # fallen
    torso_down = Touching("torso", "floor")  # fallen
    foot_force = ContactForce("foot", "floor")  # push-off
    hip = Hinge("thigh_joint").angle
    hip_speed = Hinge("thigh_joint").velocity
    knee = Hinge("leg_joint").angle
    knee_speed = Hinge("leg_joint").velocity
    ankle = Hinge("foot_joint").angle
    ankle_speed = Hinge("foot_joint").velocity

    ends = {
        "torso on the floor": Outside("torso_down", high=0.5),
        "sank": Outside("height", low=0.5),
        "tipped over": Outside("upright", low=0.0),
    }
    pairs = (
        Pair(
            "upright beats fallen",
            better={"upright": 1.0, "pitch": 0.0, "height": 1.25, "torso_down": 0.0},
            worse={"upright": 0.0, "pitch": 1.57, "height": 0.1, "torso_down": 1.0},
        ),
        Pair(
            "forward beats backward",
            better={"velocity": (1.0, 0.0, 0.0), "com_velocity": (1.0, 0.0, 0.0)},
            worse={"velocity": (-1.0, 0.0, 0.0), "com_velocity": (-1.0, 0.0, 0.0)},
        ),
    )
    invariances = (Shift("x", 3.0),)

    @staticmethod
    def metric(
        x, height, upright, foot_down, leg_down, thigh_down, torso_down, lived,
        *, pace: float = 1.0, hops_needed: float = 6.0, stretch: float = 0.3,
    ):
        """The average speed forward, up to 1 m/s, times how long it lasted without falling and how steadily it hops
        (real flights ended by a landing, in every two seconds); hopping on the spot counts for a little; 0 to 1.

        It covers 1 m/s on average over all eight seconds without falling, with at least six real hops, some in every
        two seconds, and moves at least 0.3 m forward in every two seconds.
        """
        def window_sum(v, n):
            c = F.pad(v.cumsum(1), (1, 0))
            return c[:, n:] - c[:, :-n]

        speed = (x[:, -1] - x[:, 0]) / (0.02 * (x.shape[1] - 1))
        forward = (speed / pace).clamp(0.0, 1.0)

        fallen = (
            (torso_down > 0.5) | (thigh_down > 0.5) | (height < 0.5) | (upright < 0.0) | (lived < 0.5)
        ).float()
        up = 1.0 - fallen.cummax(1).values
        lasted = up.mean(1)

        # a hop: at least 4 steps without any contact, then a landing, before any fall
        off = ((foot_down + leg_down + thigh_down + torso_down) < 0.5).float()
        flight = (window_sum(off, 4) > 3.5).float()
        landing = (torch.diff(flight, dim=1) < -0.5).float() * up[:, 4:]
        count = landing.sum(1)
        often = (window_sum(landing, 100) > 0.5).float().mean(1)  # share of two-second windows with a hop
        hops = (count / hops_needed).clamp(0.0, 1.0) * often

        onward = (((x[:, 100:] - x[:, :-100]) / stretch).clamp(0.0, 1.0)).mean(1)  # keeps going forward
        least = (x[:, 100:] - x[:, :-100]).amin(1)

        not_back = tolerance(speed, lower=-0.1, upper=1000.0, margin=0.2)
        moving = forward * (0.3 + 0.7 * lasted) * (0.3 + 0.7 * hops) * (0.5 + 0.5 * onward)
        progress = 0.1 * hops * lasted * not_back + 0.9 * moving
        success = (
            (speed >= 0.99 * pace)
            & (lasted > 0.999)
            & (count >= hops_needed)
            & (often > 0.95)
            & (least > stretch)
        )
        return {
            "forward": forward,
            "hops": hops,
            "lasted": lasted * forward,
            "onward": onward,
            "fitness": 0.75 * progress + 0.25 * success.float(),
            "success": success,
        }
