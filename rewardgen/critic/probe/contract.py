"""Requirements for training with a reward: shape, purity, finite values, independence of the batch, some variation."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import chain, combinations

import torch
from torch import Tensor

from rewardgen.critic.probe.probed_reward import Inputs, ProbedReward, failure, finding, is_flat
from rewardgen.reward.program import RewardError
from rewardgen.store.records import Finding

_BEYOND = 10.0
"""A reward must be finite at this many times the range of beginners: no policy is ten times faster than an expert."""
_BEYOND_WORDS = ", pushed out beyond its recorded range"
_BATCHES = (64, 2, 1, 1 << 15)
"""The last is more than were recorded, as in a rollout of several training runs."""
_TOLERANCE = 1e-4
"""Kernels for different batch sizes may round differently; relative to the component's largest value."""

Situation = tuple[str, dict[str, float], Inputs]
"""Words, numbers, and inputs, (n, ...)."""


def check_contract(reward: ProbedReward, *, signal: bool = True) -> Iterator[Finding]:
    """Find the reasons why a reward cannot be trained with; its shape was checked when it was called.

    With `signal`, a component must vary.

    Raises:
        RewardError: It fails in the second call on the same transitions.
    """
    yield from _impurities(reward)
    yield from _batch_dependence(reward)
    for where, evidence, rows in chain(_extreme_inputs(reward), _far_inputs(reward)):
        try:
            reward.call(rows)
        except RewardError as error:
            yield failure(error, where, evidence)
            break
    yield from _failures_in_stages(reward)
    if signal:
        yield from _no_signal(reward)


def _impurities(reward: ProbedReward) -> Iterator[Finding]:
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


def _failures_in_stages(reward: ProbedReward) -> Iterator[Finding]:
    """Find a step from a stage, or within one, at which a reward with stages fails; calls see settled stages alone."""
    machine = reward.machine
    if machine is None:
        return
    for (before, after), rows in reward.moves.items():
        try:
            machine.pay(rows, before, after)
        except RewardError as error:
            way = f"in stage `{machine.names[after]}`" + f", from `{machine.names[before]}`" * (before != after)
            yield failure(error, way, {"stage": after, "states": len(next(iter(rows.values())))})
            return


def _no_signal(reward: ProbedReward) -> Iterator[Finding]:
    """Find rewards that never vary for beginners, even if they do for an expert."""
    beginners = reward.transitions.beginners
    components = reward.varying
    seen = [value[beginners] for value in components.values()]
    if reward.machine is not None:
        rows = {name: value[beginners] for name, value in reward.inputs.items()}
        seen += reward.machine.pay(rows, 0, reward.machine.next_stage(0, rows)).values()
    if all(is_flat(value) for value in seen):
        listed = ", ".join(f"`{name}` = {float(value.mean()):.4g}" for name, value in components.items())
        hint = "make a component vary between states that a random policy visits: rescale it, or widen its threshold"
        count = int(beginners.sum())
        message = f"no component varies over {count} recorded transitions: {listed}"
        yield finding("no-signal", message, hint, {"transitions": count}, severity="reject")


def _extreme_inputs(reward: ProbedReward) -> Iterator[Situation]:
    """Yield situations that may not be recorded: standstill, signed inputs at zero, equal points, flags otherwise."""
    transitions, inputs = reward.transitions, reward.inputs
    still = {name: transitions.still[name] for name in inputs}
    yield "where nothing has changed since the step before", {"transitions": len(transitions)}, still
    rows = _few(inputs)
    for name, value in inputs.items():
        if bool((value < 0.0).any()) and not _is_direction(value):
            rows[name].fill_(0.0)
    yield "at rest, with all that can be negative at zero", {"input": 0.0}, rows
    for first, second in combinations(inputs, 2):
        if inputs[first].ndim == 2 and inputs[first].shape == inputs[second].shape:
            rows = _few(inputs)
            rows[second] = rows[first].clone()
            yield f"where `{first}` and `{second}` are equal", {"transitions": len(rows[first])}, rows
    if reward.with_flags:
        yield "where flags are 0 or 1 otherwise than recorded", {"transitions": len(transitions)}, reward.with_flags


def _far_inputs(reward: ProbedReward) -> Iterator[Situation]:
    """Yield situations with one input at zero or far beyond its recorded range.

    An input that was hardly ever negative stays so: a height of -0.02 m to 2 m is not tried at -20 m.
    """
    transitions = reward.transitions
    for name, value in reward.inputs.items():
        if _is_direction(value):
            continue
        recorded = value[transitions.beginners]
        bound = transitions.facts.bounds.get(name, math.inf)
        ends = (torch.zeros_like(recorded[0]), recorded.amax(0).clamp(min=0.0), recorded.amin(0).clamp(max=0.0))
        # The two ends, but for one at zero, which is tried for itself.
        for end in (end for place, end in enumerate(ends) if not place or bool(end.any())):
            extreme = (_BEYOND * end).clamp(-bound, bound)
            rows = _few(reward.inputs)
            rows[name][:] = extreme
            furthest = float(extreme.flatten()[extreme.abs().argmax()])
            yield f"with `{name}` = {_shown(extreme)}{_BEYOND_WORDS * bool(end.any())}", {"input": furthest}, rows


def _shown(value: Tensor) -> str:
    numbers = [f"{number:.4g}" for number in value.flatten().tolist()]
    alike = len(set(numbers)) == 1
    return numbers[0] if alike else f"({', '.join(numbers[:8])}{', ...' * (len(numbers) > 8)})"


def _is_direction(value: Tensor) -> bool:
    """Return True if (M, k) holds unit vectors, such as quaternions, which are never zero nor long."""
    return value.ndim == 2 and bool(((value.norm(dim=1) - 1.0).abs() < 1e-3).all())


def _few(inputs: Inputs) -> Inputs:
    return {name: value[:2].clone() for name, value in inputs.items()}
