"""Drafted by a language model for: 'fly round and round a circle of one metre radius, one metre above the floor'. Nobody has read it: it was accepted by `--yes`.

`metric` is in the language of rewards: `torch`, `math`, `F` and `tolerance` are there without an import.
"""

from __future__ import annotations

from rewardgen import Body, MujocoTask, Outside, Touching, Wrap


class FlyCircle(MujocoTask):
    """A quadcopter with four rotors (front, back, left, right). It starts hovering one metre above the world's origin.

    It should fly round and round a horizontal circle of 1 m radius, 1 m above the floor, from about 5 s after the
    start until the end of the episode (20 s), always the same way round, at least two full rounds. World frame: z is
    up, the floor is z = 0. The centre of the circle is free but must stay in one place: a circle about the world's
    vertical axis (x = y = 0, the drone first flies out 1 m) is as good as one that passes through the start (such as
    about x = -1, y = 0). Either way round is right, and so are any heading and any speed that makes two rounds in the
    time (a speed of 0.8 to 2 m/s is comfortable, a round is 6.3 m long). It must not stop, turn back or drift away.
    """

    model = "shipped:quadcopter.xml"
    frame_skip = 4

    episode_steps = 1000
    start_noise = 0.02

    position = Body("drone").position  # the path: radius, height and the way round
    height = Body("drone").height  # one metre is asked for, and tells a crash
    velocity = Body("drone").velocity  # to go along the circle
    local_velocity = Body("drone").local_velocity  # the same as the drone feels it
    angular_velocity = Body("drone").angular_velocity  # to fly calmly
    upright = Body("drone").upright  # to bank without tipping over
    heading = Body("drone").heading  # free, for those who want to turn the nose along the path
    on_floor = Touching("drone", "floor")  # tells flying from crashing

    ends = {"crashed": Outside("height", low=0.1), "flew off": Outside("height", high=4.0)}
    invariances = (Wrap("heading"),)

    @staticmethod
    def metric(
        position,
        height,
        lived,
        time,
        *,
        radius: float = 1.0,
        altitude: float = 1.0,
        settle: float = 5.0,
        radius_room: float = 0.15,
        height_room: float = 0.2,
        mean_radius_room: float = 0.1,
        mean_height_room: float = 0.12,
        min_rate: float = 0.2,
        rounds_wanted: float = 2.0,
        rounds_needed: float = 1.9,
        share: float = 0.8,
        share_at_end: float = 0.4,
        inside_at_end: float = 0.8,
    ):
        """How much of the time after the first 5 s it circles, how many rounds it makes, and how exactly; 0 to 1.

        The centre is fitted to the path flown after the first 5 s, then distance from it and the way round are
        measured. `circling`: share of that time spent near the circle and moving along it in one direction. `rounds`:
        net rounds on the circle in the whole episode, 1 at two. `level`: share of that time near 1 m height.
        `precise`: how close to the ideal circle it is while it circles. Fitness grows with circling, rounds and
        precision together, and more with success; hovering in place gives 0, and so does going to and fro.

        Success: after the first 5 s, for at least 80 % of the time (and 40 % of the last 5 s), it is within 0.15 m
        of the radius and 0.2 m of the height and goes round at more than 0.2 rad/s in one direction; it is within
        these limits for 80 % of the last 2 s; mean radius within 0.1 m and mean height within 0.12 m of one metre;
        at least 1.9 net rounds on the circle in the episode; and it flies until the end.
        """
        x = position[..., 0]
        y = position[..., 1]
        z = position[..., 2]
        late = (time >= settle).float()
        count = late.sum(1).clamp(min=1.0)

        # least-squares circle through the path after the approach: its centre
        w = lived * (late + 1e-3)
        w = w / w.sum(1, keepdim=True).clamp(min=1e-9)
        u = x - (w * x).sum(1, keepdim=True)
        v = y - (w * y).sum(1, keepdim=True)
        suu = (w * u * u).sum(1) + 1e-4
        svv = (w * v * v).sum(1) + 1e-4
        suv = (w * u * v).sum(1)
        sq = u * u + v * v
        a = 0.5 * (w * u * sq).sum(1)
        b = 0.5 * (w * v * sq).sum(1)
        det = (suu * svv - suv * suv).clamp(min=1e-8)
        cu = ((a * svv - b * suv) / det).clamp(-5.0, 5.0)
        cv = ((b * suu - a * suv) / det).clamp(-5.0, 5.0)
        u = u - cu.unsqueeze(1)
        v = v - cv.unsqueeze(1)

        # how far off the circle, in radius and in height
        r = torch.sqrt(u * u + v * v + 1e-12)
        off_r = (r - radius).abs()
        off_z = torch.maximum((z - altitude).abs(), (height - altitude).abs())
        near_r = 0.4 * (1.0 - off_r).clamp(0.0, 1.0) + 0.6 * tolerance(off_r, upper=radius_room, margin=0.3)
        near_r = near_r * (r / 0.5).clamp(0.0, 1.0).square()
        near_z = 0.4 * (1.0 - off_z).clamp(0.0, 1.0) + 0.6 * tolerance(off_z, upper=height_room, margin=0.3)
        near = near_r * near_z * lived
        inside = (off_r <= radius_room).float() * (off_z <= height_room).float() * lived

        # the way round
        angle = torch.atan2(v, u)
        step = torch.remainder(torch.diff(angle, dim=1) + math.pi, 2.0 * math.pi) - math.pi
        step = F.pad(step, (1, 0))
        net = (step * near).sum(1)
        way = torch.sign(net).unsqueeze(1)
        swept = step.cumsum(1)
        span = 25
        rate = way * (swept - F.pad(swept, (span, 0))[:, : swept.shape[1]]) / (span * 0.02)
        going = (rate / min_rate).clamp(0.0, 1.0)

        circling = (near * going * late).sum(1) / count
        rounds = (net.abs() / (2.0 * math.pi * rounds_wanted)).clamp(0.0, 1.0)
        level = (near_z * lived * late).sum(1) / count
        off = torch.sqrt(off_r * off_r + off_z * off_z + 1e-12)
        exact = tolerance(off, upper=0.03, margin=0.3) * going * lived
        precise = (exact * late).sum(1) / count

        really_round = 0.1 + 0.9 * rounds
        progress = (0.55 * circling + 0.1 * precise) * really_round + 0.35 * rounds * (0.3 + 0.7 * circling)

        good = inside * (rate > min_rate).float()
        mean_r = (w * r).sum(1)
        mean_off_z = torch.maximum(
            ((w * z).sum(1) - altitude).abs(), ((w * height).sum(1) - altitude).abs()
        )
        true_rounds = (step * inside).sum(1).abs() / (2.0 * math.pi)
        success = (
            ((good * late).sum(1) / count >= share)
            & (good[:, -250:].mean(1) >= share_at_end)
            & (inside[:, -100:].mean(1) >= inside_at_end)
            & ((mean_r - radius).abs() <= mean_radius_room)
            & (mean_off_z <= mean_height_room)
            & (true_rounds >= rounds_needed)
            & (lived[:, -1] > 0.5)
        )
        return {
            "circling": circling.clamp(0.0, 1.0),
            "rounds": rounds,
            "level": level.clamp(0.0, 1.0),
            "precise": precise.clamp(0.0, 1.0),
            "fitness": 0.75 * progress.clamp(0.0, 1.0) + 0.25 * success.float(),
            "success": success,
        }
