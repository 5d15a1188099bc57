"""Drafted by a language model for: 'fly round and round a circle of one metre radius, one metre above the floor'. Nobody has read it: it was accepted by `--yes`.

`metric` is in the language of rewards: `torch`, `math`, `F` and `tolerance` are there without an import.
"""

from __future__ import annotations

from rewardgen import Body, Distance, MujocoTask, Outside, Touching


class FlyCircle(MujocoTask):
    """A quadcopter with four rotors. It starts at rest in the air, 1 m above the floor at the world's origin, and should fly round and round a horizontal circle of 1 m radius, 1 m above the floor, until the episode ends.

    The circle may lie anywhere and be flown either way round, but its centre stays where it is and the direction
    stays the same. A simple choice is the circle about the vertical axis through the world's origin (x = y = 0), above
    which the drone starts: it flies out to 1 m first. Positions are in the world's frame, z is up; the turn from
    x to y is to the left. The heading is free. The mark is only decoration. At 1 to 1.5 m/s a round takes 4 to 6 s;
    the episode lasts 20 s.
    """

    model = "shipped:quadcopter.xml"
    frame_skip = 4

    episode_steps = 1000
    start_noise = 0.02
    sees_place = True

    position = Body("drone").position  # x and y tell the circle
    height = Body("drone").height  # has to stay at 1 m
    velocity = Body("drone").velocity  # motion along the circle, and climbing or sinking
    local_velocity = Body("drone").local_velocity  # motion as the drone feels it
    angular_velocity = Body("drone").angular_velocity  # to damp tumbling
    upright = Body("drone").upright  # tilt, to stay controllable
    heading = Body("drone").heading  # free, but a reward may keep it steady
    far = Distance("drone", "mark")  # tells a drone that flew away
    on_floor = Touching("drone", "floor")  # crash

    ends = {
        "crashed": Outside("height", low=0.08),
        "flew too high": Outside("height", high=4.0),
        "flew away": Outside("far", high=8.0),
    }

    @staticmethod
    def metric(
        position,
        height,
        lived,
        *,
        radius: float = 1.0,
        level: float = 1.0,
        slack: float = 0.15,
        needed: float = 1.8,
        slowest: float = 0.15,
        share: float = 0.9,
    ):
        """Fitness is how many rounds are flown and how close they are to a radius and a height of 1 m, and how lastingly; 0 to 1.

        A circle is fitted to the path, so its centre is free. `rounds`: net rounds in one direction about that
        centre, of the nearly two that are needed. `radius`, `height`: how close the path keeps to 1 m from the centre
        and 1 m above the floor. `lasting`: share of the last 12 s in which the drone is within 0.15 m of that radius
        and that height and moves on round the centre in the same direction.

        It is a success if it flies about two rounds or more (1.8) on the circle, and in at least 90 % of the last
        12 s is within 0.15 m of the radius and of the height and moves on round the same centre in the same direction
        (faster than 0.15 rad/s), and is still doing so at the end of the episode.
        """
        xy = position[:, :, :2]
        steps = lived.shape[1]
        late = (torch.ones_like(lived).cumsum(1) > steps - 600).float()
        path = F.pad(torch.diff(xy, dim=1).norm(dim=-1), (1, 0)).clamp(0.0, 0.2) * lived

        def circle(weight):
            # least-squares circle, every piece of the path weighted by its length
            w = weight / (weight.sum(1, keepdim=True) + 1e-6)
            mean = (xy * w.unsqueeze(-1)).sum(1, keepdim=True)
            u = (xy - mean)[:, :, 0]
            v = (xy - mean)[:, :, 1]
            q = u * u + v * v
            suu = (w * u * u).sum(1, keepdim=True)
            svv = (w * v * v).sum(1, keepdim=True)
            suv = (w * u * v).sum(1, keepdim=True)
            suq = (w * u * q).sum(1, keepdim=True)
            svq = (w * v * q).sum(1, keepdim=True)
            det = (suu * svv - suv * suv).clamp(min=1e-3)
            a = u - 0.5 * (suq * svv - svq * suv) / det
            b = v - 0.5 * (svq * suu - suq * suv) / det
            r = (a * a + b * b + 1e-8).sqrt()
            cross = a[:, :-1] * b[:, 1:] - b[:, :-1] * a[:, 1:]
            dot = a[:, :-1] * a[:, 1:] + b[:, :-1] * b[:, 1:]
            turn = F.pad(torch.atan2(cross, dot), (1, 0)) * lived
            round_it = ((r > 0.4 * radius) & (r < 2.5 * radius)).float()
            net = (turn * round_it).sum(1) / (2.0 * math.pi)
            rounds = (net.abs() / needed).clamp(0.0, 1.0)
            near = (w * tolerance((r / radius).log(), lower=-0.1, upper=0.1, margin=0.7)).sum(1).clamp(0.0, 1.0)
            high = (w * tolerance(height, lower=level - 0.1, upper=level + 0.1, margin=0.5)).sum(1).clamp(0.0, 1.0)
            return r, turn, rounds, near, high

        r_all, turn_all, rounds_all, near_all, high_all = circle(path)
        r, turn, rounds_late, near_late, high_late = circle(path * late)

        progress_all = rounds_all * (0.1 + 0.9 * near_all * high_all)
        progress_late = rounds_late * (0.1 + 0.9 * near_late * high_late)
        progress = torch.maximum(progress_all, progress_late)

        on = ((r - radius).abs() < slack).float() * ((height - level).abs() < slack).float() * lived
        way = torch.sign((turn * late).sum(1, keepdim=True))
        swept = turn.cumsum(1)
        recent = (swept[:, 25:] - swept[:, :-25]) * way  # angle of the last half second
        moves = F.pad((recent > 0.5 * slowest).float(), (25, 0))
        steady = on * moves
        lasting = steady[:, -600:].mean(1)
        on_circle_rounds = (turn * on * way).sum(1) / (2.0 * math.pi)

        success = (
            (on_circle_rounds >= needed)
            & (lasting >= share)
            & (steady[:, -100:].mean(1) >= 0.8)
            & (lived[:, -1] > 0.5)
        )
        fitness = 0.75 * (0.6 * progress + 0.4 * lasting * rounds_late) + 0.25 * success.float()
        return {
            "rounds": torch.maximum(rounds_all, rounds_late),
            "radius": torch.maximum(near_all, near_late),
            "height": torch.maximum(high_all, high_late),
            "lasting": lasting,
            "fitness": fitness,
            "success": success,
        }
