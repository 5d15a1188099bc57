"""Drafted by a language model for: 'jump on the spot, as high as you can, again and again'. Nobody has read it: it was accepted by `--yes`.

`metric` is in the language of rewards: `torch`, `math`, `F` and `tolerance` are there without an import.
"""

from __future__ import annotations

from rewardgen import Body, CentreOfMass, ContactForce, Hinge, MujocoTask, Outside, Pair, Touching


class JumpOnTheSpot(MujocoTask):
    """A one-legged planar hopper: a torso above a thigh, a leg and one foot, moving only in the x-z plane (x forward, z up).

    It begins standing upright on its foot, with the centre of mass at a height of about 0.6 m and the torso at 1.25 m. It should
    jump straight up as high as it can, land on its foot where it took off, and jump again, over and over until the episode
    ends after 10 s. Height is measured by the centre of mass while nothing touches the floor. It should stay near x = 0 and
    never fall. All joint angles are 0 in standing with a straight leg; negative thigh and leg angles bend the leg.
    """

    model = "gymnasium:hopper.xml"
    frame_skip = 10

    episode_steps = 500
    start_noise = 0.005

    com = CentreOfMass("torso").position  # how high it jumps, and whether it stays on the spot
    com_velocity = CentreOfMass("torso").velocity  # speed of take-off, drift
    height = Body("torso").height  # tells standing from lying
    upright = Body("torso").upright  # keeps balance
    pitch = Hinge("rooty").angle  # which way it leans
    pitch_rate = Hinge("rooty").velocity  # to damp the rotation in flight
    foot = Body("foot").position  # where it lands, how high it is lifted
    thigh_angle = Hinge("thigh_joint").angle  # crouch and push
    leg_angle = Hinge("leg_joint").angle  # crouch and push
    foot_angle = Hinge("foot_joint").angle  # flat foot for landing
    foot_down = Touching("foot", "floor")  # stance or flight
    leg_down = Touching("leg", "floor")  # not in the air
    thigh_down = Touching("thigh", "floor")  # fallen
    torso_down = Touching("torso", "floor")  # fallen
    foot_force = ContactForce("foot", "floor")  # push-off and landing

    ends = {"lies on the floor": Outside("height", low=0.3)}
    pairs = (
        Pair(
            "upright beats fallen",
            better={"height": 1.25, "upright": 1.0, "pitch": 0.0, "torso_down": 0.0},
            worse={"height": 0.35, "upright": 0.0, "pitch": 1.57, "torso_down": 1.0},
        ),
    )

    @staticmethod
    def metric(
        com,
        upright,
        foot_down,
        leg_down,
        thigh_down,
        torso_down,
        lived,
        *,
        standing: float = 0.6,
        enough: float = 0.15,
        aloft: float = 6.0,
        needed: float = 4.0,
        pause: float = 150.0,
        room: float = 0.5,
    ):
        """Fitness: how high the four highest jumps of the episode are, each higher one paying more (with less and less gain, up to 1.2 m above standing), lowered by straying from the start, by falling and by leaning, plus a bonus for success. A jump is a flight, with nothing touching the floor, that follows a stance on the foot with the centre of mass back down near its height in standing. Parts: height, the heights of the four highest jumps; repeats, how many of four jumps lift the centre of mass at least 0.15 m above standing, in a flight that has lasted 0.12 s by then; going, that pauses between such jumps stay short up to the end; spot, that the centre of mass stays within 0.5 m of where it began in x; clean, that neither torso nor thigh lies on the floor.

        Success: at least four jumps that lift the centre of mass 0.15 m or more above its height in standing (0.6 m) and are real flights, not a stretch onto the toe with a short hop, never more than 3 s without such a jump from beginning to end, always within 0.5 m of the start in x, without torso or thigh resting on the floor and without the episode ending early.
        """
        t = torch.ones_like(upright).cumsum(1)
        alive = lived > 0.5
        rise = com[:, :, 2] - standing
        touching = (foot_down > 0.5) | (leg_down > 0.5) | (thigh_down > 0.5) | (torso_down > 0.5)
        flying = alive & ~touching
        stance = alive & (foot_down > 0.5) & (rise < 0.06)
        last_stance = (t * stance.float()).cummax(1).values
        last_touch = (t * touching.float()).cummax(1).values
        since_touch = t - last_touch

        def jumps(level, least):
            high = flying & (rise >= level) & (since_touch >= least)
            last_high = (t * high.float()).cummax(1).values
            before = F.pad(last_high[:, :-1], (1, 0))
            count = (high & (last_stance > before)).float().sum(1)
            return count, (t - last_high).amax(1)

        levels = 24
        total = 1.0 - math.exp(-0.14 * levels)
        height = torch.zeros_like(upright[:, 0])
        for i in range(1, levels + 1):
            weight = (math.exp(-0.14 * (i - 1)) - math.exp(-0.14 * i)) / total
            count, _ = jumps(0.05 * i, 1.0)
            height = height + weight * (count / needed).clamp(0.0, 1.0)
        height = height.clamp(0.0, 1.0)

        count, longest = jumps(enough, aloft)
        repeats = (count / needed).clamp(0.0, 1.0)
        going = tolerance(longest, upper=pause, margin=250.0)

        drift = ((com[:, :, 0] - com[:, :1, 0]).abs() * lived).amax(1)
        spot = tolerance(drift, upper=room, margin=1.0)

        down = ((torso_down > 0.5) | (thigh_down > 0.5)).float() * lived
        fallen = down.unfold(1, 8, 1).amin(-1).amax(1)
        clean = (1.0 - fallen) * (0.5 + 0.5 * lived[:, -1])
        balance = ((upright * lived).sum(1) / lived.sum(1).clamp(min=1.0) / 0.7).clamp(0.0, 1.0)

        success = (
            (count >= needed)
            & (longest <= pause)
            & (drift <= room)
            & (fallen < 0.5)
            & (lived[:, -1] > 0.5)
        )
        progress = height * (0.15 + 0.85 * spot) * (0.4 + 0.6 * clean) * (0.7 + 0.3 * balance) * (0.6 + 0.4 * going)
        fitness = 0.55 * progress + 0.45 * success.float()
        return {
            "height": height,
            "repeats": repeats,
            "going": going,
            "spot": spot,
            "clean": clean,
            "fitness": fitness,
            "success": success,
        }
