"""Saved policies: an `.npz` of plain arrays, whose entry `kind` names the class that reads it.

To add a kind, write a class like `Policy`, save its arrays by `save_policy(path, "my-kind", arrays)`, and register it:

    POLICY_KINDS.register("my-kind", "my_package.policy:MyPolicy")

Reading a file runs no code: no pickle, and every array is taken by name, shape and type, with finite values, and none
left over. The files are written by processes that ran generated code, so they are not trusted.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, cast

import numpy as np
import torch
from torch import Tensor

from rewardgen.core.errors import RunFolderError
from rewardgen.core.files import write_atomic
from rewardgen.sandbox.jobs import imported
from rewardgen.sim.arrays import read_arrays
from rewardgen.sim.vec_env import VecEnv
from rewardgen.training.protocol import POLICY_KINDS

_HINT = "train the reward again; the policy cannot be used"


class PolicyStack(Protocol):
    """Policies of S slices that act side by side."""

    slices: int
    """S."""

    def act(self, observation: Tensor) -> Tensor:
        """Actions (S * N, A) in actuator units, for observations (S * N, O), slice-major."""
        ...


class Policy(Protocol):
    """One trained, deterministic policy."""

    @property
    def observation_size(self) -> int:
        """Entries of an observation, O."""
        ...

    @property
    def action_low(self) -> Tensor:
        """(A,), in actuator units."""
        ...

    @property
    def action_high(self) -> Tensor:
        """(A,), in actuator units."""
        ...

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Policy:
        """Return the policy of a file; raise a ValueError if the arrays are not those of such a policy."""
        ...

    def act(self, observation: Tensor) -> Tensor:
        """Actions (N, A) in actuator units, for observations (N, O) as simulated."""
        ...

    @staticmethod
    def stack(policies: Sequence[Any]) -> PolicyStack | None:
        """Stack policies of this class, if they act faster together than in turn."""
        return None


class Arrays:
    """The arrays of a policy file, each checked as it is taken."""

    def __init__(self, arrays: Mapping[str, np.ndarray]) -> None:
        self._arrays = {**arrays}

    def take(self, name: str, shape: tuple[int | None, ...], dtype: type[np.number] = np.float32) -> Tensor:
        """Return an array; raise a ValueError if it is missing, differs in shape or type, or is not finite."""
        array = self._raw(name)
        fits = array.ndim == len(shape) and all(
            size in (None, actual) for size, actual in zip(shape, array.shape, strict=True)
        )
        if array.dtype != dtype or not fits:
            raise ValueError(f"`{name}` is {array.dtype} {array.shape}, expected {np.dtype(dtype)} {shape}")
        if not np.isfinite(array).all():
            raise ValueError(f"`{name}` is not finite")
        return torch.from_numpy(array)

    def take_text(self, name: str) -> str:
        """Return a short text; raise a ValueError if it is missing."""
        array = self._raw(name)
        if array.dtype.kind != "U" or array.shape != ():
            raise ValueError(f"`{name}` is no text")
        return str(array)[:40]

    def take_choices(self, outputs: int) -> tuple[int, ...]:
        """Return the sizes of the groups of outputs that are choices; empty for other actions, and in older files.

        Raises:
            ValueError: The groups do not add up to the outputs.
        """
        choices = tuple(self.take("choices", (None,), np.int64).tolist()) if "choices" in self._arrays else ()
        if min(choices, default=1) < 1 or sum(choices) not in (0, outputs):
            raise ValueError("`choices` does not fit its output")
        return choices

    def require_none_left(self) -> None:
        """Raise a ValueError if an array was not taken."""
        if self._arrays:
            raise ValueError("it does not hold the arrays of a policy")

    def _raw(self, name: str) -> np.ndarray:
        if name not in self._arrays:
            raise ValueError(f"`{name[:40]}` is missing")
        return self._arrays.pop(name)


def save_policy(path: Path, kind: str, arrays: Mapping[str, Any]) -> None:
    """Write a policy file; raise a RunFolderError if that fails."""
    content = io.BytesIO()
    named: dict[str, Any] = {"kind": np.array(kind), **{name: np.asarray(value) for name, value in arrays.items()}}
    np.savez(content, **named)
    write_atomic(path, content.getvalue())


def load_policy(path: Path, kinds: Mapping[str, str] | None = None) -> Policy:
    """Read a policy file of any kind; raise a RunFolderError if it is missing, or not exactly a policy file.

    A worker knows the `kinds` that are registered in the process of the run by its payload.
    """
    try:
        arrays = Arrays(read_arrays(path))
        kind = arrays.take_text("kind")
        target = POLICY_KINDS.get(kind) if kind in POLICY_KINDS else (kinds or {}).get(kind)
        if target is None:
            raise ValueError(f"its kind {kind!r} is unknown")
        policy = cast("type[Policy]", imported(target)).from_arrays(arrays)
        arrays.require_none_left()
        return policy
    except OSError as error:
        raise RunFolderError(f"cannot read the policy {path}: {error.strerror or error}", _HINT) from error
    except ValueError as error:
        raise RunFolderError(f"{path} is not a policy file: {error}", _HINT) from error


def from_policy_units(action: Tensor, low: Tensor, high: Tensor) -> Tensor:
    """Actuator units for actions (..., A) in units of half the range between `low` and `high`, which broadcast."""
    return (high + low) / 2 + (high - low) / 2 * action


def misfit(policy: Policy, envs: VecEnv) -> str:
    """Return why a policy cannot act on a task's envs; empty if it can."""
    sizes = {
        "observations": (policy.observation_size, envs.observation_size),
        "actions": (len(policy.action_low), envs.action_size),
    }
    for name, (size, expected) in sizes.items():
        if size != expected:
            return f"its {name} have {size} entries, the task's {expected}"
    same = torch.equal(policy.action_low, envs.action_low) and torch.equal(policy.action_high, envs.action_high)
    return "" if same else "its actions have another range"


def side_by_side(policies: Sequence[Policy]) -> PolicyStack:
    """Let policies of one task act in a slice each: stacked if they can be, else in turn."""
    kinds = {type(policy) for policy in policies}
    return (kinds.pop().stack(policies) if len(kinds) == 1 else None) or InTurn(policies)


class InTurn:
    """A `PolicyStack` of policies that act one after another."""

    def __init__(self, policies: Sequence[Any]) -> None:
        self._policies, self.slices = policies, len(policies)

    def save(self, index: int, path: Path) -> None:
        """Write the policy of one slice to a file; raise a RunFolderError if that fails."""
        self._policies[index].save(path)

    def act(self, observation: Tensor) -> Tensor:
        """See `PolicyStack.act`."""
        parts = observation.unflatten(0, (self.slices, -1))
        return torch.cat([policy.act(part) for policy, part in zip(self._policies, parts, strict=True)])


def chosen(values: Tensor, choices: Sequence[int]) -> Tensor:
    """Return 1 for the largest of each group of values (N, A) and 0 for the others."""
    groups = values.split(list(choices), 1)
    return torch.cat([torch.nn.functional.one_hot(group.argmax(1), group.shape[1]).float() for group in groups], 1)
