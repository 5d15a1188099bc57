"""How many elements the result of a torch or numpy function has, told from its arguments, before it is made.

Each function here takes the arguments of the function that it is for; a method's tensor comes first.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

Tensor = Any
"""Not imported: checks of a reward's text need the names below, and no torch."""


def _shape(*size: Any, **options: Any) -> int:
    sizes = size or tuple(value for name, value in options.items() if name in ("size", "shape"))
    given = sizes[0] if sizes and isinstance(sizes[0], list | tuple) else sizes
    return math.prod(max(1, int(each)) for each in given if each is not None)


def _filled(*size: Any, **options: Any) -> int:
    return _shape(*size[:1], **options)


def _square(n: int, m: int | None = None, *_: Any, **__: Any) -> int:
    return n * (m if isinstance(m, int) else n)


def _range(*limits: float, **options: Any) -> int:
    given = (*limits, *(options[name] for name in ("start", "end", "step") if name in options))
    start, end, step = (0, *given, 1) if len(given) == 1 else (*given, 1)[:3]
    return int(abs(end - start) / abs(step or 1)) + 1


def _steps(_: Any, __: Any, steps: Any = 100, *___: Any, **options: Any) -> int:
    return int(options.get("num", steps))


def _of_list(values: Any, *_: Any, **__: Any) -> int:
    """Leaves of nested lists; counted no further than is ever allowed."""
    waiting, count = [values], 0
    while waiting and count <= _ENOUGH:
        each = waiting.pop()
        if isinstance(each, list | tuple):
            waiting.extend(each)
            count += len(each)
        elif hasattr(each, "numel"):
            count += each.numel()
    return count if count <= _ENOUGH else _TOO_MANY


def _together(tensors: Any, *_: Any, **__: Any) -> int:
    # Only the same tensor given many times makes more than was there before.
    return sum(each.numel() for each in tensors if hasattr(each, "numel")) if len(tensors) > 64 else 0


def _new_filled(_: Tensor, *size: Any, **options: Any) -> int:
    return _shape(*size, **options)


def _new_full(_: Tensor, *size: Any, **options: Any) -> int:
    return _shape(*size[:1], **options)


def _new_of_list(_: Tensor, values: Any, *__: Any, **___: Any) -> int:
    return _of_list(values)


def _expanded(x: Tensor, *size: Any, **_: Any) -> int:
    given = size[0] if size and isinstance(size[0], list | tuple) else size
    kept = (1,) * (len(given) - x.ndim) + tuple(x.shape)
    return math.prod(old if new == -1 else int(new) for new, old in zip(given, kept, strict=False))


def _repeated(x: Tensor, *repeats: Any, **options: Any) -> int:
    given = (*repeats, *(value for name, value in options.items() if name in ("repeats", "dims")))
    given = given[0] if given and isinstance(given[0], list | tuple) else given
    return x.numel() * math.prod(int(each) for each in given)


def _each_repeated(x: Tensor, repeats: Any, *_: Any, **__: Any) -> int:
    if not isinstance(repeats, int):
        raise TypeError("`repeat_interleave` takes one number of repeats")
    return x.numel() * repeats


def _product(a: Any, b: Any, *_: Any, **__: Any) -> int:
    if not (hasattr(a, "numel") and hasattr(b, "numel")) or a.ndim < 2 or b.ndim < 2:
        return 0
    batch = max(math.prod(a.shape[:-2]), math.prod(b.shape[:-2])) if a.ndim < 4 and b.ndim < 4 else _TOO_MANY
    return batch * a.shape[-2] * b.shape[-1]


def _distances(a: Tensor, b: Tensor, *_: Any, **__: Any) -> int:
    return _product(a, b.transpose(-1, -2))


def _outer(a: Tensor, b: Tensor, *_: Any, **__: Any) -> int:
    return a.numel() * b.numel()


def _grid(*tensors: Any, **_: Any) -> int:
    given = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], list | tuple) else tensors
    return math.prod(each.numel() for each in given)


def _summed(equation: str, *operands: Any) -> int:
    """All letters of a sum over many operands, which is done two by two; those of the result over one or two."""
    given = operands[0] if len(operands) == 1 and isinstance(operands[0], list | tuple) else operands
    inputs, _, output = equation.replace(" ", "").partition("->")
    if "." in inputs:
        raise ValueError("write the letters of every axis: `einsum` takes no `...` here")
    sizes = {
        letter: size
        for term, each in zip(inputs.split(","), given, strict=True)
        for letter, size in zip(term, each.shape, strict=True)
    }
    letters = set(output) if len(given) <= 2 and "->" in equation else set(sizes)
    return math.prod(sizes.get(letter, 1) for letter in letters)


def _padded(x: Tensor, pad: Any, *_: Any, **__: Any) -> int:
    sizes = list(x.shape)
    for index in range(len(pad) // 2):
        sizes[-1 - index] += max(0, int(pad[2 * index])) + max(0, int(pad[2 * index + 1]))
    return math.prod(sizes)


def _gathered(x: Tensor, dim: int, index: Tensor, *_: Any, **__: Any) -> int:
    return index.numel() * (x.numel() // max(1, x.shape[dim]) if index.ndim < 2 else 1)


def _dotted(a: Any, b: Any, *_: Any, **__: Any) -> int:
    return _product(a, b)


_ENOUGH = 100_000
_TOO_MANY = 10**18

ELEMENTS: dict[str, Callable[..., int]] = {
    **dict.fromkeys(["torch.zeros", "torch.ones", "numpy.zeros", "numpy.ones"], _shape),
    **dict.fromkeys(["torch.full", "numpy.full"], _filled),
    **dict.fromkeys(["torch.eye", "numpy.eye"], _square),
    **dict.fromkeys(["torch.arange", "numpy.arange"], _range),
    **dict.fromkeys(["torch.linspace", "numpy.linspace"], _steps),
    **dict.fromkeys(["torch.tensor", "torch.as_tensor", "numpy.array", "numpy.asarray"], _of_list),
    **{f"torch.{name}": _together for name in ("cat", "concat", "concatenate", "stack", "hstack", "vstack")},
    **dict.fromkeys(["torch.column_stack", "numpy.stack", "numpy.concatenate", "numpy.column_stack"], _together),
    **dict.fromkeys([".new_zeros", ".new_ones"], _new_filled),
    ".new_full": _new_full,
    ".new_tensor": _new_of_list,
    **dict.fromkeys([".expand", "torch.broadcast_to"], _expanded),
    **dict.fromkeys([".repeat", ".tile", "torch.tile"], _repeated),
    ".repeat_interleave": _each_repeated,
    **{name: _product for each in ("matmul", "mm", "bmm") for name in (f"torch.{each}", f".{each}")},
    **dict.fromkeys(["torch.linalg.matmul", "numpy.dot", "@"], _product),
    **dict.fromkeys(["torch.outer", ".outer"], _outer),
    "torch.cdist": _distances,
    "torch.meshgrid": _grid,
    "torch.einsum": _summed,
    "torch.nn.functional.pad": _padded,
    **{name: _gathered for each in ("gather", "index_select") for name in (f"torch.{each}", f".{each}")},
}
"""What the size of a result is told from: by dotted name, by `.name` for a method, by the sign for an operator."""
