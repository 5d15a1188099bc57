"""Drafted by a language model for: 'do one backflip and land standing'. Nobody has read it: it was accepted by `--yes`.

`metric` is in the language of rewards: `torch`, `math`, `F` and `tolerance` are there without an import.
"""

from __future__ import annotations

from rewardgen import Body, CentreOfMass, ContactForce, Hinge, MujocoTask, Outside, Pair, Touching


class Backflip(MujocoTask):
    """A planar one-legged hopper: torso, thigh, leg and a foot; it moves in the x-z plane only and faces +x.

    It starts upright at rest and should jump off its foot, turn exactly once backwards in the air and land on its foot,
    then stay standing nearly at rest until the end. Backwards means that the top of the torso goes towards -x first:
    `turns` runs from 0 to -1 and the angular velocity about y is negative. Turning forwards, turning twice, or rolling
    over the floor on torso or thigh does not count. The torso's height is 1.25 m when it stands with a straight leg.
    """

    model = "gymnasium:hopper.xml"
    frame_skip = 10

    episode_steps = 200

    turns = Body("torso").turns("y")  # -1 is one backflip, +1 a frontflip
    upright = Body("torso").upright  # to land upright
    height = Body("torso").height  # leap and stance
    velocity = Body("torso").velocity  # take-off speed, and rest after landing
    spin = Body("torso").angular_velocity  # y is negative in a backflip
    com = CentreOfMass("torso").position  # for balance over the foot
    com_velocity = CentreOfMass("torso").velocity  # take-off of the whole body
    foot = Body("foot").position  # where it stands, how high it jumps
    foot_down = Touching("foot", "floor")  # take-off and landing
    leg_down = Touching("leg", "floor")  # in the air nothing touches
    thigh_down = Touching("thigh", "floor")  # rolling or sitting, not a flip
    torso_down = Touching("torso", "floor")  # fallen
    foot_force = ContactForce("foot", "floor")  # push-off and landing
    hip = Hinge("thigh_joint").angle  # crouch and tuck
    hip_speed = Hinge("thigh_joint").velocity
    knee = Hinge("leg_joint").angle  # crouch and tuck
    knee_speed = Hinge("leg_joint").velocity
    ankle = Hinge("foot_joint").angle
    ankle_speed = Hinge("foot_joint").velocity

    ends = {"fell on the torso": Outside("torso_down", high=0.5)}
    pairs = (
        Pair(
            "standing after the flip beats lying after it",
            better={"turns": -1.0, "upright": 1.0, "height": 1.2, "torso_down": 0.0},
            worse={"turns": -1.25, "upright": 0.0, "height": 0.1, "torso_down": 1.0},
        ),
    )

    @staticmethod
    def metric(
        turns, upright, height, velocity, foot_down, leg_down, thigh_down, torso_down, lived,
        *, rise: float = 0.25, air_turn: float = 0.8, tall: float = 0.8, straight: float = 0.8, slow: float = 0.5,
    ):
        """A leap (a little), how much of one backward turn is made in the air, and how well it stands during the last
        second after exactly one backward turn; 0 to 1. More than one turn, or turning forwards, loses the credit.

        It has turned exactly once backwards, at least half of that in the air, torso and thigh never touched the floor,
        and throughout the last second it stands upright (cosine above 0.8), torso higher than 0.8 m, with a mean speed
        below 0.5 m/s.
        """
        contact = foot_down + leg_down + thigh_down + torso_down
        air = (contact < 0.5).float() * (height > 0.4).float() * lived
        leap = (((height - 1.25) * air).amax(1) / rise).clamp(0.0, 1.0)

        # backward turn in the air; never more than the torso has really turned back
        in_air = (-torch.diff(turns, dim=1) * air[:, 1:]).sum(1)
        back = -turns.amin(1)
        flown = torch.minimum(in_air, back)
        returned = (turns - turns.cummin(1).values).amax(1)  # turning forwards, before or after
        once = tolerance(back, lower=-1.0, upper=1.35, margin=0.3) * tolerance(returned, upper=0.4, margin=0.3)
        flip = (flown / air_turn).clamp(0.0, 1.0) * (0.2 + 0.8 * once)

        clean = ((torso_down + thigh_down).amax(1) < 0.5).float()
        speed = velocity.norm(dim=-1)
        stands = (
            tolerance(turns, lower=-1.12, upper=-0.88, margin=0.15)
            * tolerance(upright, lower=straight, upper=1.1, margin=0.4)
            * tolerance(height, lower=tall, upper=1.5, margin=0.3)
            * tolerance(speed, upper=slow, margin=0.8)
            * lived
        )
        landed = stands[:, -50:].mean(1) * (0.3 + 0.7 * clean) * (0.2 + 0.8 * once) * (flown / 0.5).clamp(0.0, 1.0)

        end = slice(-50, None)
        success = (
            (flown > 0.5)
            & (back < 1.4)
            & (returned < 0.45)
            & (clean > 0.5)
            & (turns[:, end].amin(1) > -1.15)
            & (turns[:, end].amax(1) < -0.85)
            & (upright[:, end].amin(1) > straight)
            & (height[:, end].amin(1) > tall)
            & (height[:, end].amax(1) < 1.5)
            & (speed[:, end].mean(1) < slow)
            & (lived.amin(1) > 0.5)
        )
        progress = 0.1 * leap + 0.45 * flip + 0.45 * landed
        return {
            "leap": leap,
            "flip": flip,
            "once": once,
            "landed": landed,
            "fitness": 0.6 * progress + 0.4 * success.float(),
            "success": success,
        }
