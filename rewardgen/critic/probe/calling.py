"""What a reward must do to be trained with: run, keep its shape, be pure and finite, treat every world by itself."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import combinations

import torch
from torch import Tensor

from rewardgen.critic.probe.findings import rejection, warning
from rewardgen.critic.probe.probed_reward import Call, Inputs, NamesError, require_names
from rewardgen.reward.program import RewardError
from rewardgen.sim.transitions import TransitionSet
from rewardgen.store.records import Finding

_DETECTORS = {"exception": "probe-exception", "shape": "probe-shape", "non-finite": "non-finite"}
_BEYOND = 10.0
"""Times the largest value of beginners: a reward must be finite there. No policy is ten times faster than an expert."""
_FAR = 1e3
_BATCHES = (64, 2, 1, 1 << 15)
"""Worlds: some, few, one, and more than a bank has, as in a rollout of several slices."""
_TOLERANCE = 1e-4
"""Kernels for different batch sizes may round differently; relative to the component's largest value."""


def check_contract(call: Call, inputs: Inputs, bank: TransitionSet) -> tuple[Finding, ...]:
    """Find what keeps a reward from being trained with.

    Args:
        call: The reward.
        inputs: What it reads, (M, ...).
        bank: Where they are from.

    Returns:
        Rejections, without those that follow from an earlier one, and a warning if it overflows far out.
    """
    try:
        components = call(_copy(inputs))
    except RewardError as error:
        evidence = {"transitions": len(next(iter(inputs.values())))}
        return (probe_finding(error, "on recorded transitions", evidence),)
    return (
        *_changes_inputs(call, inputs),
        *_is_not_repeatable(call, inputs, components),
        *_depends_on_batch(call, inputs, components),
        *(tuple(_is_not_finite(call, inputs, bank)) or _overflows(call, inputs, bank)),
    )


def probe_finding(error: RewardError, where: str, evidence: Mapping[str, float] | None = None) -> Finding:
    """The rejection for a call that failed.

    Args:
        error: What the reward raised.
        where: In which situation.
        evidence: The numbers of that situation by name.
    """
    message = f"{error.message} ({where})"
    detector = "batch-dependent" if isinstance(error, NamesError) else _DETECTORS[error.kind]
    found = rejection(detector, message, error.hint, evidence or {}, error.component)
    return found.model_copy(update={"line": error.line})


def _changes_inputs(call: Call, inputs: Inputs) -> Iterator[Finding]:
    given = _copy(inputs)
    call(given)
    for name, value in inputs.items():
        if not torch.equal(given[name], value):
            hint = "make a new tensor, as with `torch.where(...)` or `x.clone()` first"
            evidence = {"changed": float((given[name] != value).float().mean())}
            yield rejection("changes-input", f"the reward changes its input `{name}`", hint, evidence)


def _is_not_repeatable(call: Call, inputs: Inputs, first: dict[str, Tensor]) -> Iterator[Finding]:
    second = call(_copy(inputs))
    for name, value in first.items():
        if name not in second or not torch.equal(second[name], value):
            hint = "compute it from the inputs alone, without memory between calls"
            evidence = {"difference": float((second[name] - value).abs().max())} if name in second else {}
            message = f"component `{name}` differs between two equal calls"
            yield rejection("not-repeatable", message, hint, evidence, name)


def _depends_on_batch(call: Call, inputs: Inputs, whole: dict[str, Tensor]) -> Iterator[Finding]:
    count = len(next(iter(inputs.values())))
    for size in _BATCHES:
        # The last rows, over and over: a running sum over the first ones would agree with the whole.
        rows = torch.arange(count - size, count) % count
        try:
            part = call({name: value[rows] for name, value in inputs.items()})
            require_names(part, whole)
        except RewardError as error:
            yield probe_finding(error, f"in a batch of {size}", {"batch": size})
            return
        for name, value in whole.items():
            expected = value[rows]
            allowed = _TOLERANCE * float(value.abs().max())
            difference = (part[name] - expected).abs()
            if float(difference.max()) > allowed:
                row = int(difference.argmax())
                among, alone = float(expected[row]), float(part[name][row])
                sizes = f"{among:.4g} in a batch of {len(value)}, {alone:.4g} in a batch of {size}"
                what = f"component `{name}` of one world is {sizes}"
                hint = "reduce over the last axis of (N, k) only: `.sum(-1)`; a reward never mixes worlds"
                yield rejection("batch-dependent", what, hint, {"among": among, "alone": alone, "batch": size}, name)
                return


def _is_not_finite(call: Call, inputs: Inputs, bank: TransitionSet) -> Iterator[Finding]:
    for make in (_extreme_inputs(inputs, bank), _far_inputs(inputs, bank)):
        for where, evidence, rows in make:
            try:
                call(rows)
            except RewardError as error:
                yield probe_finding(error, where, evidence)
                return


def _overflows(call: Call, inputs: Inputs, bank: TransitionSet) -> Iterator[Finding]:
    """A warning: so far out no simulation that goes on ever comes."""
    for where, evidence, rows in _far_inputs(inputs, bank, _FAR):
        try:
            call(rows)
        except RewardError as error:
            yield warning("overflow", f"{error.message} ({where})", error.hint, evidence, error.component)
            return


Situation = tuple[str, dict[str, float], Inputs]
"""Words, numbers, and inputs, (n, ...)."""


def _extreme_inputs(inputs: Inputs, bank: TransitionSet) -> Iterator[Situation]:
    """Situations that no recording may hold: standstill, all that has a sign at zero, equal points."""
    still = _copy({name: bank.still[name] for name in inputs})
    yield "where nothing has changed since the step before", {"transitions": len(bank)}, still
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


def _far_inputs(inputs: Inputs, bank: TransitionSet, far: float | None = None) -> Iterator[Situation]:
    """One input at zero or far out: well beyond what was recorded, or at a given distance."""
    for name, value in inputs.items():
        if not _is_direction(value):
            largest = float(value[bank.beginners].abs().max())
            beyond = min(far or _BEYOND * largest, bank.facts.bounds.get(name, math.inf))
            # What was never negative, over all ranges of the joints, is a size: a force, a sum of squares.
            for extreme in (0.0, beyond, -beyond) if _is_signed(value) else (0.0, beyond):
                rows = _few(inputs)
                rows[name].fill_(extreme)
                yield f"at `{name}` = {extreme:.4g}", {"input": extreme}, rows


def _is_signed(value: Tensor) -> bool:
    return bool((value < 0.0).any())


def _few(inputs: Inputs) -> Inputs:
    return {name: value[:2].clone() for name, value in inputs.items()}


def _is_direction(value: Tensor) -> bool:
    """Whether (M, k) holds unit vectors, such as quaternions, which are never zero nor long."""
    return value.ndim == 2 and bool(((value.norm(dim=1) - 1.0).abs() < 1e-3).all())


def _copy(inputs: Inputs) -> Inputs:
    return {name: value.clone() for name, value in inputs.items()}
