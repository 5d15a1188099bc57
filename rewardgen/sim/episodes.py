"""Whole episodes: values, recording with a policy, and endings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from rewardgen.core.errors import UnknownName, did_you_mean
from rewardgen.sim.tensors import as_column
from rewardgen.sim.vec_env import ActFunction, Step, VecEnv

TIME_LIMIT = "time limit"
"""Ending of an episode without termination."""

_LOOK_EVERY = {"cuda": 32}
"""Control steps between checks for finished episodes, by kind of device; the host waits at each check."""

TrivialPolicy = Literal["zero", "random"]
_NOISE_SEED = 20_000_003


class Episode(Mapping[str, Tensor]):
    """Whole episodes of N envs, as `fitness` and `success` get them.

    `episode["height"]` is the variable after each control step, (T, N) or (T, N, k), and `episode["action"]` the action
    of the step. Steps after an env's end repeat its last step: use `mask`, `mean`, `last` or `total`.

    Args:
        values: Variables by name, (T, N, ...) each.
        lengths: Control steps of each episode, (N,) int64, at least 1.
        terminated: True where a termination condition ended the episode, (N,) bool.
        control_step_s: Duration of a control step [s].
        max_steps: Control steps of a full episode; T is smaller if all episodes ended earlier.
    """

    def __init__(
        self,
        values: Mapping[str, Tensor],
        lengths: Tensor,
        terminated: Tensor,
        control_step_s: float,
        max_steps: int,
    ) -> None:
        self._values = values
        self.lengths = lengths
        self.terminated = terminated
        self.control_step_s = control_step_s
        self.max_steps = max_steps

    def __getitem__(self, name: str) -> Tensor:
        if name not in self._values:
            raise UnknownName(f"`episode` has no `{name}`", did_you_mean(name, self._values))
        return self._values[name]

    def __getattr__(self, name: str) -> Tensor:
        values = self.__dict__.get("_values", {})
        members = [member for member in dir(Episode) if member[0] != "_"]
        hint = f'read it as `episode["{name}"]`' if name in values else did_you_mean(name, members)
        raise UnknownName(f"`episode` has no attribute `{name}`", hint)

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    @property
    def mask(self) -> Tensor:
        """True until the end of each env's episode, (T, N) bool."""
        steps = next(iter(self._values.values())).shape[0]
        return torch.arange(steps, device=self.lengths.device)[:, None] < self.lengths

    def of_envs(self, part: slice) -> Episode:
        """The episodes of some envs, as if recorded alone."""
        values = _of_envs(self._values, part, self.lengths)
        return Episode(values, self.lengths[part], self.terminated[part], self.control_step_s, self.max_steps)

    def total(self, values: Tensor) -> Tensor:
        """Sum of (T, N) over the steps lived, (N,)."""
        return (values * self.mask).sum(0)

    def mean(self, values: Tensor) -> Tensor:
        """Mean of (T, N) over the steps lived, (N,)."""
        return self.total(values) / self.lengths

    def share(self, condition: Tensor) -> Tensor:
        """Share of a full episode's steps at which (T, N) holds; steps not lived count as False, (N,)."""
        return self.total(condition.float()) / self.max_steps

    def first(self, values: Tensor) -> Tensor:
        """Value of (T, N, ...) after each env's first step, (N, ...)."""
        return values[0]

    def last(self, values: Tensor, *, seconds: float = 0.0) -> Tensor:
        """Value of (T, N, ...) at each env's last step, (N, ...).

        Args:
            values: Values, or a condition.
            seconds: Duration before the end [s]: return the mean of values, or the share of the duration in which a
                condition holds. Missing time of a shorter episode counts as False.
        """
        if seconds == 0.0:
            return values[self.lengths - 1, torch.arange(len(self.lengths), device=self.lengths.device)]
        steps = max(1, round(seconds / self.control_step_s))
        late = torch.arange(len(values), device=self.lengths.device)[:, None] >= self.lengths - steps
        rows = (late & self.mask).view(*late.shape, *[1] * (values.ndim - 2))
        count = steps if values.dtype == torch.bool else as_column(self.lengths.clamp(max=steps), values[0])
        return torch.where(rows, values.double(), 0.0).sum(0) / count


@dataclass(frozen=True)
class Recording:
    """One episode of each of N envs."""

    episode: Episode
    endings: tuple[str, ...]
    """Ending of each env's episode: a termination cause, or `time limit`."""
    inputs: dict[str, Tensor]
    """Recorded inputs of rewards, name to (T, N, ...); includes the episode's values."""

    def of_envs(self, part: slice) -> Recording:
        """The episodes of some envs, as if recorded alone."""
        inputs = _of_envs(self.inputs, part, self.episode.lengths)
        return Recording(self.episode.of_envs(part), self.endings[part], inputs)


def _of_envs(values: Mapping[str, Tensor], part: slice, lengths: Tensor) -> dict[str, Tensor]:
    """Copy tensors (T, N, ...) of some envs, cut to their longest episode.

    With another layout, the rounding of sums would depend on other envs.
    """
    longest = int(lengths[part].max())
    return {name: value[:longest, part].contiguous() for name, value in values.items()}


def trivial_policies(envs: VecEnv) -> dict[TrivialPolicy, ActFunction]:
    """Build policies for comparison: no action, and uniform noise over the action range."""
    still = envs.action_low.new_zeros(envs.num_envs, envs.action_size)
    span = envs.action_high - envs.action_low
    generator = torch.Generator(envs.device).manual_seed(_NOISE_SEED)
    return {
        "zero": lambda observation: still,
        "random": lambda observation: (
            envs.action_low + span * torch.rand(still.shape, generator=generator, device=envs.device)
        ),
    }


def with_previous(current: Mapping[str, Tensor], earlier: Mapping[str, Tensor], first: Tensor) -> dict[str, Tensor]:
    """Return inputs of rewards, (M, ...): values, and `prev_` of each, on an episode's first step the value itself."""
    previous = {
        f"prev_{name}": torch.where(as_column(first, value), value, earlier[name]) for name, value in current.items()
    }
    return {**current, **previous}


def start_inputs(envs: VecEnv) -> dict[str, Tensor]:
    """Return inputs of rewards as if episodes began in the present states: nothing has changed, no action was taken."""
    current = {name: value.float() for name, value in envs.variables_now().items()}
    current["action"] = envs.action_low.new_zeros(envs.num_envs, envs.action_size)
    return {**current, **{f"prev_{name}": value for name, value in current.items()}}


def record_episodes(
    envs: VecEnv,
    policy: ActFunction,
    *,
    names: Iterable[str] = (),
    watch: Callable[[Step, Tensor], object] | None = None,
    anew: bool = False,
) -> Recording:
    """Reset all envs and run one whole episode in each; finished envs rest.

    Args:
        envs: N environments.
        policy: Acts at every step, also for finished envs.
        names: Inputs of rewards to record besides the variables and the action.
        watch: Called with each step and a mask of the unfinished envs, (N,) bool; on a GPU it may be called for a few
            steps after the last episode.
        anew: Begin with each env's first episode, as after construction.
    """
    observation = envs.reset(anew=anew)
    alive = torch.ones(envs.num_envs, dtype=torch.bool, device=envs.device)
    lengths = torch.zeros_like(alive, dtype=torch.int64)
    terminated = torch.zeros_like(alive)
    endings, ending = {TIME_LIMIT: 0}, torch.zeros_like(lengths)
    variables = (*envs.variables, "action")
    recorded = dict.fromkeys((*variables, *names))
    history: list[dict[str, Tensor]] = []
    look_every = _LOOK_EVERY.get(envs.device.type, 1)
    while len(history) % look_every or bool(alive.any()):
        step = envs.step(policy(observation))
        history.append({name: step.inputs[name] for name in recorded})
        lengths += alive
        if watch is not None:
            watch(step, alive)
        for cause, holds in step.causes.items():
            number = endings.setdefault(cause, len(endings))
            ending = torch.where(alive & step.terminated & holds & (ending == 0), number, ending)
        terminated |= alive & step.terminated
        alive = alive & ~(step.terminated | step.truncated)
        if len(history) % look_every == 0 and not bool(alive.all()):
            envs.rest(~alive)
        observation = step.observation
    history, causes = history[: int(lengths.max())], tuple(endings)
    # Repeat the last step, so that fitness on padding fails only where it fails on a real step.
    steps = torch.arange(len(history), device=envs.device).unsqueeze(1).minimum(lengths - 1)
    inputs = {name: torch.stack([values[name] for values in history]) for name in recorded}
    inputs = {name: value[steps, torch.arange(envs.num_envs, device=envs.device)] for name, value in inputs.items()}
    values = {name: inputs[name] for name in variables}
    episode = Episode(values, lengths, terminated, envs.control_step_s, envs.episode_steps)
    return Recording(episode, tuple(causes[number] for number in ending.tolist()), inputs)


def ending_shares(endings: Sequence[str]) -> dict[str, float]:
    """Return the share of episodes with each ending, most frequent first."""
    return {cause: count / len(endings) for cause, count in Counter(endings).most_common()}
