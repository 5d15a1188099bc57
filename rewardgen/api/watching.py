"""Watch the reward of any training, without a search: `rewardgen.watch`.

Statistics, detectors and thresholds are the analyzer's, here on the episodes of training, in which the policy explores.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium
import numpy as np
import torch
from stable_baselines3.common.callbacks import BaseCallback
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from rewardgen.analyzer.detectors.learning_curves import CLEARLY
from rewardgen.analyzer.flags import flags_of
from rewardgen.analyzer.training_curves import seed_curves, training_curves
from rewardgen.analyzer.training_evidence import TrainingEvidence, flag
from rewardgen.api.reward import Reward
from rewardgen.core.errors import UsageError, did_you_mean
from rewardgen.core.files import write_atomic
from rewardgen.core.formatting import number, percent, with_spread
from rewardgen.reward.contract import RESIDUAL, checked_components
from rewardgen.store.measurements import TIME_LIMIT, ComponentPoint, EvaluationPoint, TrainingCurves
from rewardgen.store.records import CandidateResult, Flag, SliceResult, TaskCard
from rewardgen.training.shared.digests import SliceEvaluation, component_points, evaluation_point
from rewardgen.ui.console import messages, results
from rewardgen.ui.tables import plain_table

_WINDOWS, _WINDOW_STEPS, _EPISODES = 20, 10_000, 8
_SETTLED = 3
"""Windows that must agree at the start and at the end of training; with fewer there are no warnings."""
_SUCCESS, _FITNESS = "is_success", "fitness"
_AT_THE_END = "still-rising"


class _Episode(NamedTuple):
    components: Mapping[str, Tensor]  # (T,)
    steps: int
    fitness: float
    success: bool
    terminated: bool


class watch(BaseCallback):  # noqa: N801 (called like a function)
    """Watch the reward of your own training: dead, dominant and misleading components, and reward hacking.

    It is a callback for `learn` of Stable-Baselines3; for any other trainer, `wrap` an env. Warnings are printed as
    they arise, a table at the end. Success is read from `is_success` in `info` at an episode's end, if it is there.

    Args:
        components: Keys of `info` at each step: a number each, or a dict of them, such as `components`. What their sum
            lacks of the reward is shown as `residual`.
        metric: Key of `info` at an episode's last step for what should rise; default: `fitness` if it is there, as in
            environments of `make_env`, else `is_success`. Without any there is no alarm for reward hacking.
        reward: A reward to watch in place of `components`; its variables are read from `info`, or from a dict there.
        every: Env steps between two evaluations, each of at least 8 episodes. Default: a twentieth of the training;
            10,000 for a wrapped env.
        ends_are_failures: True if `terminated` means failure, so that early ends which pay are a fault.
        file: JSON file of curves, flags and warnings, written at each evaluation.

    Raises:
        UsageError: Neither or both of components and reward are given.
    """

    def __init__(
        self,
        components: str | Sequence[str] = (),
        *,
        metric: str | None = None,
        reward: Reward | None = None,
        every: int | None = None,
        ends_are_failures: bool = False,
        file: str | Path | None = None,
    ) -> None:
        super().__init__()
        self._keys = (components,) if isinstance(components, str) else tuple(components)
        if bool(self._keys) == (reward is not None):
            hint = 'name keys of `info`, as `components=("reward_forward", "reward_ctrl")`, or give a `Reward`'
            raise UsageError("a watch needs either `components` or a `reward`", hint)
        self._file = None if file is None else Path(file).absolute()
        self._asked, self._reward, self._every, self._ends_are_failures = metric, reward, every, ends_are_failures
        self._window = every or _WINDOW_STEPS
        self._begin()

    def _begin(self) -> None:
        self._metric = self._asked
        self._running: dict[int, list[tuple[dict[str, Any], float]]] = {}
        self._episodes: list[_Episode] = []
        self._points: list[EvaluationPoint] = []
        self._components: dict[str, list[ComponentPoint]] = {}
        self._steps = self._evaluated = 0
        self._has_success = self._success_ends = False
        self.warnings: list[tuple[int, Flag]] = []
        """Warnings in the order in which they arose, each with its env step."""

    def wrap(self, env: gymnasium.Env[Any, Any]) -> gymnasium.Env[Any, Any]:
        """Return a Gymnasium wrapper that watches the steps of an env; its `close` prints the table."""
        return _WatchedEnv(env, self)

    def add(
        self, info: Mapping[str, Any], reward: float, action: Any, terminated: bool, truncated: bool, env: int = 0
    ) -> None:
        """Record a step; `env` tells envs apart.

        Raises:
            UsageError: `info` lacks an entry.
            RewardError: A component is not finite.
        """
        self._running.setdefault(env, []).append((self._read(info, action), reward))
        self._steps += 1
        if terminated or truncated:
            self._episodes.append(self._ended(self._running.pop(env), info, terminated))
        if self._steps - self._evaluated >= self._window and len(self._episodes) >= _EPISODES:
            self._evaluate()

    @property
    def curves(self) -> TrainingCurves:
        """Course of training, and the statistics of each component in each window; `fitness` is the metric."""
        return training_curves(self._result())

    def flags(self) -> tuple[Flag, ...]:
        """Return the faults of the training so far."""
        card = TaskCard.model_construct(  # of the task, no more is known here
            fitness=(self._metric or _SUCCESS) if self._measures else "",
            success_terminates=self._success_ends,
            benign_terminations=not (self._ends_are_failures or self._has_success),
        )
        flags = flags_of(TrainingEvidence(self._result(), self.curves, seed_curves(self._result()), card))
        hacked = any(one.detector == "reward-up-fitness-down" for one in flags)
        return flags if hacked or not self._measures else (*_return_alone(self._points), *flags)

    def finish(self) -> None:
        """Evaluate the last episodes and print the table."""
        if len(self._episodes) >= _EPISODES:
            self._evaluate()
        if not self._points:
            ended = f"{len(self._episodes)} episodes ended, and {_EPISODES} are needed"
            messages().print(f"warning: no statistics of the reward: {ended}", soft_wrap=True)
            return
        headings = ("component", "mean per step", "std", "share", "active", "r with fitness")
        table = plain_table(*headings, right=headings[1:])
        for name, points in self._components.items():
            last = points[-1]
            shares = percent(last.share), percent(last.activation)
            table.add_row(name, number(last.mean), number(last.std), *shares, number(last.fitness_correlation))
        first, last = self._points[0], self._points[-1]
        lines = [f"return: {number(first.episode_return)} to {with_spread(last.episode_return, last.return_spread)}"]
        rise = f"{number(first.fitness)} to {with_spread(last.fitness, last.fitness_spread)}"
        measured = f"fitness, `{self._metric or _SUCCESS}`: {rise}"
        lines.append(measured if self._measures else "fitness: unknown; name a `metric` of `info`")
        lines += [f"- {one.message} [{one.detector}]" for one in self.flags()]
        results().print(f"reward after {self._steps:,} env steps, in the last of {len(self._points)} windows:", table)
        results().print("\n".join(lines), soft_wrap=True)

    @property
    def _measures(self) -> bool:
        return self._metric is not None or self._has_success

    def _read(self, info: Mapping[str, Any], action: Any) -> dict[str, Any]:
        """Return the components of one step, or the variables of the watched reward."""
        if self._reward is not None:
            inner = {name: value for part in info.values() if isinstance(part, Mapping) for name, value in part.items()}
            known = {**inner, **info, "action": np.atleast_1d(action)}
            return {name: _entry(known, name) for name in {name.removeprefix("prev_") for name in self._reward.inputs}}
        values: dict[str, Any] = {}
        for key in self._keys:
            # A bonus may be in `info` at some steps only.
            value = info.get(key, 0.0) if self._steps else _entry(info, key)
            values |= value if isinstance(value, Mapping) else {key: value}
        return {re.sub(r"\W", "_", name): float(value) for name, value in values.items()}

    def _ended(self, steps: list[tuple[dict[str, Any], float]], info: Mapping[str, Any], terminated: bool) -> _Episode:
        rows, paid = [row for row, _ in steps], torch.tensor([reward for _, reward in steps])
        names = dict.fromkeys(name for row in rows for name in row)
        if self._reward is not None:
            components = self._reward.over_episode({name: np.stack([row[name] for row in rows]) for name in names})
        else:
            read = {name: torch.tensor([row.get(name, 0.0) for row in rows]) for name in names}
            components = dict(checked_components((paid, read), {"reward": paid}))
            if not components[RESIDUAL].any():
                del components[RESIDUAL]
        success = bool(info.get(_SUCCESS, False))
        self._has_success |= _SUCCESS in info
        if self._metric is None and not self._points and _FITNESS in info:
            self._metric = _FITNESS
        self._success_ends |= success and terminated
        fitness = float(_entry(info, self._metric)) if self._metric else float(success)
        return _Episode(components, len(steps), fitness, success, terminated)

    def _evaluate(self) -> None:
        """Add the episodes since the last window to the curves, and warn of what is new in them."""
        episodes, self._episodes, self._evaluated = self._episodes, [], self._steps
        names = dict.fromkeys(name for episode in episodes for name in episode.components)
        components = {
            name: pad_sequence([one.components.get(name, torch.zeros(one.steps)) for one in episodes]) for name in names
        }
        evaluation = SliceEvaluation(
            variables=components,
            components=components,
            lengths=torch.tensor([one.steps for one in episodes]),
            fitness=torch.tensor([one.fitness for one in episodes], dtype=torch.float64),
            success=torch.tensor([one.success for one in episodes]),
            endings=["terminated" if one.terminated else TIME_LIMIT for one in episodes],
            parts={},
            rows=(),
            leading=(),
            control_step_s=1.0,
        )
        self._points.append(evaluation_point(evaluation, self._steps))
        for name, point in component_points(evaluation, self._steps).items():
            self._components.setdefault(name, []).append(point)
        known = {(one.detector, one.component) for _, one in self.warnings} | {(_AT_THE_END, None)}
        for new in self.flags() if len(self._points) >= _SETTLED else ():
            if (new.detector, new.component) not in known:
                self.warnings.append((self._steps, new))
                messages().print(f"warning: step {self._steps:,}: {new.message} [{new.detector}]", soft_wrap=True)
        if self._file is not None:
            arose = [{"env_steps": step, **one.model_dump()} for step, one in self.warnings]
            kept = {"curves": self.curves.model_dump(), "flags": [one.model_dump() for one in self.flags()]}
            write_atomic(self._file, json.dumps({"env_steps": self._steps, **kept, "warnings": arose}, indent=1))

    def _result(self) -> CandidateResult:
        curves = {name: tuple(points) for name, points in self._components.items()}
        run = SliceResult(candidate_id="g00-k0", seed=0, curve=tuple(self._points), components=curves)
        run = run.model_copy(update={"terminations": self._points[-1].endings} if self._points else {})
        return CandidateResult(candidate_id=run.candidate_id, slices=(run,))

    def _on_training_start(self) -> None:
        self._window = self._every or max(1, self.locals["total_timesteps"] // _WINDOWS)
        if self.locals["reset_num_timesteps"]:
            self._begin()  # of another training, or of the same one anew

    def _on_step(self) -> bool:
        step, normalised = self.locals, self.model.get_vec_normalize_env()
        rewards = step["rewards"] if normalised is None else normalised.get_original_reward()
        actions = step["clipped_actions"] if "clipped_actions" in step else step["actions"]
        for env, info in enumerate(step["infos"]):
            truncated = bool(step["dones"][env]) and info.get("TimeLimit.truncated", False)
            terminated = bool(step["dones"][env]) and not truncated
            self.add(info, float(rewards[env]), actions[env], terminated, truncated, env)
        return True

    def _on_training_end(self) -> None:
        self.finish()


class _WatchedEnv(gymnasium.Wrapper):
    def __init__(self, env: gymnasium.Env[Any, Any], watch: watch) -> None:
        super().__init__(env)
        self._watch = watch

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        self._watch._running.pop(id(self), None)
        return super().reset(seed=seed, options=options)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = super().step(action)
        self._watch.add(info, float(reward), action, terminated, truncated, id(self))
        return observation, reward, terminated, truncated, info

    def close(self) -> None:
        self._watch.finish()
        super().close()


def _entry(values: Mapping[str, Any], name: str) -> Any:
    if name not in values:
        raise UsageError(f"`info` has no `{name}` to watch", did_you_mean(name, values))
    return values[name]


def _return_alone(points: Sequence[EvaluationPoint]) -> list[Flag]:
    """Return a flag if the return rose beyond noise over the training and the fitness did not."""

    def rise(name: str, spread: str) -> tuple[float, float, bool]:
        sides = [[getattr(point, name) for point in side] for side in (points[:_SETTLED], points[-_SETTLED:])]
        noise = math.hypot(*(getattr(point, spread) for point in (*points[:_SETTLED], *points[-_SETTLED:])))
        low, high = (sum(side) / _SETTLED for side in sides)
        return low, high, high - low > CLEARLY * noise / _SETTLED

    if len(points) < 2 * _SETTLED:
        return []
    low, high, rose = rise("episode_return", "return_spread")
    before, after, followed = rise("fitness", "fitness_spread")
    message = (
        f"The return rose from {number(low)} to {number(high)}, and fitness did not rise beyond its noise, "
        f"{number(before)} to {number(after)}: the policy may collect something else."
    )
    numbers = {"return_from": low, "return_to": high, "fitness_from": before, "fitness_to": after}
    return [flag("return-up-fitness-flat", message, **numbers)] if rose and not followed else []
