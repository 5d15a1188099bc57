"""Drafted by a language model for: 'do one backflip and land standing'. Nobody has read it: it was accepted by `--yes`.

`metric` is in the language of rewards: `torch`, `math`, `F` and `tolerance` are there without an import.
"""

from __future__ import annotations

from rewardgen import Body, CentreOfMass, ContactForce, Hinge, MujocoTask, Outside, Pair, Touching


class Backflip(MujocoTask):
    """A planar one-legged hopper: torso on top, below it thigh, leg and one foot, moving only in the x-z plane.

    It stands upright at the start, its torso's centre 1.25 m above the floor and its toes pointing along +x, which
    is forward. It should jump, turn once backwards in the air (the top of the torso goes towards -x, then down under
    it, then up again in front: `turns` falls from 0 to -1, the pitch rate about +y is negative) and land on its foot,
    then stand there still and upright. Exactly one full turn, without torso or thigh ever touching the floor. An
    episode lasts 5 s, and the last second of it should be spent standing. It ends early if the torso touches the floor.
    """

    model = "gymnasium:hopper.xml"
    frame_skip = 10

    episode_steps = 250
    start_noise = 0.005

    turns = Body("torso").turns("y")  # the flip: 0 at the start, -1 after one backflip, positive is forwards
    spin = Body("torso").angular_velocity  # y component is negative while it turns backwards
    upright = Body("torso").upright  # tells standing from leaning and from upside down
    height = Body("torso").height  # tells standing from a deep fold
    velocity = Body("torso").velocity  # to stand still
    com = CentreOfMass("torso").position  # how high it jumps, whatever its pose
    com_velocity = CentreOfMass("torso").velocity  # take-off speed
    foot_position = Body("foot").position  # to bring the foot under the centre of mass for the landing
    foot_velocity = Body("foot").velocity  # soft landing, no sliding
    foot_down = Touching("foot", "floor")  # tells flight from stance
    foot_force = ContactForce("foot", "floor")  # push-off and landing
    torso_down = Touching("torso", "floor")  # it fell
    thigh_down = Touching("thigh", "floor")  # it fell on its knee or rolls over the floor
    leg_down = Touching("leg", "floor")  # not in flight
    hip = Hinge("thigh_joint").angle  # to crouch, tuck and stretch
    knee = Hinge("leg_joint").angle  # to crouch, tuck and stretch
    ankle = Hinge("foot_joint").angle  # to push off and land
    hip_speed = Hinge("thigh_joint").velocity  # to push off and to come to rest
    knee_speed = Hinge("leg_joint").velocity  # to push off and to come to rest
    ankle_speed = Hinge("foot_joint").velocity  # to push off and to come to rest

    ends = {"fell": Outside("torso_down", high=0.5)}
    pairs = (Pair("turned backwards beats turned forwards", better={"turns": -1.0}, worse={"turns": 1.0}),)

    @staticmethod
    def metric(
        turns,
        upright,
        height,
        velocity,
        spin,
        com,
        foot_down,
        torso_down,
        thigh_down,
        leg_down,
        lived,
        *,
        com_start: float = 0.596,
        full_turn: float = 0.9,
        air_turn: float = 0.55,
        most_turns: float = 1.25,
        stand_height: float = 0.95,
    ):
        """A little for jumping, more for how far it turns backwards in flight (up to one turn), most for standing still on its foot throughout the last second after exactly one backward turn.

        Turning counts only in flight and until torso or thigh touch the floor; turning on to a second flip, or a
        forward flip, forfeits nearly all of it.

        Success: one whole backward turn, most of it in flight, never more than one and a quarter, torso and thigh
        never on the floor, and at the end it stands upright (torso above about 0.95 m), on its foot and nearly still
        for practically all of the last second.
        """
        fallen = (torch.maximum(torso_down, thigh_down) > 0.5).float()
        clean = 1.0 - fallen.cummax(1).values
        on_floor = torch.maximum(torch.maximum(foot_down, leg_down), fallen)
        air = (on_floor < 0.5).float() * clean * lived

        back = -turns
        flown = torch.cumsum(torch.diff(back, dim=1) * air[:, 1:], dim=1)
        reached = torch.minimum(flown / air_turn, back[:, 1:] / full_turn) * clean[:, 1:]
        turned = reached.clamp(0.0, 1.0).amax(1)
        once = tolerance(back.amax(1), lower=-9.0, upper=most_turns, margin=0.3)
        once = once * tolerance(back.amin(1), lower=-0.4, upper=9.0, margin=0.3)
        flipped = turned * once

        rise = ((com[:, :, 2] - com_start - 0.05) * air).amax(1)
        jumped = torch.maximum((rise / 0.2).clamp(0.0, 1.0), turned)

        stand = tolerance(upright, lower=0.85, upper=1.1, margin=0.3)
        stand = stand * tolerance(height, lower=stand_height, upper=1.45, margin=0.3)
        stand = stand * tolerance(velocity.norm(dim=-1), lower=0.0, upper=0.5, margin=0.7)
        stand = stand * tolerance(spin[:, :, 1], lower=-1.0, upper=1.0, margin=1.5)
        stand = stand * tolerance(back, lower=0.85, upper=1.15, margin=0.15)
        stand = stand * (foot_down > 0.5).float() * clean * lived
        stands = stand[:, -50:].mean(1) * flipped

        success = (turned > 0.99) & (once > 0.99) & (stands > 0.85) & (clean[:, -1] > 0.5)
        partial = (0.1 * jumped + 0.4 * flipped + 0.5 * stands).clamp(0.0, 0.85)
        fitness = torch.where(success, 0.9 + 0.1 * stands, partial)
        return {"jumped": jumped, "flipped": flipped, "stands": stands, "fitness": fitness, "success": success}
