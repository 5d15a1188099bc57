"""Distance of rewards from each other, blind to shaping, scale and shift.

After EPIC (Gleave et al. 2021, "Quantifying Differences in Reward Functions"), with a norm of its own for the level of
rewards where episodes can end early; STARC (Skalse et al. 2024, "STARC: A General Framework For Quantifying Differences
Between Reward Functions") names the family of such distances. A reward is R(s, a, s'): inputs `prev_<name>` are s,
`action` is a, the others are s'.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from rewardgen.core.errors import did_you_mean
from rewardgen.reward.contract import RewardError

Inputs = Mapping[str, Tensor]
Call = Callable[[dict[str, Tensor]], Mapping[str, Tensor]]

_SEED = 40_000_003
_TRANSITIONS = 8192
"""Most rows; usually more than are recorded."""
_DRAWS = 16
"""Transitions drawn for the expectation over actions and next states."""
_ENDED_SHARE = 0.1
"""Share of rows after the end of an episode: enough for a level to count, few enough for the rest to matter."""
_ROUNDING = 1e-6
"""Relative variation below which values are constant; float32 holds 7 digits."""


class CanonicalReward(NamedTuple):
    """A reward without shaping.

    Attributes:
        components: Component to its canonical values, (N,) float64; their sum is the reward's.
        silent: True if a component pays nothing on any transition, so that its pay is unknown.
    """

    components: dict[str, Tensor]
    silent: bool

    @property
    def total(self) -> Tensor:
        """Canonical values of the reward, (N,)."""
        return torch.stack(list(self.components.values())).sum(0)

    @property
    def shares(self) -> dict[str, float]:
        """Share of each component in the reward's variation."""
        spreads = {name: float(values.std()) for name, values in self.components.items()}
        whole = sum(spreads.values())
        return {name: spread / whole if whole else 0.0 for name, spread in spreads.items()}


class RewardDistance:
    """Compare rewards of one task, with its discount, on the same recorded transitions, (K, ...) each.

    The task `terminates` if its episodes can end before their time.

    Attributes:
        rows: Inputs of the N transitions for comparisons, (N, ...) each.
    """

    def __init__(self, inputs: Inputs, discount: float, terminates: bool) -> None:
        generator = torch.Generator().manual_seed(_SEED)
        count = len(next(iter(inputs.values())))
        picked, drawn = (torch.randperm(count, generator=generator)[:most] for most in (_TRANSITIONS, _DRAWS))
        self.rows = {name: value[picked] for name, value in inputs.items()}
        self._draws = {name: value[drawn] for name, value in inputs.items()}
        self._discount = discount
        self._terminates = terminates

    def canonical(self, call: Call, reads: Sequence[str]) -> CanonicalReward:
        """Remove potential shaping from a reward.

        C(R)(s, a, s') = R(s, a, s') + E[discount R(s', A, S') - R(s, A, S') - discount R(S, A, S')], with S, A and S'
        drawn from the transitions. EPIC's form has no level, because a constant per step is the shaping by a constant
        potential. Where episodes can end early, a constant pays for staying alive. There E[R(S, A, S')] is added again,
        with rows for the time after an episode's end, which pay nothing. Shaping by a potential of mean zero then
        changes nothing; any other potential puts a price on an episode's end, which is a difference.

        Raises:
            RewardError: An input was not recorded, or the reward fails on a transition.
        """
        missing = [name for name in reads if name not in self.rows]
        if missing:
            message = f"it reads `{missing[0]}`, which the recorded transitions do not have"
            raise RewardError(message, None, "exception", did_you_mean(missing[0], self.rows))
        paid = call({name: self.rows[name] for name in reads})
        after, before = (self._expected(call, reads, state) for state in ("", "prev_"))
        components = {name: self._put_together(paid[name].double(), after[name], before[name]) for name in paid}
        # `residual` is the total minus the other components, and most often zero.
        return CanonicalReward(components, any(not bool(paid[name].any()) for name in paid if name != "residual"))

    def _put_together(self, paid: Tensor, after: Tensor, before: Tensor) -> Tensor:
        level = before.mean()
        values = paid + self._discount * (after - level) - (before - level)
        largest = max(float(pay.abs().max()) for pay in (paid, after, before))
        if float(values.std()) <= _ROUNDING * largest:
            values = values.mean().expand_as(values)
        if not self._terminates:
            return values - level
        return torch.cat([values, values.new_zeros(round(len(paid) * _ENDED_SHARE / (1.0 - _ENDED_SHARE)))])

    def _expected(self, call: Call, reads: Sequence[str], state: str) -> dict[str, Tensor]:
        """E[R(s, A, S')] for the states before (`prev_`) or after the transitions; component to (N,) float64."""
        rows, draws = (len(next(iter(inputs.values()))) for inputs in (self.rows, self._draws))
        jumps = {}
        for name in reads:
            variable = name.removeprefix("prev_")
            if variable != name and variable in self.rows:
                jumps[name] = self.rows[state + variable].repeat_interleave(draws, 0)
            else:
                value = self._draws[name]
                jumps[name] = value.repeat((rows,) + (1,) * (value.dim() - 1))
        return {name: value.double().reshape(rows, draws).mean(1) for name, value in call(jumps).items()}


def distance(one: Tensor, other: Tensor) -> float | None:
    """Return the Pearson distance of canonical values, (N,): sqrt((1 - correlation) / 2); None if one does not vary."""
    directions = _direction(one), _direction(other)
    if directions[0] is None or directions[1] is None:
        return None
    # Equal to half the length of the difference, which keeps the digits that 1 - correlation loses near 0.
    return min(1.0, 0.5 * float((directions[0] - directions[1]).norm()))


def _direction(values: Tensor) -> Tensor | None:
    """Scale values to mean zero and length one; None if they do not vary."""
    centred = values - values.mean()
    varies = float(centred.square().mean().sqrt()) > _ROUNDING * float(values.abs().max())
    return centred / centred.norm() if varies else None
