"""A reward as a function in the caller's own process, and where one comes from: a file, its text, or a candidate."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rewardgen.core.errors import UsageError, did_you_mean, nearest
from rewardgen.search.inspect_rewards import read_reward

if TYPE_CHECKING:
    from torch import Tensor

    from rewardgen.reward.pricing import RewardProgram


_ACTIONS = {"action", "prev_action"}


class Reward:
    """A reward, to be called with tensors by name: `reward(height=h, action=a)` gives its components.

    **It runs generated code in your process.** What keeps that safe is the reward language alone: before its first
    call the source is parsed and checked against an allow-list of syntax, names and methods. It runs with nothing in
    reach but tensor functions of torch, aliases of numpy and `math`: no import, no file, no attribute of an object, and
    caps on the size of tensors and the turns of loops. In a run the same code is confined by
    the operating system besides; for code that you trust less than that, leave it there, and use `rewardgen.check`.

    Args:
        source: Its Python.
        name: What it is called where it is shown.
    """

    def __init__(self, source: str, name: str = "reward") -> None:
        self.source = source
        self.name = name

    @cached_property
    def program(self) -> RewardProgram:
        """It, checked and compiled.

        Raises:
            RewardError: It is not written in the reward language, or has no sound signature.
        """
        from rewardgen.reward.program import compile_reward  # it brings torch

        return compile_reward(self.source)

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of its inputs: variables of its task, `action`, and `prev_` of each."""
        return tuple(self.program.inputs)

    @property
    def tunables(self) -> dict[str, float]:
        """Its constants and their defaults."""
        return {**self.program.tunables}

    def __call__(self, inputs: Mapping[str, Any] | None = None, /, **named: Any) -> dict[str, Tensor]:
        """The weighted components for N envs; their sum is the reward.

        Args:
            inputs: Every input by name, (N,) or (N, k), as the task's card has them: tensors, arrays, or numbers for a
                single env. `action` has an entry for each actuator, (N, A). More may be there than it reads.
            **named: The same, or values for its constants.

        Returns:
            Component name to (N,) float32.

        Raises:
            UsageError: An input is missing, a constant misspelt, or inputs are of different numbers of envs.
            RewardError: It raised, a component is not finite, or it took more than 5 s of processor time, which is
                counted in the main thread only.
        """
        import torch

        from rewardgen.reward.pricing import price_rows
        from rewardgen.training.shared.rewards import in_time

        given = {**(inputs or {}), **named}
        tunables = {name: given.pop(name) for name in self.tunables if name in given}
        missing = [name for name in self.inputs if name not in given]
        if missing:
            hint = f"it reads {', '.join(f'`{name}`' for name in self.inputs)}"
            raise UsageError(f"the reward `{self.name}` is not given its input `{missing[0]}`", hint)
        for name in named.keys() - {*self.inputs, *self.tunables}:
            if nearest(name, self.tunables, sure=True):
                raise UsageError(f"the reward has no constant `{name}`", did_you_mean(name, self.tunables))
        values = {name: torch.as_tensor(given[name], dtype=torch.float32) for name in self.inputs}
        values = _of_envs({name: each.view(1) if not each.dim() else each for name, each in values.items()})
        if threading.current_thread() is threading.main_thread():
            return in_time(lambda: price_rows(self.program, values, tunables))
        return price_rows(self.program, values, tunables)

    def __repr__(self) -> str:
        return f"<reward {self.name}>\n{self.source}"


def _of_envs(values: dict[str, Tensor]) -> dict[str, Tensor]:
    """Inputs with the envs first: an `action` without that axis is of one env, or of one actuator."""
    num_envs = max((len(each) for name, each in values.items() if name not in _ACTIONS), default=0)
    for name in _ACTIONS & values.keys():
        if values[name].dim() == 1:
            values[name] = values[name].unsqueeze(-1) if num_envs > 1 else values[name].unsqueeze(0)
    sizes = {name: len(each) for name, each in values.items()}
    if len({*sizes.values()}) > 1:
        told = ", ".join(f"`{name}` of {size}" for name, size in sizes.items())
        raise UsageError(f"inputs are of different numbers of envs: {told}", "give (N,) or (N, k) with the same N")
    return values


def reward_source(reward: str | Path | Reward) -> str:
    """The text of a reward that is given as a `Reward`, as the path of a file, or as the text itself.

    Raises:
        UsageError: The file cannot be read, or it is none of these.
    """
    if isinstance(reward, Reward):
        return reward.source
    if not isinstance(reward, str | Path):
        raise UsageError(
            f"{reward!r} is no reward", "give a `Reward`, such as `run.best.reward`, the path of a file, or its text"
        )
    return reward if isinstance(reward, str) and "\n" in reward else read_reward(Path(reward))
