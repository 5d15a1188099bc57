"""Drafted by a language model for: 'hop forward for eight seconds without falling, at 1 m/s or faster on average'. Nobody has read it: it was accepted by `--yes`.

`metric` is in the language of rewards: `torch`, `math`, `F` and `tolerance` are there without an import.
"""

from __future__ import annotations

from rewardgen import Body, CentreOfMass, ContactForce, Hinge, MujocoTask, Outside, Pair, Shift, Slide, Touching


class HopForward(MujocoTask):
    """A planar one-legged hopper with torso, thigh, leg and foot. It should hop forward, along +x, without falling.

    Its toes point to +x. It starts standing at rest, the torso's height 1.25 m. The episode lasts eight seconds;
    on average over all of it, it should move at 1 m/s or faster (8 m or more), in hops that leave the
    floor again and again, and stay on its foot until the end.
    """

    model = "gymnasium:hopper.xml"
    frame_skip = 10

    episode_steps = 400

    x = Slide("rootx").position  # distance hopped, forward is +
    speed = Slide("rootx").velocity  # forward speed
    vertical = Slide("rootz").velocity  # the hops
    height = Body("torso").height  # 1.25 standing, low when fallen
    upright = Body("torso").upright  # fallen or not
    pitch = Hinge("rooty").angle  # leaning; positive is forward
    pitch_rate = Hinge("rooty").velocity  # tipping over
    com_velocity = CentreOfMass("torso").velocity  # motion of the whole
    foot_down = Touching("foot", "floor")  # stance or flight
    leg_down = Touching("leg", "floor")  # on its shin
    thigh_down = Touching("thigh", "floor")  # fallen
    torso_down = Touching("torso", "floor")  # fallen
    foot_force = ContactForce("foot", "floor")  # push and landing
    hip = Hinge("thigh_joint").angle  # gait; 0 straight, negative bent
    knee = Hinge("leg_joint").angle  # gait; 0 straight, negative bent
    ankle = Hinge("foot_joint").angle  # gait

    ends = {"fell": Outside("height", low=0.45)}
    pairs = (
        Pair("forward beats backward", better={"speed": 1.0}, worse={"speed": -1.0}),
        Pair("forward beats standing", better={"speed": 1.0}, worse={"speed": 0.0}),
        Pair("up beats fallen", better={"height": 1.25, "upright": 1.0, "torso_down": 0.0}, worse={"height": 0.5, "upright": 0.0, "torso_down": 1.0}),
    )
    invariances = (Shift("x", 3.0),)

    @staticmethod
    def metric(x, height, upright, foot_down, leg_down, thigh_down, torso_down, lived,
               *, target: float = 1.0, low: float = 0.6, tilt: float = 0.35, slowest: float = 0.2):
        """The distance hopped forward before any fall as a share of the 8 m that 1 m/s makes in eight seconds, reduced if it falls early, if it slides instead of leaving the floor again and again, and for stretches of two seconds without moving on; 0 to 1.

        It moved at 1 m/s or faster on average over all eight seconds, never fell, left the floor at least once in any two seconds, and kept moving forward.
        """
        def within(x, n):
            total = torch.cumsum(x, dim=1)
            return ((total[:, n:] - total[:, :-n]) > 0.5).float()

        seconds = 0.02 * (x.shape[1] - 1)
        fine = (
            (height > low) & (upright > tilt) & (torso_down < 0.5) & (thigh_down < 0.5) & (lived > 0.5)
        ).float()
        up = fine.cummin(1).values
        made = (torch.diff(x, dim=1) * up[:, 1:]).sum(1)
        distance = (made / (0.995 * target * seconds)).clamp(0.0, 1.0)
        survived = up.mean(1)
        air = ((foot_down + leg_down + thigh_down + torso_down) < 0.5).float() * up
        flight = air[:, 2:] * air[:, 1:-1] * air[:, :-2]
        hops = within(flight, 100).mean(1)
        stretches = (x[:, 100:] - x[:, :-100]) / 2.0
        steady = (stretches / slowest).clamp(0.0, 1.0).mean(1)
        success = (
            (distance > 0.9999)
            & (up.amin(1) > 0.5)
            & (hops > 0.999)
            & (stretches.amin(1) > slowest)
        )
        progress = distance * (0.3 + 0.7 * survived) * (0.2 + 0.8 * hops) * (0.3 + 0.7 * steady)
        fitness = 0.85 * progress + 0.15 * success.float()
        return {
            "distance": distance,
            "survived": survived,
            "hops": hops,
            "steady": steady,
            "fitness": fitness,
            "success": success,
        }
