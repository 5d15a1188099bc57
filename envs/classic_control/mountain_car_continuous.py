"""Gymnasium's MountainCarContinuous-v0, with a fitness of its own; its reward leads to 1.87 and 1.89 with two seeds."""

from rewardgen import GymTask, Pair, Var
from rewardgen.training.sb3.settings import Sb3PpoSettings, tuned

BOTTOM, FLAG = -0.52, 0.45


class MountainCarContinuous(GymTask):
    """A car in a valley between two hills. Bring it up the right hill to the flag, soon.

    Its engine is too weak to climb the hill from the bottom, where it begins at rest: it has to swing to and fro first.
    The action is the force of the engine, positive to the right.
    """

    env = "MountainCarContinuous-v0"
    success_terminates = True
    solved_fitness = 1.5
    training = {"sb3-ppo": Sb3PpoSettings(**tuned("ppo", "MountainCarContinuous-v0"))}

    position = Var("m", "along the track: the valley's bottom is at -0.52, the flag at 0.45, the left end at -1.2")
    velocity = Var("1", "change of the position in a control step, positive to the right, at most 0.07")

    pairs = (
        Pair(
            "at the flag beats at the bottom",
            {"position": 0.45, "velocity": 0.02},
            {"position": -0.52, "velocity": 0.0},
        ),
    )

    def variables(self, obs, info):
        """The observation."""
        return {"position": obs[:, 0], "velocity": obs[:, 1]}

    def fitness(self, episode):
        """How far up to the flag it got, 1 at it; and once there, the share of the episode's time that is left."""
        way = (episode["position"].where(episode.mask, -1.2).amax(0) - BOTTOM) / (FLAG - BOTTOM)
        return way.clamp(max=1.0) + self.success(episode) * (1.0 - episode.lengths / episode.max_steps)

    def success(self, episode):
        """It is at the flag."""
        return episode.last(episode["position"]) >= FLAG

    @staticmethod
    def sparse_reward(position):
        """At the flag or not."""
        return {"flag": (position >= 0.45).float()}
