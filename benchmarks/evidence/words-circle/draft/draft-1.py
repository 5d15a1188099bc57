"""Drafted by a language model for: 'draw circles around the middle of the table with the fingertip, at a steady pace'.

`metric` is in the language of rewards: `torch`, `math`, `F` and `tolerance` are there without an import.
"""

from __future__ import annotations

from rewardgen import Body, Distance, Effort, Hinge, MujocoTask


class DrawCircles(MujocoTask):
    """A flat arm with two links on a table: a shoulder in the middle of the table, an elbow and a fingertip. The fingertip should draw circles around the middle of the table, one after the other, at a steady pace, until the end of the episode.

    The middle of the table is the origin of the world, x = y = 0, where the shoulder is fixed; all moves in the
    horizontal x-y plane. The fingertip reaches from about 0.02 m to 0.21 m from the middle; at the start the arm is
    stretched out along +x. Any radius of at least 0.03 m will do if it stays the same, and either direction if it
    is kept: positive turns are to the left, from x to y. The pace is steady if the angle of the fingertip about the
    middle advances equally fast all the time, without pauses or reversals: between about one circle in 5 s and three
    circles per second, not a whirl. The first 3 of the 10 s may be used to get to the circle and up to pace. The
    target that lies on the table plays no part.
    """

    model = "gymnasium:reacher.xml"
    frame_skip = 2

    episode_steps = 500
    start_noise = 0.01

    tip = Body("fingertip").position  # what draws: its angle and distance about the origin
    tip_velocity = Body("fingertip").velocity  # the pace of drawing
    radius = Distance("body0", "fingertip").told("distance of the fingertip from the middle of the table: the radius of the circle")  # to hold the radius
    shoulder_velocity = Hinge("joint0").velocity  # turns the whole arm
    elbow = Hinge("joint1").angle  # sets the radius
    elbow_velocity = Hinge("joint1").velocity  # changes the radius
    shoulder_effort = Effort("joint0")  # for smooth driving
    elbow_effort = Effort("joint1")  # for smooth driving

    @staticmethod
    def metric(
        tip,
        tip_velocity,
        *,
        circles: float = 1.9,
        late_circles: float = 1.25,
        smallest: float = 0.03,
        radius_off: float = 0.1,
        pace_off: float = 0.25,
        fastest: float = 3.0,
        share: float = 0.95,
    ):
        """How many circles the fingertip makes about the middle, net, in the whole episode and in the last 7 s (laps), how constant its distance from the middle is in the last 7 s (round), how constant its angular pace is there (steady), both only as far as it goes on circling, and whether it is no whirl (calm); fitness is their product, with floors for what is half right, and a bonus for success; 0 to 1.

        It makes about two full circles or more in one direction and keeps circling through the last 7 s, at a mean radius of at least 3 cm, with the radius within a tenth and the angular pace within a quarter of their means for at least 95 % of that time, and at no more than three circles per second.
        """
        late = 350
        step = 0.02
        window = 5
        turn = 2.0 * math.pi

        distance = tip[..., :2].norm(dim=-1)
        phase = torch.atan2(tip[..., 1], tip[..., 0])
        advance = torch.remainder(torch.diff(phase, dim=1) + math.pi, turn) - math.pi
        net = advance.sum(1)
        direction = torch.where(net >= 0.0, torch.ones_like(net), -torch.ones_like(net))
        advance = advance * direction[:, None]
        total = net.abs() / turn
        kept = (advance[:, -late:].sum(1) / turn).clamp(min=0.0)
        going = (kept / late_circles).clamp(0.0, 1.0)
        laps = 0.5 * (total / circles).clamp(0.0, 1.0) + 0.5 * going

        r = distance[:, -late:]
        r_mean = r.mean(1).clamp(min=0.005)
        r_error = (r / r_mean[:, None] - 1.0).abs()
        r_kept = (r_error <= radius_off).float().mean(1)
        large = (r_mean / smallest).clamp(0.0, 1.0)
        round_ = tolerance(r_error, upper=radius_off, margin=0.25).mean(1) * large * going

        w = advance[:, -late:].unfold(1, window, 1).sum(-1) / (window * step)
        w_mean = w.mean(1).clamp(min=0.2)
        w_error = (w / w_mean[:, None] - 1.0).abs()
        w_kept = (w_error <= pace_off).float().mean(1)
        steady = tolerance(w_error, upper=pace_off, margin=0.5).mean(1) * going

        speed = tip_velocity[:, -late:, :2].norm(dim=-1).mean(1)
        per_second = speed / (turn * r_mean)
        calm = tolerance(per_second, upper=fastest, margin=3.0)

        success = (
            (total >= circles)
            & (kept >= late_circles)
            & (r_mean >= smallest)
            & (r_kept >= share)
            & (w_kept >= share)
            & (per_second <= fastest)
        )
        progress = laps * (0.35 + 0.65 * round_) * (0.35 + 0.65 * steady) * (0.35 + 0.65 * calm)
        fitness = 0.75 * progress + 0.25 * success.float()
        return {
            "laps": laps,
            "round": round_,
            "steady": steady,
            "calm": calm,
            "fitness": fitness,
            "success": success,
        }
