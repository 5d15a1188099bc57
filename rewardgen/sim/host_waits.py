"""Detection of calls by which the host waits for numbers of a GPU, by name, on any device."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

_READS = frozenset(
    (
        *("item", "tolist", "cpu", "numpy", "__array__", "__bool__", "__float__", "__int__", "__index__"),
        *("nonzero", "argwhere", "masked_select", "unique", "unique_consecutive", "equal", "allclose", "is_nonzero"),
        *("__contains__", "__format__", "__repr__", "repeat_interleave", "bincount"),
    )
)
"""Calls for which the host needs numbers of the device, or their count."""


class HostWaits(TorchFunctionMode):
    """Context that records the names of the usual calls by which a host reads numbers: of `_READS` and the like."""

    def __init__(self) -> None:
        super().__init__()
        self.reads: list[str] = []

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """See `TorchFunctionMode`."""
        name, options = getattr(func, "__name__", ""), dict(kwargs or {})
        key = args[1] if name in ("__getitem__", "__setitem__") else ()
        parts = key if isinstance(key, tuple) else (key,)
        if name in _READS or any(map(_is_read, parts)) or (name == "where" and len(args) + len(options) == 1):
            self.reads.append(name)
        return func(*args, **options)


def _is_read(part: Any) -> bool:
    """True for a mask, or a slice up to a number on the device."""
    bounds = (part.start, part.stop, part.step) if isinstance(part, slice) else ()
    is_mask = isinstance(part, Tensor) and part.dtype in (torch.bool, torch.uint8)
    return is_mask or any(isinstance(bound, Tensor) for bound in bounds)
