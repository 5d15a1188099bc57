"""Price transitions with a reward of any form.

A program with memory keeps it in `carry`, which `price` returns for the next call. Callers never ask for the form.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from rewardgen.reward.contract import Components

if TYPE_CHECKING:
    from rewardgen.reward.program import Program


@torch.no_grad()
def price(
    program: Program,
    inputs: Mapping[str, Tensor],
    begins: Tensor | None = None,
    carry: Any = None,
    tunables: Mapping[str, float] = {},
) -> tuple[Components, Any]:
    """Price T steps of N envs, and return the components, (T, N) each, and the `carry` of the next call.

    Arguments are those of `Program.price`, with any other inputs. By default an episode begins at step 0 without
    a `carry`.

    Raises:
        RewardError: The reward fails, or a component is not finite.
    """
    if begins is None:
        like = inputs[program.inputs[0]]
        begins = torch.zeros(like.shape[:2], dtype=torch.bool, device=like.device)
        begins[:1] = carry is None
    return program.price(inputs, begins, carry, tunables)


def price_rows(program: Program, rows: Mapping[str, Tensor], tunables: Mapping[str, float] = {}) -> Components:
    """Price N unrelated transitions, each as an episode that stays there until its pay has settled.

    Rows hold every input of the reward, and any others, name to (N, ...) float32.

    Raises:
        RewardError: The reward fails, or a component is not finite.
    """
    steps = program.settling_steps
    inputs = {name: rows[name].unsqueeze(0).expand(steps, *rows[name].shape) for name in program.inputs}
    components, _ = price(program, inputs, tunables=tunables)
    return components.at(-1)
