"""Changes of the inputs that a reward must not notice: a moved origin, a flipped quaternion, an angle's seam."""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch

from rewardgen.critic.probe.probed_reward import Inputs, ProbedReward, finding, summed
from rewardgen.sim.variables import Flip, Shift, Wrap, variables_of
from rewardgen.store.records import Finding

_ROWS = 96
_TOLERANCE = 0.05
"""Share of the reward's spread by which it must change in `_STATES` of the rows."""
_STATES = 0.3
_STEP = 1e-3
_SEAM = math.pi - _STEP

_WORDS = {
    "shift": (
        "moves by a fixed amount",
        "use differences, such as `{name} - prev_{name}`, not the distance to an origin",
    ),
    "turn": ("turns all the way round", "use `torch.cos({name})` and `torch.sin({name})`, or wrap it to (-pi, pi]"),
    "flip": ("changes its sign", "use `.abs()` or squares of the quaternion's parts"),
    "zero": ("passes through zero", "wrap it to (-pi, pi], or use `torch.cos({name})`, so that both sides are alike"),
    "wrap": ("goes on from pi to -pi", "use `torch.cos({name})` and `torch.sin({name})`, or its absolute value"),
}


def check_invariances(reward: ProbedReward) -> Iterator[Finding]:
    """Find declared changes of the inputs that change the reward.

    Raises:
        RewardError: The reward fails at the changed inputs.
    """
    rows = reward.rows(torch.ones(len(reward.transitions), dtype=torch.bool), _ROWS)
    for invariance in reward.transitions.facts.invariances:
        together = variables_of(invariance)
        for names in [together] if isinstance(invariance, Shift) else [(name,) for name in together]:
            if reward.concerns(set(names)):
                variants = _variants(invariance, names, rows).items()
                checks = (_compare(reward, names, inputs, kind) for kind, inputs in variants)
                yield from filter(None, [next(filter(None, checks), None)])


def _variants(invariance: Shift | Flip | Wrap, names: tuple[str, ...], rows: Inputs) -> dict[str, list[Inputs]]:
    """Return inputs at which the reward should be the same, by kind; the first kind that differs counts."""
    declared = {name: value for name, value in rows.items() if name.removeprefix("prev_") in names}
    if isinstance(invariance, Shift):
        amount = torch.as_tensor(invariance.amount, dtype=torch.float32)
        kind = "turn" if invariance.amount == 2.0 * math.pi else "shift"
        return {kind: [rows, rows | {name: value + amount for name, value in declared.items()}]}
    if isinstance(invariance, Flip):
        now = {name: -value for name, value in declared.items() if name in names}
        return {"flip": [rows, rows | {name: -value for name, value in declared.items()}, rows | now]}

    def placed(now: float, before: float) -> Inputs:
        angles = {name: before if name.startswith("prev_") else now for name in declared}
        return rows | {name: torch.full_like(rows[name], angle) for name, angle in angles.items()}

    at_seam = [placed(_SEAM, _SEAM), placed(-_SEAM, -_SEAM), placed(-_SEAM, _SEAM)]
    return {"wrap": at_seam, "zero": [placed(_STEP, _STEP), placed(-_STEP, -_STEP)]}


def _compare(reward: ProbedReward, names: tuple[str, ...], variants: list[Inputs], kind: str) -> Finding | None:
    first, *others = (reward.components_at(inputs) for inputs in variants)
    for other in others:
        change = (summed(other) - summed(first)).abs()
        share = float((change > _TOLERANCE * reward.spread).float().mean())
        if share >= _STATES:
            differences = {name: float((other[name] - first[name]).abs().mean()) for name in first}
            listed = " and ".join(f"`{name}`" for name in names)
            words, hint = _WORDS[kind]
            amount = float(change.mean())
            message = f"the reward changes by {amount:.3g} on average when {listed} {words}, which changes nothing"
            evidence = {"change": amount, "states": share, "spread": reward.spread}
            component = max(differences, key=differences.__getitem__)
            return finding("not-invariant", message, hint.format(name=names[0]), evidence, component)
    return None
