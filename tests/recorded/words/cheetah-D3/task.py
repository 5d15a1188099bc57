"""Drafted by a language model for: 'run forward for fifty seconds at 2 m/s or faster on average, without doing it on its back'. Nobody has read it: it was accepted by `--yes`.

`metric` is in the language of rewards: `torch`, `math`, `F` and `tolerance` are there without an import.
"""

from __future__ import annotations

from rewardgen import Body, ContactForce, Hinge, MujocoTask, Outside, Pair, Shift, Slide, Touching


class RunForward(MujocoTask):
    """A planar two-legged cheetah: a torso with a head in front, a back leg and a front leg, each of thigh, shin and foot.

    It moves in the x-z plane only, faces +x and begins standing, its torso 0.7 m high. It should run forward, along +x of
    the world, for all fifty seconds, at 2 m/s or faster on average (100 m in all, the start included), right side up:
    belly to the floor (`upright` near 1), never on its back (`upright` below 0) and without somersaults. It should run
    on its legs, not slide on belly or head. An episode ends when it rolls over (`upright` below -0.3).
    """

    model = "gymnasium:half_cheetah.xml"
    frame_skip = 2

    episode_steps = 2500

    x = Slide("rootx").position  # distance covered forward
    velocity = Body("torso").velocity  # forward is +x
    upright = Body("torso").upright  # below 0 it is on its back
    height = Body("torso").height  # carried or dragged
    spin = Body("torso").angular_velocity  # y; to keep from rolling over
    torso_down = Touching("torso", "floor")  # torso or head on the floor: sliding
    bfoot_down = Touching("bfoot", "floor")  # steps
    ffoot_down = Touching("ffoot", "floor")
    bshin_down = Touching("bshin", "floor")  # on its knees
    fshin_down = Touching("fshin", "floor")
    bfoot_force = ContactForce("bfoot", "floor")  # push-off
    ffoot_force = ContactForce("ffoot", "floor")
    bthigh = Hinge("bthigh").angle
    bshin = Hinge("bshin").angle
    bfoot = Hinge("bfoot").angle
    fthigh = Hinge("fthigh").angle
    fshin = Hinge("fshin").angle
    ffoot = Hinge("ffoot").angle
    bthigh_speed = Hinge("bthigh").velocity
    bshin_speed = Hinge("bshin").velocity
    bfoot_speed = Hinge("bfoot").velocity
    fthigh_speed = Hinge("fthigh").velocity
    fshin_speed = Hinge("fshin").velocity
    ffoot_speed = Hinge("ffoot").velocity

    ends = {"on its back": Outside("upright", low=-0.3)}
    pairs = (
        Pair(
            "forward beats backward",
            better={"velocity": (2.0, 0.0, 0.0)},
            worse={"velocity": (-2.0, 0.0, 0.0)},
        ),
        Pair(
            "running right side up beats lying on its back",
            better={"upright": 1.0, "velocity": (2.0, 0.0, 0.0), "height": 0.6, "torso_down": 0.0},
            worse={"upright": -1.0, "velocity": (0.0, 0.0, 0.0), "height": 0.1, "torso_down": 1.0},
        ),
    )
    invariances = (Shift("x", 3.0),)

    @staticmethod
    def metric(x, upright, torso_down, lived, *, pace: float = 2.0, stretch: float = 0.75, going: float = 0.85):
        """The average speed forward, up to 2 m/s, times the share of the fifty seconds that it is right side up and
        goes on, how little it slides on torso or head, and how steadily it moves forward; 0 to 1.

        It covers 2 m/s on average over all fifty seconds, is never rolled over (on its back in less than 2 % of the
        time, never beyond -0.3), goes on for at least 85 % of the time (0.75 m forward within three seconds), and has torso and head off the
        floor at least 70 % of the time.
        """
        speed = (x[:, -1] - x[:, 0]) / (0.02 * (x.shape[1] - 1))
        forward = (speed / pace).clamp(0.0, 1.0)

        right = ((upright > 0.0).float() * lived).mean(1)
        carried = 1.0 - torso_down.mean(1).clamp(0.0, 1.0)

        advance = x[:, 150:] - x[:, :-150]  # in every three seconds
        onward = (advance / stretch).clamp(0.0, 1.0).mean(1)

        progress = (
            forward * (0.1 + 0.9 * right) * (0.4 + 0.6 * carried) * (0.5 + 0.5 * onward)
        )
        success = (
            (speed >= 0.995 * pace)
            & (lived.amin(1) > 0.5)
            & (upright.amin(1) > -0.3)
            & (right > 0.98)
            & (carried > 0.7)
            & (onward > going)
        )
        return {
            "forward": forward,
            "right_side_up": right * forward,
            "carried": carried * forward,
            "onward": onward,
            "fitness": 0.75 * progress + 0.25 * success.float(),
            "success": success,
        }
