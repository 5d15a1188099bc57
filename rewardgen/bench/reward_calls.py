"""What the reward language costs: a call of a compiled reward against the same code compiled by Python alone.

The plain side is what any trainer does with a function that returns named terms: call it, add the terms up, and look
once whether the sum is finite. The difference is what checks and guards add.
"""

from __future__ import annotations

import ast
import gc
import math
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import torch
import torch.nn.functional
from torch import Tensor

from rewardgen.reward.program import compile_reward
from rewardgen.reward.signature import ENTRY
from rewardgen.reward.tolerance import tolerance

Inputs = Mapping[str, Tensor]

LOCOMOTION = '''
def compute_reward(x_velocity, height, pitch, joint_velocity, action, prev_action, *, speed_weight: float = 1.0):
    """Run forward, upright and smoothly."""
    speed = speed_weight * x_velocity.clamp(-1.0, 4.0) / 4.0
    upright = tolerance(height, lower=1.1, upper=2.0, margin=0.4) * torch.exp(-(pitch ** 2) / 0.2)
    effort = -0.02 * action.square().mean(-1)
    smooth = -0.05 * (action - prev_action).square().mean(-1)
    quiet = -0.001 * joint_velocity.square().sum(-1)
    return {"speed": speed * upright, "upright": 0.5 * upright, "effort": effort, "smooth": smooth, "quiet": quiet}
'''

REACHING = """
def compute_reward(position, prev_position, target, contact, action):
    before = torch.norm(prev_position - target, p=2, dim=-1)
    distance = torch.norm(position - target, p=2, dim=-1)
    near = torch.exp(-5.0 * distance)
    held = contact > 0.5
    lifted = torch.where(held, torch.clamp(position[:, 2] - 0.1, 0.0, 0.5), torch.zeros_like(distance))
    effort = torch.sum(action ** 2, dim=-1)
    total = near + 10.0 * (before - distance) + 2.0 * lifted - 0.01 * effort
    return total, {"near": near, "progress": 10.0 * (before - distance), "lift": 2.0 * lifted, "effort": -0.01 * effort}
"""

REWARDS = {"locomotion": LOCOMOTION, "reaching": REACHING}


class CallCost(NamedTuple):
    """Seconds of one call, the least of several rounds.

    Args:
        reward: Name of the reward.
        worlds: N.
        function: The compiled function alone.
        plain_function: The same code compiled plainly.
        program: The program, with its contract: names, shapes, finite values, no memory shared with inputs.
        plain: The plain function, its terms summed and looked at once.
    """

    reward: str
    worlds: int
    function: float
    plain_function: float
    program: float
    plain: float

    @property
    def language(self) -> float:
        """What the language costs: 1.0 is nothing."""
        return self.function / self.plain_function

    @property
    def whole(self) -> float:
        """What language and contract cost together: 1.0 is nothing."""
        return self.program / self.plain


def reward_call_cost(worlds: tuple[int, ...] = (64, 4096), rounds: int = 400, calls: int = 10) -> list[CallCost]:
    """Measure calls of each reward in `REWARDS`.

    Args:
        worlds: Numbers of worlds.
        rounds: Rounds of each measurement; the two sides take turns, and the least of all rounds counts.
        calls: Calls in a round.

    Returns:
        A row for each reward and number of worlds.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.no_grad():
            return [_cost(name, count, rounds, calls) for name in REWARDS for count in worlds]
    finally:
        torch.set_num_threads(before)


def _cost(name: str, worlds: int, rounds: int, calls: int) -> CallCost:
    source = REWARDS[name]
    program, plain = compile_reward(source), _plain(source)
    inputs = _inputs(program.inputs, worlds)
    arguments = [inputs[each] for each in program.inputs]
    program(inputs)
    sides: list[Callable[[], Any]] = [
        lambda: program.function(*arguments),
        lambda: plain(*arguments),
        lambda: program(inputs),
        lambda: _summed(plain, inputs, program.inputs),
    ]
    return CallCost(name, worlds, *_least(sides, rounds, calls))


def _plain(source: str) -> Callable[..., Any]:
    scope: dict[str, Any] = {"torch": torch, "math": math, "F": torch.nn.functional, "tolerance": tolerance}
    exec(compile(ast.parse(source), "<plain>", "exec"), scope)
    return scope[ENTRY]


def _summed(function: Callable[..., Any], inputs: Inputs, names: tuple[str, ...]) -> tuple[Tensor, dict[str, Tensor]]:
    returned = function(*[inputs[name] for name in names])
    terms = returned[1] if isinstance(returned, tuple) else returned
    total = torch.stack(list(terms.values())).sum(0)
    if not math.isfinite(total.sum().item()):
        raise ValueError("the reward is not finite")
    return total, terms


def _least(sides: list[Callable[[], Any]], rounds: int, calls: int) -> list[float]:
    """The least time of a call of each side; they take turns, so that a busy moment strikes all of them."""
    best = [math.inf] * len(sides)
    gc.disable()
    try:
        for _ in range(rounds):
            for index, side in enumerate(sides):
                best[index] = min(best[index], _time(side, calls))
    finally:
        gc.enable()
    return best


def _time(side: Callable[[], Any], calls: int) -> float:
    began = time.perf_counter()
    for _ in range(calls):
        side()
    return (time.perf_counter() - began) / calls


def _inputs(names: tuple[str, ...], worlds: int) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(1)
    flat = ("x_velocity", "height", "pitch", "contact")
    return {name: torch.rand(*((worlds,) if name in flat else (worlds, 3)), generator=generator) for name in names}
