"""Policy files: weights, observation normaliser and action range of one trained policy, as a checked `.npz`.

Reading one runs no code: no pickle, and nothing is taken that does not have the expected name, shape, type and finite
values. The files are written by processes that ran generated code, so they are not trusted.
"""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from rewardgen.core.errors import RunFolderError
from rewardgen.core.files import write_atomic
from rewardgen.training.ppo.networks import ActorCritic, Sizes, pack
from rewardgen.training.ppo.normaliser import ObservationNormaliser, RunningMoments

_MAX_BYTES = 256 << 20
_MAX_WIDTH = 1 << 14
_MAX_LAYERS = 16


class SavedPolicy(NamedTuple):
    """What a policy file holds.

    Args:
        sizes: Sizes of the networks.
        parameters: Parameter name to value, of one slice.
        mean: Mean of the observations, (O,) float64.
        variance: Their variance, (O,) float64.
        action_low: (A,) float32, in actuator units.
        action_high: (A,) float32.
    """

    sizes: Sizes
    parameters: dict[str, Tensor]
    mean: Tensor
    variance: Tensor
    action_low: Tensor
    action_high: Tensor


class StackedPolicy:
    """Deterministic policies of S slices.

    Args:
        networks: Their networks.
        normaliser: Their observation normaliser.
        action_low: (S, A), in actuator units.
        action_high: (S, A).
    """

    def __init__(
        self, networks: ActorCritic, normaliser: ObservationNormaliser, action_low: Tensor, action_high: Tensor
    ) -> None:
        self._networks = networks
        self._normaliser = normaliser
        self._low = action_low.unsqueeze(1)
        self._high = action_high.unsqueeze(1)

    @property
    def slices(self) -> int:
        """Number of slices S."""
        return len(self._networks.flat)

    @torch.no_grad()
    def act(self, observation: Tensor) -> Tensor:
        """The policies' mean actions, in actuator units and within their range.

        Args:
            observation: As simulated, slice-major, (S * N, O).

        Returns:
            (S * N, A).
        """
        mean = self._networks.policy(self._normaliser(observation.unflatten(0, (self.slices, -1))))
        return from_policy_units(mean, self._low, self._high).clamp(self._low, self._high).flatten(0, 1)

    def save(self, index: int, path: Path) -> None:
        """Write the policy of one slice.

        Args:
            index: Which slice.
            path: The file.

        Raises:
            RunFolderError: It cannot be written.
        """
        moments, sizes = self._normaliser.moments, self._networks.sizes
        arrays: dict[str, Any] = {
            f"parameter/{name}": value[index] for name, value in self._networks.parameters.items()
        }
        arrays |= {"normaliser/mean": moments.mean[index], "normaliser/variance": moments.variance[index]}
        arrays |= {"action/low": self._low[index, 0], "action/high": self._high[index, 0]}
        content = io.BytesIO()
        np.savez(
            content,
            sizes=np.array([sizes.observation, sizes.action, *sizes.hidden], dtype=np.int64),
            **{name: value.detach().numpy() for name, value in arrays.items()},
        )
        write_atomic(path, content.getvalue())


def from_policy_units(action: Tensor, low: Tensor, high: Tensor) -> Tensor:
    """Actuator units for actions (..., A) in units of half the range between `low` and `high`, which broadcast."""
    return (high + low) / 2 + (high - low) / 2 * action


def stack_policies(saved: list[SavedPolicy]) -> StackedPolicy:
    """Several policies of one task and of the same sizes as one stacked policy.

    Args:
        saved: The policies; at least one.
    """
    sizes = saved[0].sizes
    networks = ActorCritic(sizes, torch.stack([pack(sizes, each.parameters) for each in saved]))
    moments = RunningMoments(
        torch.stack([each.mean for each in saved]),
        torch.stack([each.variance for each in saved]),
        torch.ones(len(saved), 1, dtype=torch.float64),
    )
    low, high = torch.stack([each.action_low for each in saved]), torch.stack([each.action_high for each in saved])
    return StackedPolicy(networks, ObservationNormaliser(moments), low, high)


def load_policy(path: Path, expected: Sizes | None = None) -> SavedPolicy:
    """Read a policy file.

    Args:
        path: The file.
        expected: The sizes that its networks must have, if they are known.

    Raises:
        RunFolderError: It is missing, or is not exactly a policy file of these sizes.
    """
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise ValueError(f"larger than {_MAX_BYTES >> 20} MiB")
        with np.load(path, allow_pickle=False) as archive:
            policy = _read(archive)
    except OSError as error:
        raise RunFolderError(f"cannot read the policy {path}: {error.strerror or error}", _HINT) from error
    except (ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise RunFolderError(f"{path} is not a policy file: {error}", _HINT) from error
    if expected is not None and policy.sizes != expected:
        raise RunFolderError(f"{path} holds a policy of other sizes: {policy.sizes}, expected {expected}", _HINT)
    return policy


_HINT = "train the reward again; the policy cannot be used"


def _read(archive: np.lib.npyio.NpzFile) -> SavedPolicy:
    if sum(member.file_size for member in archive.zip.infolist()) > _MAX_BYTES:  # type: ignore[union-attr]
        raise ValueError(f"unpacks to more than {_MAX_BYTES >> 20} MiB")
    sizes = _sizes(archive["sizes"])
    observation, action = (sizes.observation,), (sizes.action,)
    expected = {f"parameter/{name}": (shape, np.float32) for name, shape in sizes.shapes().items()}
    expected |= {"normaliser/mean": (observation, np.float64), "normaliser/variance": (observation, np.float64)}
    expected |= {"action/low": (action, np.float32), "action/high": (action, np.float32)}
    if set(archive.files) != {"sizes", *expected}:
        raise ValueError("it does not hold the arrays of a policy")
    found = {name: _checked(name, archive[name], shape, kind) for name, (shape, kind) in expected.items()}
    if bool((found["normaliser/variance"] < 0).any()):
        raise ValueError("a variance is negative")
    parameters = {name: found[f"parameter/{name}"] for name in sizes.shapes()}
    normaliser = found["normaliser/mean"], found["normaliser/variance"]
    return SavedPolicy(sizes, parameters, *normaliser, found["action/low"], found["action/high"])


def _sizes(array: np.ndarray) -> Sizes:
    if array.dtype != np.int64 or array.ndim != 1 or not 2 <= len(array) <= _MAX_LAYERS:
        raise ValueError("`sizes` is malformed")
    if array.min() < 1 or array.max() > _MAX_WIDTH:
        raise ValueError("`sizes` is out of range")
    observation, action, *hidden = array.tolist()
    return Sizes(observation, action, tuple(hidden))


def _checked(name: str, array: np.ndarray, shape: tuple[int, ...], kind: type[np.floating]) -> Tensor:
    if array.dtype != kind or array.shape != shape:
        raise ValueError(f"`{name}` is {array.dtype} {array.shape}, expected {np.dtype(kind)} {shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"`{name}` is not finite")
    return torch.from_numpy(array)
