"""Pushing a box to a goal: the pushing tasks of Fetch and Meta-World in two dimensions.

The human reward reaches `solved_fitness` with four of five seeds (0.92, 0.89, 0.89, 0.88 and 0.82).
"""

import torch

from rewardgen import Body, Direction, Distance, MujocoTask, Outside, Pair, PpoSettings, tolerance

STILL = {"box_velocity": 0.0, "hand_velocity": 0.0, "action": 0.0}


class PushToGoal(MujocoTask):
    """A round hand slides over a table. Push the box to the goal and leave it there.

    The hand (radius 2.5 cm) can only push: it has to be on the side of the box that lies away from the goal. The box is
    9 cm long and wide and lies flat. The goal is 15 to 25 cm from it, somewhere in a sector of 120 degrees about +x.
    """

    model = "push_to_goal.xml"
    frame_skip = 4
    episode_steps = 200
    solved_fitness = 0.85
    training = {"ppo": PpoSettings(env_steps=1_200_000)}

    to_box = Direction("hand", "box")
    to_goal = Direction("box", "site:goal").told("the way from the box to the goal along the world's axes")
    distance = Distance("box", "site:goal").told("distance of the box from the goal")
    hand_velocity = Body("hand").velocity
    box_velocity = Body("box").velocity
    box_upright = Body("box").upright
    ends = {"pushed away": Outside("distance", high=0.5)}

    pairs = (
        Pair(
            "on the goal beats 20 cm from it",
            better=STILL | {"distance": 0.0, "to_goal": 0.0},
            worse=STILL | {"distance": 0.2, "to_goal": (0.2, 0.0, 0.0)},
        ),
    )

    def reset(self, sim, draw):
        """The hand rests up to 5 cm from (-0.2, 0), the box up to 5 cm from the origin along x and y, turned anyhow."""
        qpos, qvel = sim.qpos0.repeat(draw.num_envs, 1), torch.zeros_like(sim.qvel)
        qpos[:, :2] = draw.uniform(-0.05, 0.05, 2)
        qpos[:, 2:4] = draw.uniform(-0.05, 0.05, 2)
        half = draw.uniform(-0.4, 0.4, 1)
        qpos[:, 5:6], qpos[:, 8:9] = half.cos(), half.sin()
        way, angle = draw.uniform(0.15, 0.25, 1), draw.uniform(-1.05, 1.05, 1)
        goal = qpos[:, 2:4] + way * torch.cat((angle.cos(), angle.sin()), 1)
        return qpos, qvel, {"goal": torch.cat((goal, torch.full_like(way, 0.001)), 1)}

    def observe(self, sim, variables):
        """Along x and y: the ways from hand to box and box to goal and both velocities; and how the box is turned."""
        names = ("to_box", "to_goal", "hand_velocity", "box_velocity")
        return torch.cat((*(variables[name][:, :2] for name in names), sim.qpos[:, 5:9:3]), 1)

    def fitness(self, episode):
        """How much nearer to the goal the box lies at the end than at first, 1 on it; moved away is below 0."""
        distance = episode["distance"]
        return 1.0 - episode.last(distance, seconds=0.4) / episode.first(distance)

    def success(self, episode):
        """During the last 0.4 s the box is within 3 cm of the goal, flat on the table and slower than 5 cm/s."""
        near = episode.last(episode["distance"], seconds=0.4) < 0.03
        slow = episode.last(episode["box_velocity"].norm(dim=2), seconds=0.4) < 0.05
        return near & slow & (episode.last(episode["box_upright"]) > 0.95) & ~episode.terminated

    def scripted(self, sim, variables):
        """Behind the box, as seen from the goal, then towards the goal."""
        to_box, to_goal = variables["to_box"][:, :2], variables["to_goal"][:, :2]
        way = variables["distance"][:, None]
        ahead = to_goal / way.clamp(min=1e-3)
        depth = (to_box * ahead).sum(1, keepdim=True)
        aside = to_box - depth * ahead
        behind = (aside.norm(dim=1, keepdim=True) < 0.02) & (depth > 0.0)
        push = (3.0 * way).clamp(0.05, 0.3) * ahead + 8.0 * aside
        wanted = torch.where(behind, push, 4.0 * (to_box - 0.1 * ahead))
        return 20.0 * torch.where(way < 0.015, 0.0, wanted - variables["hand_velocity"][:, :2])

    @staticmethod
    def human_reward(to_box, to_goal, distance, box_velocity):
        """Nearness of the box to the goal, the hand behind the box, and rest once it is there; our own."""
        ahead = to_goal[:, :2] / distance.clamp(min=0.02)[:, None]
        behind = (to_box[:, :2] - 0.08 * ahead).norm(dim=-1)
        near = tolerance(distance, 0.0, 0.01, 0.25, "long_tail")
        there = (distance < 0.03).float()
        return {
            "near": near,
            "behind": 0.2 * tolerance(behind, 0.0, 0.01, 0.2, "long_tail") * (1.0 - there),
            "rest": there * (0.3 + 0.2 * tolerance(box_velocity.norm(dim=-1), 0.0, 0.02, 0.2)),
        }

    @staticmethod
    def sparse_reward(distance):
        """1 while the box is within 3 cm of the goal."""
        return {"there": (distance < 0.03).float()}
