"""Drafted by a language model for: 'walk forward for eight seconds without falling, at 1 m/s or faster on average'. Nobody has read it: it was accepted by `--yes`.

`metric` is in the language of rewards: `torch`, `math`, `F` and `tolerance` are there without an import.
"""

from __future__ import annotations

from rewardgen import Body, Hinge, MujocoTask, Outside, Pair, Shift, Slide, Touching


class WalkForward(MujocoTask):
    """A planar biped with a torso and two legs (thigh, leg, foot each). It should walk forward, along +x, without falling.

    Its toes point to +x. It starts standing at rest, the torso's height 1.25 m. The episode lasts eight seconds;
    on average over all of it, it should move at 1 m/s or faster (8 m or more), stepping with both feet
    in turn, and stay up until the end.
    """

    model = "gymnasium:walker2d_v5.xml"
    frame_skip = 10

    episode_steps = 400

    x = Slide("rootx").position  # distance walked, forward is +
    speed = Slide("rootx").velocity  # forward speed
    vertical = Slide("rootz").velocity  # bouncing
    height = Body("torso").height  # 1.25 standing, low when fallen
    upright = Body("torso").upright  # fallen or not
    pitch = Hinge("rooty").angle  # leaning; positive is forward
    pitch_rate = Hinge("rooty").velocity  # tipping over
    right_down = Touching("foot", "floor")  # steps
    left_down = Touching("foot_left", "floor")  # steps
    torso_down = Touching("torso", "floor")  # fallen
    right_thigh_down = Touching("thigh", "floor")  # fallen
    left_thigh_down = Touching("thigh_left", "floor")  # fallen
    right_foot = Body("foot").position  # stride and foot height
    left_foot = Body("foot_left").position  # stride and foot height
    right_hip = Hinge("thigh_joint").angle  # gait; negative bends
    left_hip = Hinge("thigh_left_joint").angle  # gait; negative bends
    right_knee = Hinge("leg_joint").angle  # gait; negative bends
    left_knee = Hinge("leg_left_joint").angle  # gait; negative bends
    right_hip_rate = Hinge("thigh_joint").velocity  # swing of the leg
    left_hip_rate = Hinge("thigh_left_joint").velocity  # swing of the leg

    ends = {"fell": Outside("height", low=0.45)}
    pairs = (
        Pair("forward beats backward", better={"speed": 1.0}, worse={"speed": -1.0}),
        Pair("forward beats standing", better={"speed": 1.0}, worse={"speed": 0.0}),
        Pair("up beats fallen", better={"height": 1.25, "upright": 1.0, "torso_down": 0.0}, worse={"height": 0.5, "upright": 0.0, "torso_down": 1.0}),
    )
    invariances = (Shift("x", 3.0),)

    @staticmethod
    def metric(x, height, upright, right_down, left_down, torso_down, right_thigh_down, left_thigh_down, lived,
               *, target: float = 1.0, low: float = 0.6, tilt: float = 0.35, slowest: float = 0.2):
        """The distance walked forward before any fall as a share of the 8 m that 1 m/s makes in eight seconds, reduced if it falls early, if its feet do not take turns, and for stretches of two seconds without moving on; 0 to 1.

        It moved at 1 m/s or faster on average over all eight seconds, never fell, bore itself on each foot alone within any two seconds, and kept moving forward.
        """
        def within(x, n):
            total = torch.cumsum(x, dim=1)
            return ((total[:, n:] - total[:, :-n]) > 0.5).float()

        seconds = 0.02 * (x.shape[1] - 1)
        body = torso_down + right_thigh_down + left_thigh_down
        fine = ((height > low) & (upright > tilt) & (body < 0.5) & (lived > 0.5)).float()
        up = fine.cummin(1).values
        made = (torch.diff(x, dim=1) * up[:, 1:]).sum(1)
        distance = (made / (0.995 * target * seconds)).clamp(0.0, 1.0)
        survived = up.mean(1)

        def alone(bearing, swinging):
            single = ((bearing > 0.5) & (swinging < 0.5)).float() * up
            lasting = single[:, 2:] * single[:, 1:-1] * single[:, :-2]
            return within(lasting, 100)

        steps = (alone(right_down, left_down) * alone(left_down, right_down)).mean(1)
        stretches = (x[:, 100:] - x[:, :-100]) / 2.0
        steady = (stretches / slowest).clamp(0.0, 1.0).mean(1)
        success = (
            (distance > 0.9999)
            & (up.amin(1) > 0.5)
            & (steps > 0.999)
            & (stretches.amin(1) > slowest)
        )
        progress = distance * (0.3 + 0.7 * survived) * (0.2 + 0.8 * steps) * (0.3 + 0.7 * steady)
        fitness = 0.85 * progress + 0.15 * success.float()
        return {
            "distance": distance,
            "survived": survived,
            "steps": steps,
            "steady": steady,
            "fitness": fitness,
            "success": success,
        }
