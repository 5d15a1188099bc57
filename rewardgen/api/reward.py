"""Call a reward in this process, or check it with the critic: `rewardgen.Reward`, `rewardgen.check`."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from rewardgen.core.errors import UsageError, did_you_mean, nearest
from rewardgen.search.inspect_rewards import check_rewards, read_reward
from rewardgen.store.records import Verdict

if TYPE_CHECKING:
    from torch import Tensor

    from rewardgen.reward.program import Program


_ACTIONS = {"action", "prev_action"}
_Result = TypeVar("_Result")


class Reward:
    """A reward called with tensors by name: `reward(height=h, action=a)` returns its components.

    **Calling a reward runs generated code in your process**, kept safe by the reward language alone: the source is
    checked against an allow-list before it is compiled, reaches tensor functions only, and is capped in memory and
    loops. A run also confines the code by the operating system; for code that you trust less, use `rewardgen.check`.

    Args:
        source: Python source.
        name: Name for messages.
    """

    def __init__(self, source: str, name: str = "reward") -> None:
        self.source = source
        self.name = name

    @cached_property
    def program(self) -> Program:
        """The checked and compiled program.

        Raises:
            RewardError: The source breaks the reward language or has no valid signature.
        """
        from rewardgen.reward.program import compile_reward  # it brings torch

        return compile_reward(self.source)

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the inputs: variables of the task, `action`, and `prev_` of each."""
        return tuple(self.program.inputs)

    @property
    def tunables(self) -> dict[str, float]:
        """Tunable constants with their defaults."""
        return {**self.program.tunables}

    def __call__(self, inputs: Mapping[str, Any] | None = None, /, **named: Any) -> dict[str, Tensor]:
        """Return the weighted components for N envs; their sum is the reward.

        Args:
            inputs: Inputs by name, (N,) or (N, k), as on the task card: tensors, arrays, or numbers for a single env,
                whose vectors are (1, k). `action` has shape (N, A). Unused inputs are ignored.
            **named: Further inputs, or values of constants.

        Returns:
            Component name to (N,) float32. A reward with stages pays for each row what it pays once that row has
            lasted for as many steps as there are stages; `in_steps` prices episodes.

        Raises:
            UsageError: An input is missing, a constant is misspelt, or inputs differ in N.
            RewardError: The reward raised, a component is not finite, or the call took more than 5 s of processor
                time (counted in the main thread only).
        """
        import torch

        from rewardgen.reward.pricing import price_rows

        values = {**(inputs or {}), **named}
        tunables = {name: values.pop(name) for name in self.tunables if name in values}
        if missing := [name for name in self.inputs if name not in values]:
            hint = f"the reward reads {', '.join(f'`{name}`' for name in self.inputs)}"
            raise UsageError(f"the reward `{self.name}` lacks its input `{missing[0]}`", hint)
        for name in named.keys() - {*self.inputs, *self.tunables}:
            if nearest(name, self.tunables, sure=True):
                raise UsageError(f"the reward has no constant `{name}`", did_you_mean(name, self.tunables))
        tensors = {name: torch.as_tensor(values[name], dtype=torch.float32) for name in self.inputs}
        tensors = _of_envs({name: tensor if tensor.dim() else tensor.view(1) for name, tensor in tensors.items()})
        return _in_time(lambda: price_rows(self.program, tensors, tunables))

    def over_episode(self, variables: Mapping[str, Any]) -> dict[str, Tensor]:
        """Return the components at each of the T steps of one episode, (T,) float32.

        Args:
            variables: Name to (T,) or (T, k), with `action` (T, A); `prev_` of each is made from them.

        Raises:
            UsageError: A variable is missing.
            RewardError: As for a call.
        """
        import torch

        from rewardgen.reward.pricing import price

        rows = {}
        for name in self.inputs:
            variable = name.removeprefix("prev_")
            if variable not in variables:
                raise UsageError(f"the reward `{self.name}` lacks `{variable}`", did_you_mean(variable, variables))
            values = torch.as_tensor(variables[variable], dtype=torch.float32)
            rows[name] = (torch.cat([values[:1], values[:-1]]) if variable != name else values).unsqueeze(1)
        components, _ = _in_time(lambda: price(self.program, rows))
        return {name: value[:, 0] for name, value in components.items()}

    def in_steps(self) -> RewardInSteps:
        """Return a function that prices one control step after another, and remembers the stage of each env."""
        return RewardInSteps(self.program)

    def __getstate__(self) -> dict[str, Any]:
        return {"source": self.source, "name": self.name}  # the compiled program cannot be pickled

    def __repr__(self) -> str:
        return f"<reward {self.name}>\n{self.source}"


class RewardInSteps:
    """A reward of N envs that is called at one control step after another; see `Reward.in_steps`."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._carry: Any = None

    def __call__(self, inputs: Mapping[str, Tensor], begins: Tensor) -> dict[str, Tensor]:
        """Return the components of a step as a call of the reward does.

        Args:
            inputs: Inputs by name, (N,) or (N, k) float32.
            begins: True on the first step of an episode, (N,) bool.
        """
        from rewardgen.reward.pricing import price

        rows = {name: inputs[name].unsqueeze(0) for name in self._program.inputs}
        components, self._carry = _in_time(lambda: price(self._program, rows, begins.unsqueeze(0), self._carry))
        return components.at(0)

    def see(self, inputs: Mapping[str, Tensor], begins: Tensor) -> Tensor:
        """Return what policies see after the task's observation, (N, K) float32.

        Args:
            inputs: Inputs of the step that was priced last; at a start, `prev_x` is x and actions are zero.
            begins: True where the episode has no step yet, (N,) bool.
        """
        import torch

        stage = torch.zeros_like(begins, dtype=torch.int64)
        stage = stage if self._carry is None else torch.where(begins, 0, self._carry)
        return _in_time(lambda: self._program.look({name: inputs[name] for name in self._program.observes}, stage))


def _in_time(call: Callable[[], _Result]) -> _Result:
    from rewardgen.training.shared.rewards import in_time

    return in_time(call) if threading.current_thread() is threading.main_thread() else call()


def _of_envs(values: dict[str, Tensor]) -> dict[str, Tensor]:
    """Add the missing axis of an `action`: of the envs for one env, else of the actuators."""
    num_envs = max((len(tensor) for name, tensor in values.items() if name not in _ACTIONS), default=0)
    for name in _ACTIONS & values.keys():
        if values[name].dim() == 1:
            values[name] = values[name].unsqueeze(-1) if num_envs > 1 else values[name].unsqueeze(0)
    sizes = {name: len(tensor) for name, tensor in values.items()}
    if len({*sizes.values()}) > 1:
        listed = ", ".join(f"`{name}` of {size}" for name, size in sizes.items())
        hint = "give (N,) or (N, k) with the same N; vectors of one env are (1, k)"
        raise UsageError(f"inputs differ in the number of envs: {listed}", hint)
    return values


def reward_source(reward: str | Path | Reward) -> str:
    """Return the source of a reward from a `Reward`, the path of a file, or the source itself."""
    if isinstance(reward, Reward):
        return reward.source
    if not isinstance(reward, str | Path):
        hint = "give a `Reward`, such as `run.best.reward`, the path of a file, or its text"
        raise UsageError(f"{reward!r} is no reward", hint)
    is_text = isinstance(reward, str) and ("\n" in reward or "def " in reward)
    return str(reward) if is_text else read_reward(Path(reward))


def check(task: str | Path, reward: str | Path | Reward) -> Verdict:
    """Check a reward: its form, its text, and its values on recorded transitions.

    The task file and the reward run in the sandbox's workers, not in this process.

    Args:
        task: Name of a shipped task, or the path of a task file.
        reward: Path of a Python file with a `compute_reward`, its text, or a `Reward`.

    Returns:
        The verdict: `accepted`, and `findings` with `severity`, `message`, `hint` and `line`.

    Raises:
        TaskError: The task is unknown or cannot be simulated.
        UsageError: The file cannot be read.
    """
    name = reward.name if isinstance(reward, Reward) else "reward"
    return check_rewards(str(task), {name: reward_source(reward)}).verdicts[name]
