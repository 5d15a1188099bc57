"""`ParallelTask`: a task on any parallel environment of PettingZoo, in which several agents act by one policy."""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from torch import Tensor

from rewardgen.core.config import Device
from rewardgen.core.errors import TaskError
from rewardgen.extras.games.env import ALIVE, PRESENT, AgentsCoder, ParallelVecEnv, flag_of, observed_size, role_of
from rewardgen.sim.episodes import Episode
from rewardgen.sim.gym_env import env_faults, readable
from rewardgen.sim.variables import Var
from rewardgen.sim.vec_env import ENV_REWARD
from rewardgen.tasks.gym_task import LOOKED_AT, MOST_LOOKED_AT, GymTask, Known, first_made, step_seconds
from rewardgen.tasks.gym_variables import (
    entries_of,
    info_variable,
    info_variables,
    is_picture,
    kept_keys,
    observation_variables,
    success_key,
)


class ParallelTask(GymTask):
    """A task on a parallel environment of PettingZoo. Subclass it in a task file: `env = "mpe2.simple_spread_v3"`.

    Each agent is a row: N rows are N / A games of A agents, a game's agents one after another. One policy acts for all
    agents, and each agent is rewarded by itself. `self.per_game` groups rows by game. There are two further variables:
    `alive`, and `is_ROLE` for each of several roles; a role is an agent's name without its number. An agent that leaves
    early is a row of zeros until its game ends, except for its success. All else is as with a `GymTask`; the fitness is
    the mean of the environment's own returns over the agents of the game.
    """

    @classmethod
    def known(cls) -> Known:
        """Return what one episode of the environment shows."""
        return _look(cls)

    @classmethod
    def declared(cls) -> dict[str, Var]:
        """See `GymTask.declared`; adds the variables of an agent's part in the game."""
        return _flags(cls.known().agents) | super().declared()

    def per_game(self, values: Tensor) -> Tensor:
        """Values of agents, (N, ...), by game: (games, A, ...)."""
        return values.unflatten(0, (-1, len(self.known().agents)))

    def per_agent(self, values: Tensor) -> Tensor:
        """Values of games, (games, ...), for each of their agents: (N, ...)."""
        return values.repeat_interleave(len(self.known().agents), 0)

    def fitness(self, episode: Episode) -> Tensor:
        """The environment's own return, mean over the agents of the game."""
        return self.per_agent(self.per_game(episode.total(episode[ENV_REWARD])).mean(1))

    def default_words(self, method: str) -> str:
        """See `Task.default_words`."""
        known = self.known()
        if method == "fitness":
            return "The environment's own return: the sum of its rewards over the episode, the mean over its agents."
        if method != "observe":
            return super().default_words(method)
        roles = Counter(map(role_of, known.agents))
        crew = ", ".join(f"{count} of role `{role}`" for role, count in roles.items())
        words = f"The agent's own observation, {spaces.flatdim(known.space)} numbers"
        words += " (filled up with zeros where it is shorter), and one for each role." if len(roles) > 1 else "."
        coder = _coder(known)
        if len({len(other.parts) for other in coder.coders}) > 1:
            chosen = "choices takes its choice 0 where the policy takes one that it lacks"
            words += f" An agent with fewer {chosen if coder.choices else 'actions acts by the first of them'}."
        return (
            f"{words} {len(known.agents)} agents play a game together ({crew}) and act by one policy, which all of them"
            " share. The reward is computed for each agent by itself, from that agent's variables and action."
        )

    def make_envs(
        self, seeds: Sequence[int], envs_per_seed: int, *, device: Device = "cpu", pictures: bool = False
    ) -> ParallelVecEnv:
        """Make games, stepped one after another; see `GymTask.make_envs`."""
        known, reading, flags = self.known(), self._reading(), _flags(self.known().agents)

        def read(rows: Any, info: Mapping[str, Tensor]) -> Any:
            values = reading.read(rows, info)
            here = info[PRESENT] > 0.0
            if isinstance(values, Mapping) and not bool(here.all()):
                values = {name: _where(here, value) for name, value in values.items()}
            return {**values, **{name: info[name] for name in flags}} if isinstance(values, Mapping) else values

        of_agents = dict.fromkeys((*flags, PRESENT), ())
        return ParallelVecEnv(
            self.path,
            lambda: _made(type(self), pictures=pictures),
            reading._replace(info={**known.info, **of_agents}, rows=True, read=read),
            _coder(known),
            known.agents,
            seeds,
            envs_per_seed,
            episode_steps=self.episode_steps,
            control_step_s=self.control_step_s or known.control_step_s,
        )


def _flags(agents: Sequence[str]) -> dict[str, Var]:
    alive = "1 while the agent is in the game, 0 from the step at which it leaves; after that its other variables are 0"
    roles = dict.fromkeys(map(role_of, agents))
    variables = {flag_of(role): Var("1", f"1 for an agent of the role `{role}`, 0 for others") for role in roles}
    return {ALIVE: Var("1", alive)} | (variables if len(roles) > 1 else {})


def _where(here: Tensor, value: Any) -> Any:
    """Set values to zero where an agent is not in the game."""
    if not isinstance(value, Tensor) or value.shape[:1] != here.shape:
        return value  # refused by the contract of variables
    return torch.where(here.view(-1, *[1] * (value.ndim - 1)), value, torch.zeros_like(value))


def _coder(known: Known) -> AgentsCoder:
    assert isinstance(known.coder, AgentsCoder)
    return known.coder


def _made(task: type[ParallelTask], *, pictures: bool = False) -> Any:
    env, options = task.env, dict(task.env_options) | ({"render_mode": "rgb_array"} if pictures else {})
    if isinstance(env, str):
        module, _, name = env.partition(":")
        env = getattr(importlib.import_module(module), name or "parallel_env")
    parallel = env(**options)
    game = getattr(parallel, "unwrapped", parallel)
    if not pictures and hasattr(game, "game_font"):
        game.game_font = None  # a particle game keeps this file open, and thousands of games draw nothing
    return parallel


@lru_cache(maxsize=8)
def _look(task: type[ParallelTask]) -> Known:
    env = first_made(task, lambda: _made(task))
    agents: tuple[str, ...] = tuple(getattr(env, "possible_agents", ()))
    if not agents or hasattr(env, "agent_iter"):
        hint = "name a function that makes one, as in `mpe2.simple_spread_v3:parallel_env`"
        raise TaskError(f"{type(env).__name__} is no parallel environment of PettingZoo", hint)
    with env_faults(task.path):
        kind = type(getattr(env, "unwrapped", env))
        observed = [readable(env.observation_space(agent)) for agent in agents]
        coder = AgentsCoder([env.action_space(agent) for agent in agents])
        infos, rewards, steps = _first_episode(env, agents, seed=0)
        if steps and _first_episode(env, agents, seed=1)[2] != steps:  # not a limit, but an end such as a lost puck
            steps = None
        step_s = step_seconds(env)
        env.close()
    first = agents[0]
    seen = {} if any(map(is_picture, observed)) else observation_variables(observed_size(observed), {})
    variables = info_variables(infos[first][:LOOKED_AT] or [{}], rewards[first][:LOOKED_AT], {*seen, *_flags(agents)})
    for agent in agents[1:]:
        others = info_variables(infos[agent][:LOOKED_AT] or [{}], rewards[agent][:LOOKED_AT], seen)
        variables = {name: value for name, value in variables.items() if name in others}
    every = [info for agent in agents for info in infos[agent]]
    return Known(
        kind=kind,
        space=max(observed, key=spaces.flatdim),
        coder=coder,
        variables={name: info_variable(key, value) for name, (key, value) in variables.items()} | seen,
        entries=entries_of(seen),
        keys={name: key for name, (key, _) in variables.items()},
        info=kept_keys(every),
        success=success_key(every),
        steps=steps,
        control_step_s=step_s,
        agents=agents,
    )


def _first_episode(
    env: Any, agents: Sequence[str], *, seed: int
) -> tuple[dict[str, list[Mapping[str, Any]]], dict[str, list[float]], int | None]:
    """Return each agent's infos and rewards in an episode of random actions, and the step of its truncation."""
    env.reset(seed=seed)
    for place, agent in enumerate(agents):
        env.action_space(agent).seed(seed * len(agents) + place)
    infos: dict[str, list[Mapping[str, Any]]] = {agent: [] for agent in agents}
    rewards: dict[str, list[float]] = {agent: [] for agent in agents}
    for number in range(1, MOST_LOOKED_AT + 1):
        step = env.step({agent: env.action_space(agent).sample() for agent in env.agents})
        _, paid, terminated, truncated, news = step
        for agent in paid:
            infos[agent].append(news.get(agent, {}))
            rewards[agent].append(float(np.sum(paid[agent])))
        if not env.agents or all(terminated[agent] or truncated[agent] for agent in terminated):
            return infos, rewards, number if any(truncated.values()) else None
    return infos, rewards, None
