"""Drafted by a language model for: 'pick up the ball and hold it at least 30 cm above the floor for two seconds'. Nobody has read it: it was accepted by `--yes`.

`metric` is in the language of rewards: `torch`, `math`, `F` and `tolerance` are there without an import.
"""

from __future__ import annotations

from rewardgen import Body, ContactForce, Distance, MujocoTask, Pair, Slide, Touching


class PickUp(MujocoTask):
    """A crane: a wrist that moves up and down along z, with two fingers that close along y. It should pick up the ball and hold it.

    The ball lies on the floor below the hand, its centre at a height of 0.04 m, which is its radius; the
    wrist begins at 0.5 m, the fingers 0.08 m below it. The fingers close when the joints left and right both go
    negative. The ball should be taken between the fingers, lifted until its lowest point is at least 0.3 m above
    the floor (its centre at 0.34 m or more) and held there for two seconds without a break.
    """

    model = "../robots/crane.xml"
    frame_skip = 5

    episode_steps = 400

    ball_height = Body("ball").height  # what has to rise
    ball_velocity = Body("ball").velocity  # held or flying
    wrist_height = Body("wrist").height  # to go down and up
    lift_velocity = Slide("lift").velocity  # to move calmly
    left = Slide("left").position  # negative closes
    right = Slide("right").position  # negative closes
    left_distance = Distance("left_finger", "ball")  # to reach the ball
    right_distance = Distance("right_finger", "ball")  # to reach the ball
    left_touch = Touching("left_finger", "ball")  # grip
    right_touch = Touching("right_finger", "ball")  # grip
    wrist_touch = Touching("wrist", "ball")  # the ball rests against the wrist
    left_grip = ContactForce("left_finger", "ball")  # how firmly
    right_grip = ContactForce("right_finger", "ball")  # how firmly
    ball_down = Touching("ball", "floor")  # picked up or not

    pairs = (
        Pair(
            "held up beats held low",
            better={"ball_height": 0.36, "left_touch": 1.0, "right_touch": 1.0, "ball_down": 0.0},
            worse={"ball_height": 0.04, "left_touch": 1.0, "right_touch": 1.0, "ball_down": 1.0},
        ),
    )

    @staticmethod
    def metric(ball_height, left_distance, right_distance, left_touch, right_touch, wrist_touch, ball_down, lived,
               *, high: float = 0.335, start: float = 0.05):
        """A little for reaching the ball and for gripping it with both fingers for half a second, then how high it is carried in the hand, and mostly how much of the best two seconds it is held at least 0.3 m above the floor; 0 to 1.

        The hand holds the ball, its lowest point at least 0.3 m above the floor, for two seconds without a break.
        """
        def share(x, n):
            total = F.pad(torch.cumsum(x, dim=1), (1, 0))
            return (total[:, n:] - total[:, :-n]) / n

        far = torch.maximum(left_distance, right_distance)
        first = far[:, 0].clamp(min=0.2)
        reached = ((first - far.amin(1)) / (first - 0.08)).clamp(0.0, 1.0)
        both = (left_touch > 0.5).float() * (right_touch > 0.5).float() * lived
        gripped = share(both, 25).amax(1).clamp(0.0, 1.0)
        touch = (torch.maximum(torch.maximum(left_touch, right_touch), wrist_touch) > 0.5).float()
        carried = touch * (ball_down < 0.5).float() * lived
        rise = ((ball_height - start) / (high - start)).clamp(0.0, 1.0) * carried
        lifted = share(rise, 25).amax(1).clamp(0.0, 1.0)
        there = (ball_height >= high).float() * (ball_down < 0.5).float() * lived
        held_now = share(there * touch, 100)
        held = held_now.amax(1).clamp(0.0, 1.0)
        success = ((share(there, 100) > 0.999) & (held_now > 0.95)).any(1)
        progress = 0.05 * reached + 0.1 * gripped + 0.3 * lifted + 0.55 * held
        fitness = 0.75 * progress + 0.25 * success.float()
        return {
            "reached": reached,
            "gripped": gripped,
            "lifted": lifted,
            "held": held,
            "fitness": fitness,
            "success": success,
        }
