"""A parallel environment as PettingZoo has them: a hunter and two hares on a line, of which the first hare leaves."""

import numpy as np
from gymnasium import spaces

from rewardgen.extras.games.task import ParallelTask


class Chase:
    """A hunter chases two hares along a line. It is paid for being near."""

    metadata = {"render_fps": 5}
    possible_agents = ["hunter_0", "hare_0", "hare_1"]

    def __init__(self, lasts=8, leaves=3):
        self.lasts, self.leaves = lasts, leaves

    def observation_space(self, agent):
        return spaces.Box(-10, 10, (3 if agent == "hunter_0" else 2,), np.float32)

    def action_space(self, agent):
        return spaces.Box(-1, 1, (2 if agent == "hunter_0" else 1,), np.float32)

    def reset(self, seed=None, options=None):
        drawn = np.random.default_rng(seed)
        self.agents, self.step_number = [*self.possible_agents], 0
        self.places = {each: float(drawn.uniform(-1, 1)) for each in self.agents}
        return {each: self._seen(each) for each in self.agents}, {each: {} for each in self.agents}

    def step(self, actions):
        assert {*actions} == {*self.agents}
        self.step_number += 1
        for each, action in actions.items():
            self.places[each] += 0.1 * float(action[0])
        over = self.step_number == self.lasts
        ends = {each: each == "hare_0" and self.step_number == self.leaves for each in self.agents}
        told = (
            {each: self._seen(each) for each in self.agents},
            {each: 1.0 if each == "hunter_0" else 0.5 for each in self.agents},
            ends,
            dict.fromkeys(self.agents, over),
            {each: {"place": self.places[each]} for each in self.agents},
        )
        self.agents = [each for each in self.agents if not (ends[each] or over)]
        return told

    def close(self):
        pass

    def _seen(self, agent):
        return np.array([self.places[agent], self.step_number, 7.0][: 3 if agent == "hunter_0" else 2], np.float32)


class Hunt(ParallelTask):
    env = Chase
