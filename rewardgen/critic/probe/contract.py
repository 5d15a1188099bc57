"""What a reward must do to be trained with: keep its shape, be pure and finite, treat every env by itself, vary."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import chain, combinations

import torch
from torch import Tensor

from rewardgen.critic.probe.probed_reward import ZERO, Inputs, ProbedReward, failure, finding
from rewardgen.reward.program import RewardError
from rewardgen.store.records import Finding

_BEYOND = 10.0
"""Times the range of beginners: a reward must be finite there. No policy is ten times faster than an expert."""
_BEYOND_WORDS = ", pushed out beyond its recorded range"
_FAR = 1e3
_ROUNDED = 1.0 + 1e-6
"""A bound by a few roundings of float32 further out."""
_BATCHES = (64, 2, 1, 1 << 15)
"""Envs: some, few, one, and more than were recorded, as in a rollout of several training runs."""
_TOLERANCE = 1e-4
"""Kernels for different batch sizes may round differently; relative to the component's largest value."""


def check_contract(reward: ProbedReward) -> Iterator[Finding]:
    """Find what keeps a reward from being trained with, and a warning if it overflows far out."""
    yield from _impurities(reward)
    yield from _batch_dependence(reward)
    if failed := _first_failure(reward, chain(_extreme_inputs(reward), _far_inputs(reward))):
        error, where, evidence = failed
        yield failure(error, where, evidence)
    elif failed := _first_failure(reward, _far_inputs(reward, _FAR)):
        # Only a warning: so far out no simulation that goes on ever comes.
        error, where, evidence = failed
        yield finding("overflow", f"{error.message} ({where})", error.hint, evidence, error.component)


def rounded_out(reward: ProbedReward) -> Iterator[Finding]:
    """A warning if a reward is not finite where rounding takes a cosine beyond its bound, as few simulators do."""
    if failed := _first_failure(reward, _rounded_inputs(reward)):
        error, where, evidence = failed
        yield finding("unguarded-domain", f"{error.message} ({where})", error.hint, evidence, error.component)


def _impurities(reward: ProbedReward) -> Iterator[Finding]:
    """What differs between two equal calls."""
    again = reward.call(reward.inputs)
    for name, value in reward.components.items():
        if not torch.equal(again[name], value):
            hint = "compute it from the inputs alone, without memory between calls"
            evidence = {"difference": float((again[name] - value).abs().max())}
            message = f"component `{name}` differs between two equal calls"
            yield finding("not-repeatable", message, hint, evidence, name, severity="reject")


def _batch_dependence(reward: ProbedReward) -> Iterator[Finding]:
    count = len(reward.transitions)
    for size in _BATCHES:
        # The last rows, over and over: a running sum over the first ones would agree with the whole.
        rows = torch.arange(count - size, count) % count
        try:
            part = reward.call({name: value[rows] for name, value in reward.inputs.items()})
        except RewardError as error:
            yield failure(error, f"in a batch of {size}", {"batch": size})
            return
        for name, value in reward.components.items():
            expected = value[rows]
            difference = (part[name] - expected).abs()
            if float(difference.max()) > _TOLERANCE * float(value.abs().max()):
                row = int(difference.argmax())
                among, alone = float(expected[row]), float(part[name][row])
                sizes = f"{among:.4g} in a batch of {count}, {alone:.4g} in a batch of {size}"
                message = f"component `{name}` of one env is {sizes}"
                hint = "reduce over the last axis of (N, k) only: `.sum(-1)`; a reward never mixes envs"
                evidence = {"among": among, "alone": alone, "batch": size}
                yield finding("batch-dependent", message, hint, evidence, name, severity="reject")
                return


def no_signal(reward: ProbedReward) -> Iterator[Finding]:
    """A rejection if no component varies at all, which an expert's episodes are no remedy for."""
    beginners = reward.transitions.beginners
    own = varying(reward)
    if all(is_flat(value[beginners]) for value in own.values()):
        listed = ", ".join(f"`{name}` = {float(value.mean()):.4g}" for name, value in own.items())
        hint = "make a component vary between states that a random policy visits: rescale it, or widen its threshold"
        transitions = int(beginners.sum())
        message = f"no component varies over {transitions} recorded transitions: {listed}"
        yield finding("no-signal", message, hint, {"transitions": transitions}, severity="reject")


def varying(reward: ProbedReward) -> dict[str, Tensor]:
    """The components but for a `residual` of zero, each (M,)."""
    return {
        name: value
        for name, value in reward.components.items()
        if name != "residual" or bool((value.abs() > ZERO).any())
    }


def is_flat(value: Tensor) -> bool:
    """Whether a component, (n,), is the same everywhere."""
    return float(value.max() - value.min()) <= ZERO + 1e-6 * float(value.abs().max())


Situation = tuple[str, dict[str, float], Inputs]
"""Words, numbers, and inputs, (n, ...)."""


def _first_failure(
    reward: ProbedReward, situations: Iterable[Situation]
) -> tuple[RewardError, str, dict[str, float]] | None:
    for where, evidence, rows in situations:
        try:
            reward.call(rows)
        except RewardError as error:
            return error, where, evidence
    return None


def _extreme_inputs(reward: ProbedReward) -> Iterator[Situation]:
    """Situations that no recording may hold: standstill, all that has a sign at zero, equal points, flags otherwise."""
    transitions, inputs = reward.transitions, reward.inputs
    still = {name: transitions.still[name] for name in inputs}
    yield "where nothing has changed since the step before", {"transitions": len(transitions)}, still
    rows = _few(inputs)
    for name, value in inputs.items():
        if _is_signed(value) and not _is_direction(value):
            rows[name].fill_(0.0)
    yield "at rest, with all that can be negative at zero", {"input": 0.0}, rows
    for first, second in combinations(inputs, 2):
        if inputs[first].ndim == 2 and inputs[first].shape == inputs[second].shape:
            rows = _few(inputs)
            rows[second] = rows[first].clone()
            yield f"where `{first}` and `{second}` are equal", {"transitions": len(rows[first])}, rows
    if reward.with_flags:
        yield "where flags are 0 or 1 otherwise than recorded", {"transitions": len(transitions)}, reward.with_flags


def _far_inputs(reward: ProbedReward, far: float | None = None) -> Iterator[Situation]:
    """One input at zero or far out: its recorded range many times over, or as often as takes it to a given distance.

    What was hardly ever negative stays so: a height that was -0.02 m once, and 2 m at the most, is not tried at -20 m.
    """
    transitions = reward.transitions
    for name, value in reward.inputs.items():
        if not _is_direction(value):
            recorded = value[transitions.beginners]
            largest, bound = float(recorded.abs().max()), transitions.facts.bounds.get(name, math.inf)
            times = far / largest if far and largest else _BEYOND
            ends = (torch.zeros_like(recorded[0]), recorded.amax(0).clamp(min=0.0), recorded.amin(0).clamp(max=0.0))
            # The two ends, but for one at zero: that is tried for itself.
            for end in (each for place, each in enumerate(ends) if not place or bool(each.any())):
                extreme = (times * end).clamp(-bound, bound)
                rows = _few(reward.inputs)
                rows[name][:] = extreme
                furthest = float(extreme.flatten()[extreme.abs().argmax()])
                yield f"with `{name}` = {_shown(extreme)}{_BEYOND_WORDS * bool(end.any())}", {"input": furthest}, rows


def _shown(value: Tensor) -> str:
    numbers = [f"{each:.4g}" for each in value.flatten().tolist()]
    alike = len(set(numbers)) == 1
    return numbers[0] if alike else f"({', '.join(numbers[:8])}{', ...' * (len(numbers) > 8)})"


def _rounded_inputs(reward: ProbedReward) -> Iterator[Situation]:
    """One input a little beyond its bound."""
    bounds = reward.transitions.facts.bounds
    for name in (name for name in reward.inputs if name in bounds):
        for bound in (bounds[name], -bounds[name]):
            rows = _few(reward.inputs)
            rows[name].fill_(bound * _ROUNDED)
            yield f"where rounding takes `{name}` beyond {bound:.4g}", {"input": bound}, rows


def _is_signed(value: Tensor) -> bool:
    return bool((value < 0.0).any())


def _is_direction(value: Tensor) -> bool:
    """Whether (M, k) holds unit vectors, such as quaternions, which are never zero nor long."""
    return value.ndim == 2 and bool(((value.norm(dim=1) - 1.0).abs() < 1e-3).all())


def _few(inputs: Inputs) -> Inputs:
    return {name: value[:2].clone() for name, value in inputs.items()}
