"""What a reward must do to be trained with: run, keep its shape, be pure and finite, treat every world by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from rewardgen.records import Finding
from rewardgen.reward.program import RewardError

Inputs = dict[str, Tensor]
Call = Callable[[Inputs], dict[str, Tensor]]
"""A reward with its constants: inputs, each (N, ...), to components, each (N,)."""

_DETECTORS = {"exception": "probe-exception", "shape": "probe-shape", "non-finite": "non-finite"}
_EXTREMES = (0.0, 1e3, -1e3)
_BATCHES = (64, 2, 1)
_TOLERANCE = 1e-4
"""Kernels for different batch sizes may round differently; relative to the component's largest value."""


def check_contract(call: Call, inputs: Inputs, bank: Inputs) -> tuple[Finding, ...]:
    """Find what keeps a reward from being trained with.

    Args:
        call: The reward.
        inputs: What it reads, (M, ...).
        bank: Every input that is recorded, (M, ...).

    Returns:
        Rejections; those that follow from an earlier one are left out.
    """
    try:
        components = call(_copy(inputs))
    except RewardError as error:
        return (probe_finding(error, "on recorded transitions"),)
    return (
        *_changes_inputs(call, inputs),
        *_is_not_repeatable(call, inputs, components),
        *_depends_on_batch(call, inputs, components),
        *_is_not_finite(call, inputs, bank),
    )


def probe_finding(error: RewardError, where: str) -> Finding:
    """The rejection for a call that failed.

    Args:
        error: What the reward raised.
        where: In which situation.
    """
    return Finding(
        gate="probe",
        detector=_DETECTORS[error.kind],
        severity="reject",
        message=f"{error.message} ({where})",
        hint=error.hint,
        line=error.line,
        component=error.component,
    )


def _changes_inputs(call: Call, inputs: Inputs) -> Iterator[Finding]:
    given = _copy(inputs)
    call(given)
    for name, value in inputs.items():
        if not torch.equal(given[name], value):
            hint = "make a new tensor, as with `torch.where(...)` or `x.clone()` first"
            yield _rejection("changes-input", f"the reward changes its input `{name}`", hint)


def _is_not_repeatable(call: Call, inputs: Inputs, first: dict[str, Tensor]) -> Iterator[Finding]:
    second = call(_copy(inputs))
    for name, value in first.items():
        if name not in second or not torch.equal(second[name], value):
            hint = "compute it from the inputs alone, without memory between calls"
            yield _rejection("not-repeatable", f"component `{name}` differs between two equal calls", hint, name)


def _depends_on_batch(call: Call, inputs: Inputs, whole: dict[str, Tensor]) -> Iterator[Finding]:
    for size in _BATCHES:
        try:
            # The last rows: a running sum over the first ones would agree with the whole.
            part = call({name: value[-size:].clone() for name, value in inputs.items()})
        except RewardError as error:
            yield probe_finding(error, f"in a batch of {size}")
            return
        if set(part) != set(whole):
            hint = "return the same components in every state"
            yield _rejection("batch-dependent", f"the components differ in a batch of {size}", hint)
            return
        for name, value in whole.items():
            expected = value[-size:]
            allowed = _TOLERANCE * float(value.abs().max())
            difference = (part[name] - expected).abs()
            if float(difference.max()) > allowed:
                row = int(difference.argmax())
                among, alone = f"{float(expected[row]):.4g}", f"{float(part[name][row]):.4g}"
                sizes = f"{among} in a batch of {len(value)}, {alone} in a batch of {size}"
                what = f"component `{name}` of one world is {sizes}"
                hint = "reduce over the last axis of (N, k) only: `.sum(-1)`; a reward never mixes worlds"
                yield _rejection("batch-dependent", what, hint, name)
                return


def _is_not_finite(call: Call, inputs: Inputs, bank: Inputs) -> Iterator[Finding]:
    for where, rows in _extreme_inputs(inputs, bank):
        try:
            call(rows)
        except RewardError as error:
            yield probe_finding(error, where)
            return


def _extreme_inputs(inputs: Inputs, bank: Inputs) -> Iterator[tuple[str, Inputs]]:
    """Situations that no recording may hold, with their name: nothing has moved, and one input far out."""
    still = {name: bank.get(name.removeprefix("prev_"), value) for name, value in inputs.items()}
    yield "where nothing has changed since the step before", _copy(still)
    for name, value in inputs.items():
        if not _is_direction(value):
            # What was never negative, over all ranges of the joints, is a size: a force, a sum of squares.
            signed = bool((value < 0.0).any())
            for extreme in (each for each in _EXTREMES if each >= 0.0 or signed):
                rows = {other: each[:2].clone() for other, each in inputs.items()}
                rows[name].fill_(extreme)
                yield f"at `{name}` = {extreme:g}", rows


def _is_direction(value: Tensor) -> bool:
    """Whether (M, k) holds unit vectors, such as quaternions, which are never zero nor long."""
    return value.ndim == 2 and bool(((value.norm(dim=1) - 1.0).abs() < 1e-3).all())


def _copy(inputs: Inputs) -> Inputs:
    return {name: value.clone() for name, value in inputs.items()}


def _rejection(detector: str, message: str, hint: str, component: str | None = None) -> Finding:
    return Finding(gate="probe", detector=detector, severity="reject", message=message, hint=hint, component=component)
