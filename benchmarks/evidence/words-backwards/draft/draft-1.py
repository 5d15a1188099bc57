"""Drafted by a language model for: 'run backwards as fast as it can, without turning over'.

`metric` is in the language of rewards: `torch`, `math`, `F` and `tolerance` are there without an import.
"""

from __future__ import annotations

from rewardgen import Body, CentreOfMass, Hinge, MujocoTask, Outside, Pair, Shift, Slide, Touching


class RunBackwards(MujocoTask):
    """A planar half cheetah: a horizontal torso with a head at its front, one back leg and one front leg, each with thigh, shin and foot.

    It moves only in the vertical x-z plane. Its head and front leg point along +x, so backwards is along -x of the
    world: x falls and speed is negative. It starts standing still, a little above the floor, and should run backwards,
    tail first, as fast as it can for the whole ten seconds, on its legs, without turning over. The pitch is positive
    when the nose goes down and negative when the nose goes up; beyond 2 rad either way the episode ends.
    """

    model = "gymnasium:half_cheetah.xml"
    frame_skip = 2

    episode_steps = 500
    start_noise = 0.01
    best_fitness = 1.0

    x = Slide("rootx").position.told("m; how far the torso is along the world's x axis, 0 at the start; backwards is negative")  # distance run
    speed = Slide("rootx").velocity.told("m/s; speed of the torso along the world's x axis; backwards is negative; a fast run of this robot is 3 to 10 m/s")  # what has to be large and negative
    pitch = Hinge("rooty").angle.told("rad; pitch of the torso, 0 when level, positive nose down, negative nose up, 1.57 when vertical, counted on beyond a full turn")  # tells turning over
    pitch_rate = Hinge("rooty").velocity  # to notice a turn-over in time
    height = Body("torso").height  # falls when it lies on the floor
    rise = Slide("rootz").velocity  # to damp leaps
    com_velocity = CentreOfMass("torso").velocity  # steadier than the speed of the torso
    torso_down = Touching("torso", "floor").told("1 while the torso or the head touches the floor, else 0")  # sliding on belly or head
    back_down = Touching("bfoot", "floor")  # steps of the back leg
    front_down = Touching("ffoot", "floor")  # steps of the front leg
    back_foot_velocity = Body("bfoot").velocity  # swing and push of the back foot
    front_foot_velocity = Body("ffoot").velocity  # swing and push of the front foot
    back_thigh = Hinge("bthigh").angle  # stride of the back leg
    front_thigh = Hinge("fthigh").angle  # stride of the front leg

    ends = {"turned over": Outside("pitch", low=-2.0, high=2.0)}
    pairs = (Pair("backwards beats forwards", better={"speed": -4.0, "com_velocity": (-4.0, 0.0, 0.0)}, worse={"speed": 4.0, "com_velocity": (4.0, 0.0, 0.0)}),)
    invariances = (Shift("x", 3.0),)

    @staticmethod
    def metric(
        x,
        pitch,
        torso_down,
        back_down,
        front_down,
        lived,
        *,
        dt: float = 0.02,
        running: float = 2.5,
        slowest: float = 0.8,
        scale: float = 4.0,
        vertical: float = 1.57,
        touchdowns: float = 0.6,
        clear: float = 0.75,
    ):
        """Fitness grows with the distance run backwards in the whole episode, without limit of speed, and is reduced for stops, for turning over, for lying on torso or head and for not stepping; every success is above every failure. Parts: `running`, the average backward speed over the episode, up to 2.5 m/s; `fast`, what it runs faster than that, nearing 1 far above 10 m/s; `steady`, the slowest second after the first two seconds, up to 0.8 m/s backwards; `unturned`, the share of the time before an end with the torso less than 90 degrees from level, halved if it turned over; `clear`, the share of the time with torso and head off the floor; `steps`, how often the feet touch down, up to 0.6 times a second.

        Success: it runs backwards at 2.5 m/s or more on average over all ten seconds, never slower than 0.8 m/s over any second after the first two, the torso is never past the vertical for 0.2 s in a row and the episode does not end early, torso and head are off the floor at least three quarters of the time, and the feet step (0.6 touchdowns per second or more, both feet counted).
        """
        steps = x.shape[1]
        seconds = (steps - 1) * dt
        average = (x[:, 0] - x[:, -1]) / seconds
        run = (average / running).clamp(0.0, 1.0)
        fast = 1.0 - torch.exp(-(average - running).clamp(min=0.0) / scale)

        window = (x[:, :-50] - x[:, 50:]) / (50 * dt)
        worst = window[:, 100:].amin(1)
        steady = (worst / slowest).clamp(0.0, 1.0)

        over = (pitch.abs() > vertical).float()
        lasting = over.unfold(1, 10, 1).amin(-1).amax(1)
        kept_up = (lasting < 0.5) & (lived[:, -1] > 0.5)
        unturned = ((1.0 - over) * lived).mean(1) * (0.5 + 0.5 * kept_up.float())

        off_floor = ((torso_down < 0.5).float() * lived).sum(1) / lived.sum(1).clamp(min=1.0)

        back = (back_down > 0.5).float()
        front = (front_down > 0.5).float()
        landings = (torch.diff(back, dim=1) > 0.5).float().sum(1) + (torch.diff(front, dim=1) > 0.5).float().sum(1)
        stepping = (landings / seconds / touchdowns).clamp(0.0, 1.0)

        success = (
            (average >= running)
            & (worst >= slowest)
            & kept_up
            & (off_floor >= clear)
            & (stepping >= 1.0)
        )
        manner = (0.3 + 0.7 * off_floor) * (0.4 + 0.6 * unturned) * (0.5 + 0.5 * steady) * (0.5 + 0.5 * stepping)
        fitness = 0.45 * run * manner + success.float() * (0.15 + 0.4 * fast)
        return {
            "running": run,
            "fast": fast,
            "steady": steady,
            "unturned": unturned,
            "clear": off_floor,
            "steps": stepping,
            "fitness": fitness,
            "success": success,
        }
