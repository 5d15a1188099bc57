"""Saved policies of any kind: an `.npz` of plain arrays, whose entry `kind` names the class that it is read with.

To add a kind, write a class like `Policy`, save its arrays with `save_policy(path, "my-kind", arrays)`, and register
where it is found, in the module of the trainer that makes them:

    POLICY_KINDS.register("my-kind", "my_package.policy:MyPolicy")

Reading a file runs no code: no pickle, and every array is taken by name, shape and type, with finite values, and with
none left over. The files are written by processes that ran generated code, so they are not trusted.
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


class Policy(Protocol):
    """One trained policy, deterministic.

    A kind of which several act faster together than in turn also has a static method `stack`, from policies to one
    `PolicyStack`, or None for those that cannot be stacked.
    """

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
        """The policy in a file.

        Raises:
            ValueError: Its arrays are none of such a policy.
        """
        ...

    def act(self, observation: Tensor) -> Tensor:
        """Actions (N, A) in actuator units, for observations (N, O) as simulated."""
        ...


class PolicyStack(Protocol):
    """Policies of S slices that act side by side."""

    @property
    def slices(self) -> int:
        """S."""
        ...

    def act(self, observation: Tensor) -> Tensor:
        """Actions (S * N, A) in actuator units, for observations (S * N, O), slice-major."""
        ...


class Arrays:
    """The arrays of a policy file; each is checked as it is taken.

    Args:
        arrays: Name to array.
    """

    def __init__(self, arrays: Mapping[str, np.ndarray]) -> None:
        self._left = {**arrays}

    def take(self, name: str, shape: tuple[int | None, ...], dtype: type[np.number] = np.float32) -> Tensor:
        """An array of the file.

        Args:
            name: Its name.
            shape: Its shape; None where any size will do.
            dtype: Its type.

        Raises:
            ValueError: It is missing, or is another one.
        """
        array = self._raw(name)
        fits = array.ndim == len(shape) and all(
            size in (None, own) for size, own in zip(shape, array.shape, strict=True)
        )
        if array.dtype != dtype or not fits:
            raise ValueError(f"`{name}` is {array.dtype} {array.shape}, expected {np.dtype(dtype)} {shape}")
        if not np.isfinite(array).all():
            raise ValueError(f"`{name}` is not finite")
        return torch.from_numpy(array)

    def take_text(self, name: str) -> str:
        """A short text of the file.

        Raises:
            ValueError: It is missing, or no text.
        """
        array = self._raw(name)
        if array.dtype.kind != "U" or array.shape != ():
            raise ValueError(f"`{name}` is no text")
        return str(array)[:40]

    def require_none_left(self) -> None:
        """Raise a ValueError if an array was not taken."""
        if self._left:
            raise ValueError("it does not hold the arrays of a policy")

    def _raw(self, name: str) -> np.ndarray:
        if name not in self._left:
            raise ValueError(f"`{name[:40]}` is missing")
        return self._left.pop(name)


def save_policy(path: Path, kind: str, arrays: Mapping[str, Any]) -> None:
    """Write a policy file.

    Args:
        path: The file.
        kind: The name under which its class is registered.
        arrays: Name to array, as the class takes them again.

    Raises:
        RunFolderError: It cannot be written.
    """
    content = io.BytesIO()
    named: dict[str, Any] = {"kind": np.array(kind), **{name: np.asarray(value) for name, value in arrays.items()}}
    np.savez(content, **named)
    write_atomic(path, content.getvalue())


def load_policy(path: Path) -> Policy:
    """Read a policy file of any kind.

    Args:
        path: The file.

    Raises:
        RunFolderError: It is missing, or is not exactly a policy file.
    """
    try:
        arrays = Arrays(read_arrays(path))
        kind = arrays.take_text("kind")
        if kind not in POLICY_KINDS:
            raise ValueError(f"its kind {kind!r} is unknown")
        policy = cast("type[Policy]", imported(POLICY_KINDS.get(kind))).from_arrays(arrays)
        arrays.require_none_left()
        return policy
    except OSError as error:
        raise RunFolderError(f"cannot read the policy {path}: {error.strerror or error}", _HINT) from error
    except ValueError as error:
        raise RunFolderError(f"{path} is not a policy file: {error}", _HINT) from error


def misfit(policy: Policy, envs: VecEnv) -> str:
    """What keeps a policy from acting on a task, in words; empty if nothing does.

    Args:
        policy: The policy.
        envs: An environment of the task.
    """
    sizes = {
        "observations": (policy.observation_size, envs.observation_size),
        "actions": (len(policy.action_low), envs.action_size),
    }
    for name, (own, wanted) in sizes.items():
        if own != wanted:
            return f"its {name} have {own} entries, the task's {wanted}"
    same = torch.equal(policy.action_low, envs.action_low) and torch.equal(policy.action_high, envs.action_high)
    return "" if same else "its actions have another range"


def side_by_side(policies: Sequence[Policy]) -> PolicyStack:
    """Policies of one task, each acting in its own slice of an environment: stacked if they can be, else in turn.

    Args:
        policies: At least one.
    """
    kinds = {type(each) for each in policies}
    stack = getattr(kinds.pop(), "stack", None) if len(kinds) == 1 else None
    return (stack(policies) if stack else None) or _InTurn(policies)


class _InTurn:
    """Policies that act one after another."""

    def __init__(self, policies: Sequence[Policy]) -> None:
        self._policies = policies

    @property
    def slices(self) -> int:
        return len(self._policies)

    def act(self, observation: Tensor) -> Tensor:
        parts = observation.unflatten(0, (self.slices, -1))
        return torch.cat([policy.act(part) for policy, part in zip(self._policies, parts, strict=True)])
