"""Price transitions with a reward of any form.

A form of reward beside the plain function is added in one file: a subclass of `Program` with its own `price`,
registered in `rewardgen.reward.signature.FORMS` under the name of a function that only its sources define. A program
with memory keeps it in `carry`, which `price` returns for the next call. Callers never ask for the form.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import torch
from torch import Tensor

from rewardgen.reward.contract import Components

if TYPE_CHECKING:
    from rewardgen.reward.staged_program import StagedProgram

Constants = Mapping[str, float | Tensor]
_DEFAULTS: Constants = MappingProxyType({})


class RewardProgram(Protocol):
    """A compiled reward.

    Attributes:
        source: Source of the reward.
        inputs: Names of the inputs.
        tunables: Names and defaults of the constants.
        staged: The program itself if it has stages, else None.
        settling_steps: Most steps for which the pay can change while the inputs stay the same; 1 without memory.
        observed: Names of the numbers that `observe` returns; empty without it.
        observes: Names of the inputs of `observe`, but for `stage`.
    """

    source: str
    inputs: tuple[str, ...]
    tunables: dict[str, float]
    staged: StagedProgram | None
    settling_steps: int
    observed: tuple[str, ...]
    observes: tuple[str, ...]

    def price(
        self, inputs: Mapping[str, Tensor], begins: Tensor, carry: Any, tunables: Constants
    ) -> tuple[Components, Any]:
        """Price T steps of N envs.

        Args:
            inputs: Name to (T, N, ...) float32; the program works on copies.
            begins: (T, N) bool: True on the first step of an episode.
            carry: Carry of the previous call; None at the start.
            tunables: Values for the constants, floats or (T * N,).

        Returns:
            Components, (T, N) each, and the carry.

        Raises:
            RewardError: The reward fails, or a component is not finite.
        """
        ...

    def look(self, inputs: Mapping[str, Tensor], stage: Tensor, tunables: Constants = _DEFAULTS) -> Tensor:
        """Return what policies see of N states after the task's observation: stages one-hot, then `observed`.

        Args:
            inputs: Every input of `observes`, as of the step that led to the states, name to (N, ...).
            stage: Stage of each env, (N,) int64; without stages it only tells N and the device.
            tunables: Values for the constants, floats or (N,).

        Raises:
            RewardError: `observe` fails, or returns another shape or a number that is not finite.
        """
        ...


class Priced(NamedTuple):
    """Components of T steps of N envs, and the memory of the program after them.

    Attributes:
        components: Name to (T, N) float32, with their `total`.
        carry: Argument of the next call.
    """

    components: Components
    carry: Any


@torch.no_grad()
def price(
    program: RewardProgram,
    inputs: Mapping[str, Tensor],
    begins: Tensor | None = None,
    carry: Any = None,
    tunables: Constants = _DEFAULTS,
) -> Priced:
    """Price T steps of N envs.

    Args:
        program: The reward.
        inputs: Every input of the reward, and any others, name to (T, N, ...) float32.
        begins: (T, N) bool: True on the first step of an episode. Default: True at step 0
            without a `carry`, else False.
        carry: From the `Priced` of the previous steps.
        tunables: Values for the constants, floats or (T * N,).

    Raises:
        RewardError: The reward fails, or a component is not finite.
    """
    if begins is None:
        like = inputs[program.inputs[0]]
        begins = torch.zeros(like.shape[:2], dtype=torch.bool, device=like.device)
        begins[:1] = carry is None
    return Priced(*program.price(inputs, begins, carry, tunables))


def price_rows(program: RewardProgram, rows: Mapping[str, Tensor], tunables: Constants = _DEFAULTS) -> Components:
    """Price N unrelated transitions, each as an episode that stays there until its pay has settled.

    Args:
        program: The reward.
        rows: Every input of the reward, and any others, name to (N, ...) float32.
        tunables: Values for the constants, floats or (N,).

    Returns:
        Name to (N,) float32.

    Raises:
        RewardError: The reward fails, or a component is not finite.
    """
    steps = program.settling_steps
    inputs = {name: rows[name].unsqueeze(0).expand(steps, *rows[name].shape) for name in program.inputs}
    repeated = {name: value.repeat(steps) if isinstance(value, Tensor) else value for name, value in tunables.items()}
    components, _ = price(program, inputs, tunables=repeated)
    return components.at(-1)
