"""Envs over any parallel environment of PettingZoo: several agents act in one game, and each is a row."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium import spaces

from rewardgen.core.errors import TaskError
from rewardgen.sim.gym_env import ActionCoder, GymReading, GymVecEnv, keep_info, readable

ALIVE = "alive"
"""Variable that is 1 while an agent is in the game, 0 from the step at which it leaves."""
PRESENT = "_present"
"""Entry that is 1 for agents in the game as the step began; all else is zero for others."""


_MOST_NAMED = 16
"""Most agents that are listed by name."""


def role_of(agent: Any) -> str:
    """Role of an agent: its name without its number, as `adversary` of `adversary_0`."""
    name = re.sub(r"\W+", "_", re.sub(r"_?\d+$", "", str(agent))).strip("_").lower()
    return name[:40] if name.isascii() and name.isidentifier() else "agent"


def shown_names(agents: Sequence[Any]) -> tuple[str, ...]:
    """Names of agents for people; their roles if there are many agents."""
    names = tuple(re.sub(r"[^A-Za-z0-9_.-]+", "_", str(agent))[:48] or "agent" for agent in agents)
    return names if len({*names}) == len(names) <= _MOST_NAMED else tuple(map(role_of, agents))


def flag_of(role: str) -> str:
    """Name of the variable that is 1 for agents with a role."""
    return f"is_{role}"


class AgentsCoder(ActionCoder):
    """The actions of all agents of a game, in rows as long as the longest action."""

    def __init__(self, actions: Sequence[spaces.Space[Any]]) -> None:
        self.coders = [ActionCoder(space) for space in actions]
        longest = max(range(len(actions)), key=lambda index: len(self.coders[index].parts))
        super().__init__(actions[longest])
        kinds = {type(space).__name__ for space in actions}
        choices = {coder.choices for coder in self.coders}
        if len(kinds) > 1 or (len(choices) > 1 and kinds == {"MultiDiscrete"}):
            spaces_text = ", ".join(dict.fromkeys(map(str, actions)))
            hint = "wrap the environment so that the actions of all agents are of one kind"
            raise TaskError(f"its agents have different kinds of actions: {spaces_text}", hint)
        for coder in self.coders:
            size = len(coder.parts)
            self.low[:size], self.high[:size] = (
                np.minimum(self.low[:size], coder.low),
                self.high[:size].clip(coder.high),
            )

    def taken(self, action: np.ndarray) -> np.ndarray:
        """See `ActionCoder.taken`; (games * agents, A), zero where an agent's action is shorter."""
        action = super().taken(action) if self.choices else action  # the policy's choice, which an agent may lack
        rows, agents = np.zeros_like(action), len(self.coders)
        for place, coder in enumerate(self.coders):
            size = len(coder.parts)
            own = action[place::agents, :size]
            within = own.clip(coder.low, coder.high).astype(action.dtype)
            rows[place::agents, :size] = coder.taken(within)
        return rows


class ParallelVecEnv(GymVecEnv):
    """The `VecEnv` of parallel environments. Its rows are agents, a game's agents one after another.

    A learner has one policy for all of them. Shorter observations end in zeros; with several roles, one number per role
    follows. An agent that leaves before its game ends is a row of zeros until then.
    """

    def __init__(
        self,
        path: Path,
        make: Callable[[], Any],
        reading: GymReading,
        coder: AgentsCoder,
        agents: Sequence[str],
        seeds: Sequence[int],
        envs_per_seed: int,
        **options: Any,
    ) -> None:
        self._agents = tuple(agents)
        self.agents = shown_names(agents)
        """Names of the agents of a game."""
        self._coders = coder.coders
        roles = [role_of(agent) for agent in agents]
        different = dict.fromkeys(roles)
        self._roles = [[float(role == other) for other in different] if len(different) > 1 else [] for role in roles]
        self._flags = [{flag_of(other): float(role == other) for other in different} for role in roles]
        super().__init__(path, make, reading, coder, seeds, envs_per_seed, rows_per_env=len(agents), **options)

    def _observed(self) -> int:
        self._spaces = [readable(self._envs[0].observation_space(agent)) for agent in self._agents]
        return observed_size(self._spaces) + len(self._roles[0])

    def _reset(self, index: int, seed: int) -> None:
        observations, infos = self._envs[index].reset(seed=seed)
        for place, row in self._places(index):
            self._note(place, row, observations, {})
            self._success[row] = 0.0
            self._info[ALIVE][row] = alive = float(self._agents[place] in self._envs[index].agents)
            known = {ALIVE: alive, PRESENT: alive, **self._flags[place]}
            keep_info(self._start_info, row, {**infos.get(self._agents[place], {}), **known})

    def _advance(self, index: int, taken: np.ndarray) -> None:
        env = self._envs[index]
        before = {*env.agents}
        taken[[agent not in before for agent in self._agents]] = 0.0
        actions = {
            agent: coder.decoded(taken[place, : len(coder.parts)])
            for place, (agent, coder) in enumerate(zip(self._agents, self._coders, strict=True))
            if agent in before
        }
        observations, rewards, terminated, truncated, infos = env.step(actions)
        for place, row in self._places(index):
            agent = self._agents[place]
            present = agent in before
            self._info[PRESENT][row] = float(present)
            if not present:
                self._leave(place, row)
                continue
            self._note(place, row, observations, infos)
            self._take(row, rewards.get(agent, 0.0), infos.get(agent, {}))
            self._ended[:, row] = terminated.get(agent, False), truncated.get(agent, False)
            self._info[ALIVE][row] = float(not self._ended[0, row])
        if not env.agents:  # agents whose end the env did not report
            rows = self._rows(index)
            self._ended[1, rows] |= ~self._ended[:, rows].any(0)

    def _places(self, index: int) -> Iterable[tuple[int, int]]:
        """Place and row of each agent of a game."""
        return enumerate(range(index * self._each, (index + 1) * self._each))

    def _note(self, place: int, row: int, observations: Mapping[str, Any], infos: Mapping[str, Any]) -> None:
        self._flat[row] = 0.0
        if (seen := observations.get(self._agents[place])) is not None:
            numbers = np.asarray(spaces.flatten(self._spaces[place], seen))
            self._flat[row, : len(numbers)] = numbers
        self._flat[row, self.observation_size - len(self._roles[place]) :] = self._roles[place]
        for name, value in self._flags[place].items():
            if name in self._info:
                self._info[name][row] = value

    def _leave(self, place: int, row: int) -> None:
        """An agent has left the game before this step; whether that was a success counts at the end of the game."""
        for values in self._info.values():
            values[row] = 0.0
        self._reward[row] = 0.0
        self._note(place, row, {}, {})


def observed_size(observed: Iterable[spaces.Space[Any]]) -> int:
    """Entries of the longest observation."""
    return max(map(spaces.flatdim, observed))
