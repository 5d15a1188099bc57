"""Two agents that cover two landmarks, of PettingZoo's particle environments: one policy acts for both of them.

The environment's own reward solves it with the settings for `ppo` here: 0.93, 0.91, 0.84, 0.92 and 0.92 by seed.
"""

from rewardgen import PpoSettings, Var
from rewardgen.extras.games.task import ParallelTask
from rewardgen.training.sb3.settings import Sb3PpoSettings

AGENTS = 2
LANDMARKS = tuple(f"landmark {number}" for number in range(AGENTS))
REACH, TOUCH = 0.15, 0.3
"""Radius of an agent, and the distance of two agents that touch [m]."""


class SimpleSpread(ParallelTask):
    """Two discs of 0.15 m radius that push themselves about a plane, and two landmarks that do not move, at random
    places within 1 m of the middle. Have an agent on each landmark soon, without agents bumping into each other.

    They have to agree who takes which; of landmarks that lie close together one agent may cover both. Every agent sees
    where both landmarks and the other agent are. Its action is five pushes from 0 to 1: the first does nothing, the
    others push to -x, +x, -y and +y.
    """

    env = "mpe2.simple_spread_v3"
    env_options = {"N": AGENTS, "max_cycles": 25, "continuous_actions": True}
    solved_fitness = 0.8
    training = {
        "ppo": PpoSettings(env_steps=900_000, num_envs=64, rollout_steps=25, discount=0.95),
        "sb3-ppo": Sb3PpoSettings(env_steps=300_000, num_envs=16, discount=0.95),
    }

    landmark_distances = Var("m", "distance of each landmark's centre from this agent's own centre", LANDMARKS)
    landmark_gaps = Var("m", "distance of each landmark from whichever agent is nearest to it", LANDMARKS)
    other_distance = Var("m", f"distance of the nearest other agent, centre to centre; below {TOUCH} they touch")
    touching = Var("1", "how many other agents this one touches")
    velocity = Var("m/s", "this agent's own velocity; 2 m/s is its fastest along an axis", ("x", "y"))

    def variables(self, obs, info):
        """An observation is own velocity and place, then the way to the landmarks, to the other agents, and words."""
        landmarks = obs[:, 4 : 4 + 2 * AGENTS].unflatten(1, (AGENTS, 2)).norm(dim=2)
        others = obs[:, 4 + 2 * AGENTS : 2 + 4 * AGENTS].unflatten(1, (AGENTS - 1, 2)).norm(dim=2)
        return {
            "landmark_distances": landmarks,
            "landmark_gaps": self.per_agent(self.per_game(landmarks).amin(1)),
            "other_distance": others.amin(1),
            "touching": (others < TOUCH).sum(1),
            "velocity": obs[:, :2],
        }

    def fitness(self, episode):
        """Over the last second, the mean over the landmarks of 1 less twice the distance [m] to the nearest agent, at
        least 0; less the share of the episode's steps at which agents touch. The same for both agents.
        """
        covered = (1.0 - 2.0 * episode["landmark_gaps"]).clamp(min=0.0).mean(2)
        return episode.last(covered, seconds=1.0) - episode.share(self._bumped(episode))

    def success(self, episode):
        """At the end an agent stands on each landmark, its centre within 0.15 m, and none have touched since the last
        second began.
        """
        on = (episode.last(episode["landmark_gaps"]) < REACH).all(1)
        return on & (episode.last(self._bumped(episode).float(), seconds=1.0) == 0.0)

    def _bumped(self, episode):
        """At which steps agents of a game touch, (T, N)."""
        return self.per_agent(self.per_game((episode["touching"] > 0.0).T).any(1)).T

    @staticmethod
    def sparse_reward(landmark_gaps, touching):
        """Every landmark has an agent on it, and this one touches none."""
        return {"covered": ((landmark_gaps < 0.15).all(-1) & (touching == 0.0)).float()}
