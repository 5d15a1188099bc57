"""What the reward language costs: a call of a compiled reward against the same code compiled by Python alone.

The plain side is what any trainer does with a function that returns named terms: call it, add the terms up, and look
once whether the sum is finite; where the function returns a total too, keep what it is more than its terms.
"""

from __future__ import annotations

import ast
import gc
import math
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import torch
import torch.nn.functional
from torch import Tensor

from benchmarks.reward_examples import EXAMPLES, FLAT_INPUTS
from rewardgen.reward.numpy_subset import numpy_names
from rewardgen.reward.program import compile_reward
from rewardgen.reward.signature import ENTRY
from rewardgen.reward.tolerance import tolerance
from rewardgen.store.records import RewardSpec, SliceSpec
from rewardgen.training.ppo.rewards import Rewards

Inputs = Mapping[str, Tensor]
Side = Callable[[], object]
_SLICES = 2
_CLOCK_READINGS = 1000


class RewardCalls:
    """A contender: calls of one reward at a time, in a process with one thread."""

    def __init__(self) -> None:
        torch.set_num_threads(1)

    @torch.no_grad()
    def calls(self, reward: str, worlds: int, pairs: int) -> dict[str, dict[str, float]]:
        """Time single calls.

        Args:
            reward: A key of `EXAMPLES`.
            worlds: N.
            pairs: Calls of each side.

        Returns:
            What `paired` tells of `function`, the compiled function alone, and of `call`, the function with its
            contract on names, shapes, finite values and memory of its own, each against the same code compiled plainly.
        """
        program, plain = compile_reward(EXAMPLES[reward]), plain_reward(EXAMPLES[reward])
        inputs = _inputs(program.inputs, (worlds,))
        arguments = list(inputs.values())
        return {
            "function": paired(lambda: program.function(*arguments), lambda: plain(*arguments), pairs),
            "call": paired(lambda: program(inputs), lambda: added_up_plainly(plain, inputs, program.inputs), pairs),
        }

    @torch.no_grad()
    def rollout(self, reward: str, steps: int, worlds: int, pairs: int) -> dict[str, float]:
        """Time what training does once per rollout, for one candidate with two seeds.

        Args:
            reward: A key of `EXAMPLES`.
            steps: T.
            worlds: N of each of the two slices.
            pairs: Calls of each side.

        Returns:
            What `paired` tells of `Rewards.price`, which copies the inputs and hands out components slice by slice,
            against one plain call over all rows.
        """
        slices = [SliceSpec(candidate_id=reward, seed=seed) for seed in range(_SLICES)]
        program, plain = compile_reward(EXAMPLES[reward]), plain_reward(EXAMPLES[reward])
        rewards = Rewards([RewardSpec(candidate_id=reward, source=EXAMPLES[reward])], slices, program.inputs)
        inputs = _inputs(program.inputs, (steps, _SLICES * worlds))

        def plainly() -> object:
            rows = {name: value.flatten(0, 1) for name, value in inputs.items()}
            total, _ = added_up_plainly(plain, rows, program.inputs)
            return total.view(steps, -1)

        return paired(lambda: rewards.price(inputs, [True] * _SLICES), plainly, pairs)


def plain_reward(source: str) -> Callable[..., Any]:
    """A reward compiled by Python alone; numpy's functions are the ones of torch that stand for them in a reward.

    Args:
        source: Its source.
    """
    found = numpy_names(lambda: torch.device("cpu"))
    numpy = SimpleNamespace(**{name: each for name, each in found.items() if "." not in name})
    scope: dict[str, Any] = {"torch": torch, "math": math, "np": numpy, "tolerance": tolerance}
    tree = ast.parse(source)
    tree.body = [each for each in tree.body if not isinstance(each, ast.Import)]
    exec(compile(tree, "<plain>", "exec"), scope)
    return scope[ENTRY]


def added_up_plainly(
    function: Callable[..., Any], inputs: Inputs, names: Sequence[str]
) -> tuple[Tensor, dict[str, Tensor]]:
    """Total and terms of a plain reward, as a trainer gets them.

    Args:
        function: The reward.
        inputs: Its inputs by name.
        names: The order in which it takes them.

    Raises:
        ValueError: The total is not finite.
    """
    returned = function(*[inputs[name] for name in names])
    if isinstance(returned, tuple):
        total, terms = returned
        terms["residual"] = total - sum(terms.values())
    else:
        terms = returned
        total = torch.as_tensor(sum(terms.values()))
    if not math.isfinite(total.sum().item()):
        raise ValueError("the reward is not finite")
    return total, terms


def paired(side: Side, plain: Side, pairs: int) -> dict[str, float]:
    """What a side costs over another, from single calls that take turns, in either order.

    A busy moment strikes both calls of a pair or makes that pair an outlier, so the median of the ratios of the pairs
    can be repeated to less than a percent where the times themselves go up and down by a factor of two. Processor time
    of the one thread, less what it takes to read it.

    Args:
        side: Called without arguments.
        plain: What it is compared with.
        pairs: Calls of each.

    Returns:
        `ratio`, side over plain; `plain`, seconds of one plain call.
    """
    clock = statistics.median(_time(lambda: None) for _ in range(_CLOCK_READINGS))
    ratios, seconds = [], []
    gc.disable()
    try:
        for index in range(pairs):
            times = [_time(each) - clock for each in ((side, plain) if index % 2 else (plain, side))]
            ours, theirs = times if index % 2 else reversed(times)
            ratios.append(ours / theirs)
            seconds.append(theirs)
    finally:
        gc.enable()
    return {"ratio": statistics.median(ratios), "plain": statistics.median(seconds)}


def _time(side: Side) -> float:
    began = time.thread_time()
    side()
    return time.thread_time() - began


def _inputs(names: Sequence[str], worlds: tuple[int, ...]) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(1)
    return {name: torch.rand(worlds if name in FLAT_INPUTS else (*worlds, 3), generator=generator) for name in names}
