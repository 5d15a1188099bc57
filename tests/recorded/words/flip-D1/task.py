"""Drafted by a language model for: 'do one backflip and land standing'. Nobody has read it: it was accepted by `--yes`.

`metric` is in the language of rewards: `torch`, `math`, `F` and `tolerance` are there without an import.
"""

from __future__ import annotations

from rewardgen import Body, CentreOfMass, ContactForce, Hinge, MujocoTask, Pair, Touching


class Backflip(MujocoTask):
    """A planar one-legged hopper with torso, thigh, leg and foot. It should do one backflip and land standing.

    Its toes point to +x. It starts standing at rest, the torso's height 1.25 m. A backflip is one full turn with the
    head going towards -x first: `turns` goes from 0 to -1 (forward would be positive), in the air, not by
    rolling over the floor. It should land on the foot and stand upright and nearly still until the end of five
    seconds, turned by exactly one turn.
    """

    model = "gymnasium:hopper.xml"
    frame_skip = 10

    episode_steps = 250

    turns = Body("torso").turns("y")  # 0 at the start, -1 after one backflip
    pitch_rate = Hinge("rooty").velocity  # negative while flipping backwards
    upright = Body("torso").upright  # to stand at the end
    height = Body("torso").height  # 1.25 standing
    com = CentreOfMass("torso").position  # how high it jumps; z 0.6 standing
    com_velocity = CentreOfMass("torso").velocity  # take-off speed, and stillness at the end
    foot_down = Touching("foot", "floor")  # standing, and in the air or not
    leg_down = Touching("leg", "floor")  # in the air or not
    thigh_down = Touching("thigh", "floor")  # fallen
    torso_down = Touching("torso", "floor")  # fallen, or rolling instead of flipping
    foot_force = ContactForce("foot", "floor")  # push of the take-off, hardness of the landing
    hip = Hinge("thigh_joint").angle  # tucking; 0 straight, negative bent
    knee = Hinge("leg_joint").angle  # crouching and tucking; 0 straight, negative bent
    ankle = Hinge("foot_joint").angle  # to push off and to balance

    pairs = (
        Pair(
            "standing after one backflip beats standing without",
            better={"turns": -1.0, "upright": 1.0, "height": 1.25, "foot_down": 1.0},
            worse={"turns": 0.0, "upright": 1.0, "height": 1.25, "foot_down": 1.0},
        ),
    )

    @staticmethod
    def metric(turns, upright, height, com, com_velocity, foot_down, leg_down, thigh_down, torso_down, lived,
               *, in_air: float = 0.5, slack: float = 0.15, low: float = 0.85, slow: float = 0.6):
        """Mostly how far it turned backwards in the air, before its body touched the floor and not beyond one turn (half), and how much of the last second it then stands on its foot, upright, still and turned by one turn (nearly half); a little for jumping; 0 to 1.

        It turned once backwards, upside down in the air, torso and thigh never touched the floor, and it stands on its foot, upright, nearly still and turned by exactly one turn throughout the last second.
        """
        back = -turns
        body = ((torso_down + thigh_down) > 0.5).float()
        clean = 1.0 - body.cummax(1).values
        air = ((foot_down + leg_down + thigh_down + torso_down) < 0.5).float()
        free = air * clean * lived
        jumped = ((((com[..., 2] - com[:, :1, 2]) * free).amax(1) - 0.05) / 0.25).clamp(0.0, 1.0)
        flown = (torch.diff(back, dim=1) * free[:, 1:]).sum(1)
        over = tolerance(back.amax(1), upper=1.25, margin=0.35) * tolerance(back.amin(1), lower=-0.3, margin=0.3)
        turned = (flown / in_air).clamp(0.0, 1.0) * back.amax(1).clamp(0.0, 1.0) * over
        head_down = ((back > 0.3) & (back < 0.7)).float()
        supported = (head_down * (1.0 - free)).sum(1) / head_down.sum(1).clamp(min=1.0)
        airborne = (1.0 - supported).clamp(0.0, 1.0)

        near = tolerance(back, lower=1.0 - slack, upper=1.0 + slack, margin=0.15)
        up = tolerance(upright, lower=0.8, upper=1.01, margin=0.3)
        tall = tolerance(height, lower=low, upper=1.6, margin=0.2)
        calm = tolerance(com_velocity.norm(dim=-1)[:, -50:].mean(1), upper=slow, margin=0.6)
        on_foot = (foot_down[:, -50:].mean(1) / 0.8).clamp(0.0, 1.0)
        stands = (near * up * tall * lived)[:, -50:].mean(1) * calm * on_foot

        last = slice(-50, None)
        throughout = (
            (back[:, last] > 1.0 - slack)
            & (back[:, last] < 1.0 + slack)
            & (upright[:, last] > 0.8)
            & (height[:, last] > low)
            & (height[:, last] < 1.6)
            & (lived[:, last] > 0.5)
        ).all(1)
        success = (
            throughout
            & (calm > 0.999)
            & (on_foot > 0.999)
            & (flown > in_air)
            & (over > 0.999)
            & (airborne > 0.9)
            & (clean.amin(1) > 0.5)
        )
        progress = 0.05 * jumped + 0.5 * turned * airborne + 0.45 * turned * airborne * stands
        fitness = 0.75 * progress + 0.25 * success.float()
        return {
            "jumped": jumped,
            "turned": turned,
            "airborne": airborne,
            "stands": stands,
            "fitness": fitness,
            "success": success,
        }
