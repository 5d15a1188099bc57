"""Drafted by a language model for: 'do one backflip and land standing'. Nobody has read it: it was accepted by `--yes`.

`metric` is in the language of rewards: `torch`, `math`, `F` and `tolerance` are there without an import.
"""

from __future__ import annotations

from rewardgen import Body, CentreOfMass, ContactForce, Hinge, MujocoTask, Outside, Pair, Touching


class Backflip(MujocoTask):
    """A planar one-legged hopper: torso on top, below it thigh, leg and a long foot. It faces +x and moves in the x-z plane only.

    It begins upright with its leg straight, the foot 4 cm above the floor, and should jump, do exactly one backflip
    in the air and land standing on its foot, then stay standing. Backwards means that the head tips towards -x: the torso
    turns about -y, so that `turned` goes from 0 to -1 and `spin` is negative on the way. Only the foot may touch the
    floor. The torso's height is about 1.21 m and the centre of mass is at about 0.56 m when it stands straight.
    """

    model = "gymnasium:hopper.xml"
    frame_skip = 10

    episode_steps = 250
    start_noise = 0.005

    turned = Body("torso").turns("y")  # counts the flip with its direction: a backflip ends at -1
    spin = Hinge("rooty").velocity  # speed of the turn, negative backwards
    upright = Body("torso").upright  # standing at the end, upside down in the middle
    height = Body("torso").height  # tells standing from lying or squatting
    com = CentreOfMass("torso").position  # how high it jumps
    com_velocity = CentreOfMass("torso").velocity  # take-off speed, standing still at the end
    foot_down = Touching("foot", "floor")  # take-off and landing
    torso_down = Touching("torso", "floor")  # a fall, or a roll instead of a flip
    thigh_down = Touching("thigh", "floor")  # a fall, or a roll instead of a flip
    leg_down = Touching("leg", "floor")  # a fall, or kneeling
    foot_force = ContactForce("foot", "floor")  # push at take-off, shock at landing
    foot_position = Body("foot").position  # where the foot is relative to the centre of mass before landing
    thigh_angle = Hinge("thigh_joint").angle  # crouch, tuck, stretch
    leg_angle = Hinge("leg_joint").angle  # crouch, tuck, stretch
    foot_angle = Hinge("foot_joint").angle  # push off, balance
    thigh_speed = Hinge("thigh_joint").velocity  # push off, settle
    leg_speed = Hinge("leg_joint").velocity  # push off, settle
    foot_speed = Hinge("foot_joint").velocity  # push off, settle

    ends = {
        "flew off": Outside("height", high=4.0),
        "turned twice, or forwards": Outside("turned", low=-2.0, high=1.0),
    }
    pairs = (
        Pair(
            "standing after the flip beats having crashed in it",
            better={"turned": -1.0, "upright": 1.0, "height": 1.21, "foot_down": 1.0, "torso_down": 0.0},
            worse={"turned": -0.75, "upright": 0.0, "height": 0.1, "foot_down": 0.0, "torso_down": 1.0},
        ),
        Pair(
            "standing after a backflip beats standing after a forward flip",
            better={"turned": -1.0, "upright": 1.0, "height": 1.21, "foot_down": 1.0},
            worse={"turned": 1.0, "upright": 1.0, "height": 1.21, "foot_down": 1.0},
        ),
    )

    @staticmethod
    def metric(
        turned,
        upright,
        height,
        com,
        com_velocity,
        foot_down,
        torso_down,
        thigh_down,
        leg_down,
        lived,
        *,
        standing: float = 0.85,
        lean: float = 0.75,
        slow: float = 0.5,
        calm: float = 0.25,
        share: float = 0.9,
    ):
        """A clean backflip and a standing landing; 0 to 1. hop: how far the centre of mass rises in a jump (full from 1 m, or by turning). turn: how far the torso turns backwards, from a quarter to nine tenths of a turn, until torso, thigh or leg touch the floor or the foot touches it while the torso is upside down. landed: time on the foot after such a clean turn, up to 0.5 s. stands: how well it stands on its foot, upright and still, one turn further, in the last 0.8 s; less after a touch of the floor. once: never beyond one and a half turns backwards, and never half a turn forwards. Success adds a quarter of the fitness.

        The torso turns backwards once and only once, upside down in the air, with no touch of torso, thigh or leg on the floor from the beginning of the turn on; and in at least nine tenths of the last 0.8 s it stands on its foot one turn further, torso upright and at least 0.85 m high, hardly moving.
        """
        back = -turned
        foot = (foot_down > 0.5).float()
        body = ((torso_down > 0.5) | (thigh_down > 0.5) | (leg_down > 0.5)).float()

        # one turn, backwards
        forwards = (back.cummax(1).values - back).amax(1)
        backwards = forwards < 0.5
        once = (backwards & (back.amax(1) < 1.5)).float()

        # from the first touch that a flip must not have
        inverted = ((back > 0.3) & (back < 0.7)).float()
        foul = torch.maximum(body * (back > 0.1).float(), foot * inverted)
        fouled = foul.cummax(1).values
        clean = 1.0 - fouled

        turn = (((back * clean).amax(1) - 0.25) / 0.65).clamp(0.0, 1.0)
        hop = ((com[:, :, 2].amax(1) - 0.7) / 0.3).clamp(0.0, 1.0) * backwards.float()
        hop = torch.maximum(hop, turn)

        near = (back - 1.0).abs() < 0.25
        on_foot = foot * (1.0 - body) * lived
        landed = ((on_foot * clean * near.float() * (upright > 0.5).float()).sum(1) / 25.0).clamp(0.0, 1.0)

        rate = F.pad(torch.diff(turned, dim=1), (1, 0)).abs() * 50.0
        posture = (
            on_foot
            * tolerance(height, lower=standing, upper=math.inf, margin=0.25)
            * tolerance(upright, lower=lean, upper=math.inf, margin=0.3)
            * tolerance(com_velocity.norm(dim=-1), upper=slow, margin=0.5)
            * tolerance(rate, upper=calm, margin=0.3)
            * tolerance(back, lower=0.85, upper=1.15, margin=0.15)
        )
        stands = posture[:, -40:].mean(1) * (0.4 + 0.6 * clean[:, -1])
        good = (posture[:, -40:] > 0.9).float().mean(1)

        success = (good >= share) & (clean[:, -1] > 0.5) & (once > 0.5)
        progress = (0.1 * hop + 0.4 * turn + 0.2 * landed + 0.3 * stands) * (0.4 + 0.6 * once)
        return {
            "hop": hop,
            "turn": turn,
            "landed": landed,
            "stands": stands,
            "once": once,
            "fitness": 0.75 * progress + 0.25 * success.float(),
            "success": success,
        }
