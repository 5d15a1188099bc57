"""The DeepMind Control Suite's `ball_in_cup-catch`, on its own model (Tassa et al. 2018, arXiv:1801.00690).

The human reward reaches `solved_fitness` at the shipped budget with two of three seeds (0.90, 0.90 and 0.27).
"""

import torch

from rewardgen import MujocoTask, Pair, PpoSettings, Var

AXES = ("x", "z")


class BallInCup(MujocoTask):
    """A cup that moves in the x-z plane, and a ball that hangs on it by a string of 30 cm. Catch the ball in the cup.

    The cup is 10 cm wide and deep and open above, and springs hold it with its bottom half a metre above the floor. Two
    motors push it along x and z.
    The ball, 5 cm across, has to be swung up above the rim and caught, and then stay in the cup.
    In some episodes it begins above the cup and falls into it by itself.
    """

    model = "dm_control:ball_in_cup.xml"
    frame_skip = 10
    episode_steps = 1000
    best_fitness = 1.0
    solved_fitness = 0.8
    training = {"ppo": PpoSettings(env_steps=600_000)}

    ball_offset = Var(
        "m",
        "the ball's middle from the middle of the cup's inside; it is in the cup if both are within 0.025; walls are at"
        " x -0.042 and 0.042, the bottom at z -0.042, the rim at z 0.05",
        AXES,
    )
    ball_velocity = Var("m/s", "velocity of the ball in the world", AXES)
    cup_position = Var("m", "position of the cup from where its springs hold it", AXES)
    cup_velocity = Var("m/s", "velocity of the cup", AXES)
    string = Var("m", "distance from the ball to the cup's bottom, to which the string is tied; at most 0.3, then taut")

    pairs = (
        Pair(
            "in the cup beats hanging below",
            better={"ball_offset": (0.0, 0.0), "string": 0.058},
            worse={"ball_offset": (0.0, -0.35), "string": 0.3},
        ),
        Pair(
            "in the cup beats lying beside it",
            better={"ball_offset": (0.0, 0.0), "string": 0.058},
            worse={"ball_offset": (0.12, 0.0), "string": 0.13},
        ),
    )

    def reset(self, sim, draw):
        """The cup in the middle; the ball at rest within 20 cm of it to the sides and above, where nothing touches."""

        def propose():
            return torch.cat((torch.zeros_like(sim.qpos[:, :2]), draw.uniform((-0.2, 0.2), (0.2, 0.5), 2)), 1)

        return sim.without_contact(propose), torch.zeros_like(sim.qvel)

    def variables(self, sim):
        """Places from positions of joints: the ball's begin 40 cm below the cup's, whose inside is 5 cm below it."""
        cup, ball = sim.qpos[:, :2], sim.qpos[:, 2:]
        offset = ball + sim.constant((0.0, -0.4)) - cup
        offset[:, 1] += 0.05
        tied = offset.clone()
        tied[:, 1] += 0.058
        return {
            "ball_offset": offset,
            "ball_velocity": sim.qvel[:, 2:],
            "cup_position": cup,
            "cup_velocity": sim.qvel[:, :2],
            "string": tied.norm(dim=1),
        }

    def observe(self, sim, variables):
        """Positions and velocities of the cup and the ball."""
        return torch.cat((sim.qpos, sim.qvel), 1)

    def fitness(self, episode):
        """Share of the episode with the ball in the cup.

        It is the Suite's own reward, by which it is scored; the human reward is the same.
        """
        return episode.total(self.human_reward(episode["ball_offset"])["caught"]) / episode.max_steps

    def success(self, episode):
        """The ball is in the cup during the whole of the last second."""
        caught = self.human_reward(episode["ball_offset"])["caught"] > 0.0
        return episode.last(caught, seconds=1.0) == 1.0

    @staticmethod
    def human_reward(ball_offset):
        """The Suite's reward, 1 while the ball is in the cup: it is sparse (dm_control/suite/ball_in_cup.py)."""
        return {"caught": (ball_offset.abs() < 0.025).all(-1).float()}

    @staticmethod
    def sparse_reward(ball_offset, ball_velocity, cup_velocity):
        """1 while the ball lies in the cup: in it, and no faster than 0.1 m/s from it."""
        still = (ball_velocity - cup_velocity).norm(dim=-1) < 0.1
        return {"lying": ((ball_offset.abs() < 0.025).all(-1) & still).float()}
