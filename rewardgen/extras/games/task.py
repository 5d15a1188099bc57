"""`ParallelTask`: a task on any parallel environment of PettingZoo, in which several agents act by one policy."""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import gymnasium
import numpy as np
import torch
from torch import Tensor

from rewardgen.core.config import Device
from rewardgen.core.errors import TaskError
from rewardgen.extras.games.env import ALIVE, PRESENT, AgentsCoder, ParallelVecEnv, flag_of, observed_size, role_of
from rewardgen.sim.episodes import Episode
from rewardgen.sim.gym_env import env_faults, readable, seen_size
from rewardgen.sim.variables import Var
from rewardgen.sim.vec_env import ENV_REWARD
from rewardgen.tasks.gym_task import LOOKED_AT, MOST_LOOKED_AT, GymTask, Known, first_made
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

    Each agent of a game is a row of its own: N rows are N / A games of A agents, those of a game one after another. So
    one policy acts for all of them, and a reward is asked for each agent by itself. `self.per_game` sees a game at a
    time. Besides the task's own variables there are `alive`, and `is_ROLE` for each role where there are several; a
    role is what comes before the number in an agent's name. An agent that leaves early is a row of zeros until its game
    ends, but for the success that it left with. All else is as with a `GymTask`; the fitness is the mean of the
    environment's own returns over the agents of the game, the same for all of them.
    """

    @classmethod
    def known(cls) -> Known:
        """What one look at the environment tells.

        Raises:
            TaskError: It cannot be made, or not be learned.
        """
        return _look(cls)

    @classmethod
    def declared(cls) -> dict[str, Var]:
        """See `GymTask.declared`; and what tells of an agent's part in the game."""
        return _flags(cls.known().agents) | super().declared()

    def per_game(self, values: Tensor) -> Tensor:
        """What is told of N agents, (N, ...), by game: (games, A, ...)."""
        return values.unflatten(0, (-1, len(self.known().agents)))

    def per_agent(self, values: Tensor) -> Tensor:
        """What is told of games, (games, ...), for each of their agents: (N, ...)."""
        return values.repeat_interleave(len(self.known().agents), 0)

    def fitness(self, episode: Episode) -> Tensor:
        """The environment's own return, the mean over the agents of the game."""
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
        told = f"The agent's own observation, {seen_size(known.space)} numbers"
        told += " (filled up with zeros where it is shorter), and one for each role." if len(roles) > 1 else "."
        coder = _coder(known)
        if len({len(each.parts) for each in coder.coders}) > 1:
            chosen = "choices takes its choice 0 where the policy takes one that it lacks"
            told += f" An agent with fewer {chosen if coder.choices else 'actions acts by the first of them'}."
        return (
            f"{told} {len(known.agents)} agents play a game together ({crew}) and act by one policy, which all of them"
            " share. The reward is computed for each agent by itself, from that agent's variables and action."
        )

    def make_envs(
        self,
        seeds: Sequence[int],
        envs_per_seed: int,
        *,
        threads: int = 1,
        device: Device = "cpu",
        pictures: bool = False,
    ) -> ParallelVecEnv:
        """Games, stepped one after another; see `GymTask.make_envs`."""
        known, reading, flags = self.known(), self._reading(), _flags(self.known().agents)

        def read(rows: Any, info: Mapping[str, Tensor]) -> Any:
            found = reading.read(rows, info)
            here = info[PRESENT] > 0.0
            if isinstance(found, Mapping) and not bool(here.all()):
                found = {name: _where(here, value) for name, value in found.items()}
            return {**found, **{name: info[name] for name in flags}} if isinstance(found, Mapping) else found

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
    """The variables that tell of an agent's part in the game."""
    left = "1 while the agent is in the game, 0 from the step at which it leaves; after that its other variables are 0"
    roles = dict.fromkeys(map(role_of, agents))
    told = {flag_of(role): Var("1", f"1 for an agent of the role `{role}`, 0 for others") for role in roles}
    return {ALIVE: Var("1", left)} | (told if len(roles) > 1 else {})


def _where(here: Tensor, value: Any) -> Any:
    """Zero where an agent is not in the game."""
    if not isinstance(value, Tensor) or value.shape[:1] != here.shape:
        return value  # which the contract of variables refuses
    return torch.where(here.view(-1, *[1] * (value.ndim - 1)), value, torch.zeros_like(value))


def _coder(known: Known) -> AgentsCoder:
    assert isinstance(known.coder, AgentsCoder)
    return known.coder


def _made(task: type[ParallelTask], *, pictures: bool = False) -> Any:
    """A new environment of a task."""
    env, options = task.env, dict(task.env_options) | ({"render_mode": "rgb_array"} if pictures else {})
    if isinstance(env, str):
        if env in gymnasium.registry:
            raise TaskError(f"{env} is an environment of one agent", "derive the class from `GymTask`")
        module, _, name = env.partition(":")
        env = getattr(importlib.import_module(module), name or "parallel_env")
    made = env(**options)
    game = getattr(made, "unwrapped", made)
    if not pictures and hasattr(game, "game_font"):
        game.game_font = None  # a particle game keeps its file open, and there may be thousands that draw nothing
    return made


@lru_cache(maxsize=8)
def _look(task: type[ParallelTask]) -> Known:
    env = first_made(task, lambda: _made(task))
    agents: tuple[str, ...] = tuple(getattr(env, "possible_agents", ()))
    if not agents or hasattr(env, "agent_iter"):
        what = f"{type(env).__name__} is no parallel environment of PettingZoo"
        raise TaskError(what, "give what makes one, as in `mpe2.simple_spread_v3:parallel_env`")
    with env_faults(task.path):
        kind = type(getattr(env, "unwrapped", env))
        observed = [readable(env.observation_space(each)) for each in agents]
        coder = AgentsCoder([env.action_space(each) for each in agents])
        infos, rewards, truncated_at = _first_episode(env, agents)
        fps = (getattr(env, "metadata", None) or {}).get("render_fps")
        env.close()
    first = agents[0]
    seen = {} if any(map(is_picture, observed)) else observation_variables(observed_size(observed), {})
    told = info_variables(infos[first][:LOOKED_AT] or [{}], rewards[first][:LOOKED_AT], {*seen, *_flags(agents)})
    for each in agents[1:]:
        own = info_variables(infos[each][:LOOKED_AT] or [{}], rewards[each][:LOOKED_AT], seen)
        told = {name: value for name, value in told.items() if name in own}
    every = [info for each in agents for info in infos[each]]
    return Known(
        kind=kind,
        space=max(observed, key=seen_size),
        coder=coder,
        variables={name: info_variable(key, value) for name, (key, value) in told.items()} | seen,
        entries=entries_of(seen),
        keys={name: key for name, (key, _) in told.items()},
        info=kept_keys(every),
        success=success_key(every),
        steps=truncated_at,
        threshold=None,
        control_step_s=1.0 / fps if fps else 1.0,
        agents=agents,
    )


def _first_episode(
    env: Any, agents: Sequence[str]
) -> tuple[dict[str, list[Mapping[str, Any]]], dict[str, list[float]], int | None]:
    """`info` and reward of each agent in an episode with random actions, and where the environment itself cut it."""
    env.reset(seed=0)
    for place, each in enumerate(agents):
        env.action_space(each).seed(place)
    infos: dict[str, list[Mapping[str, Any]]] = {each: [] for each in agents}
    rewards: dict[str, list[float]] = {each: [] for each in agents}
    for number in range(1, MOST_LOOKED_AT + 1):
        told = env.step({each: env.action_space(each).sample() for each in env.agents})
        if not (isinstance(told, tuple | list) and len(told) == 5):
            hint = "return observations, rewards, terminations, truncations and infos: a dict each, by agent"
            raise TaskError("`step` does not return five things", hint)
        for each in told[1]:
            infos[each].append(told[4].get(each, {}))
            rewards[each].append(float(np.sum(told[1][each])))
        if not env.agents or all(told[2][each] or told[3][each] for each in told[2]):
            return infos, rewards, number if any(told[3].values()) else None
    return infos, rewards, None
