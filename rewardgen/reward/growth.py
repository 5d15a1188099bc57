"""How many elements the result of a torch or numpy function has, told from its arguments, before it is made.

Each function here takes the arguments of the function that it is for; a method's tensor comes first.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

from rewardgen.reward.vocabulary import ELEMENTWISE, NUMPY_ELEMENTWISE, NUMPY_RENAMED, words

Tensor = Any
"""Not imported: checks of a reward's text need the names below, and no torch."""

_MOST_ENTRIES = 100_000


def _first_list(*arguments: Any) -> Any:
    """What was given as one list or as arguments of their own."""
    return arguments[0] if len(arguments) == 1 and isinstance(arguments[0], list | tuple) else arguments


def _shape(*size: Any, **options: Any) -> int:
    sizes = size or tuple(value for name, value in options.items() if name in ("size", "shape"))
    given = sizes[0] if sizes and isinstance(sizes[0], list | tuple) else sizes
    return math.prod(max(1, int(each)) for each in given if each is not None)


def _diagonal(x: Tensor, *_: Any, **__: Any) -> int:
    return x.numel() ** 2 if x.ndim == 1 else x.numel()


def _classes(x: Tensor, num_classes: int = -1) -> int:
    if num_classes < 1:
        raise ValueError("`one_hot` needs `num_classes=`: without it, its size depends on the other envs")
    return x.numel() * num_classes


def _square(n: int, m: int | None = None, *_: Any, **__: Any) -> int:
    return n * (m if isinstance(m, int) else n)


def _range(*limits: float, **options: Any) -> int:
    given = (*limits, *(options[name] for name in ("start", "end", "step") if name in options))
    start, end, step = (0, *given, 1) if len(given) == 1 else (*given, 1)[:3]
    return int(abs(end - start) / abs(step or 1)) + 1


def _steps(_: Any, __: Any, steps: Any = 100, *___: Any, **options: Any) -> int:
    return int(options.get("num", steps))


def leaves(values: Any, *_: Any, **__: Any) -> int:
    """Elements of nested lists, those of tensors in them too.

    Args:
        values: A number, a tensor, or a list of such or of lists.

    Raises:
        ValueError: The lists hold more than anyone should go through, counting those that are held several times.
    """
    waiting, entries, count = [values], 0, 0
    while waiting:
        each = waiting.pop()
        if isinstance(each, list | tuple):
            entries += len(each)
            if entries > _MOST_ENTRIES:
                raise ValueError(f"lists of more than {_MOST_ENTRIES} elements are too long")
            waiting.extend(each)
        else:
            count += each.numel() if hasattr(each, "numel") else 1
    return count


def _joined(*tensors: Any, **options: Any) -> int:
    parts = tensors[0] if tensors else next(iter(options.values()))
    return sum(each.numel() for each in parts if hasattr(each, "numel"))


def _stacked(*arrays: Any, **options: Any) -> int:
    """Of numpy, where a number takes the shape of the others."""
    parts = arrays[0] if arrays else next(iter(options.values()))
    return len(parts) * max((leaves(each) for each in parts), default=0)


def _expanded(x: Tensor, *size: Any, **options: Any) -> int:
    given = _first_list(*size, *(options[name] for name in ("size",) if name in options))
    kept = (1,) * (len(given) - x.ndim) + tuple(x.shape)
    return math.prod(old if new == -1 else int(new) for new, old in zip(given, kept, strict=False))


def _repeated(x: Tensor, *repeats: Any, **options: Any) -> int:
    given = _first_list(*repeats, *(value for name, value in options.items() if name in ("repeats", "dims")))
    return x.numel() * math.prod(int(each) for each in given)


def _each_repeated(x: Tensor, repeats: Any, *_: Any, **__: Any) -> int:
    if not isinstance(repeats, int):
        raise TypeError("`repeat_interleave` takes one number of repeats")
    return x.numel() * repeats


def _product(a: Any, b: Any, *_: Any, **__: Any) -> int:
    if not (hasattr(a, "numel") and hasattr(b, "numel")) or a.ndim < 2 or b.ndim < 2:
        return 0
    axes = itertools.zip_longest(reversed(a.shape[:-2]), reversed(b.shape[:-2]), fillvalue=1)
    return math.prod(map(max, axes)) * a.shape[-2] * b.shape[-1]


def _distances(a: Tensor, b: Tensor, *_: Any, **__: Any) -> int:
    return _product(a, b.transpose(-1, -2))


def _grid(*tensors: Any, **_: Any) -> int:
    return math.prod(each.numel() for each in _first_list(*tensors))


def _summed(equation: str, *operands: Any) -> int:
    """All letters of a sum over many operands, which is done two by two; those of the result over one or two."""
    given = _first_list(*operands)
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


_EITHER: dict[str, Callable[..., int]] = {
    "tile": _repeated,
    "diag": _diagonal,
    "outer": lambda a, b, **_: a.numel() * b.numel(),
    **dict.fromkeys(["matmul", "mm", "bmm"], _product),
    **dict.fromkeys(["gather", "index_select"], _gathered),
}
"""Functions of torch that are methods of tensors too."""

ELEMENTS: dict[str, Callable[..., int]] = {
    **dict.fromkeys(["torch.zeros", "torch.ones", "numpy.zeros", "numpy.ones"], _shape),
    **dict.fromkeys(["torch.full", "numpy.full"], lambda *size, **options: _shape(*size[:1], **options)),
    **dict.fromkeys(["torch.eye", "numpy.eye"], _square),
    **dict.fromkeys(["torch.arange", "numpy.arange"], _range),
    **dict.fromkeys(["torch.linspace", "numpy.linspace"], _steps),
    **dict.fromkeys(["torch.tensor", "torch.as_tensor", "numpy.array", "numpy.asarray"], leaves),
    **{f"torch.{name}": _joined for name in ("cat", "concat", "concatenate", "stack", "hstack", "vstack")},
    **dict.fromkeys(["torch.column_stack", "numpy.concatenate", "numpy.column_stack"], _joined),
    "numpy.stack": _stacked,
    **dict.fromkeys([".new_zeros", ".new_ones"], lambda _, *size, **options: _shape(*size, **options)),
    ".new_full": lambda _, *size, **options: _shape(*size[:1], **options),
    ".new_tensor": lambda _, values, **__: leaves(values),
    **dict.fromkeys([".expand", "torch.broadcast_to"], _expanded),
    ".repeat": _repeated,
    ".repeat_interleave": _each_repeated,
    **dict.fromkeys(["torch.linalg.matmul", "numpy.dot"], _product),
    ".unfold": lambda x, dimension, size, step: x.numel() * size // max(1, step),
    "torch.cdist": _distances,
    "torch.meshgrid": _grid,
    "torch.einsum": _summed,
    "torch.nn.functional.pad": _padded,
    "torch.nn.functional.one_hot": _classes,
    **{f"{owner}.{name}": elements for name, elements in _EITHER.items() for owner in ("torch", "")},
}
"""By dotted name, or `.name` for a method; the result of any other function is broadcast from its arguments."""

_SIZED = ("zeros", "ones", "full", "eye", "linspace", "reshape", "broadcast_to", "tile", "unflatten")
_SIZED_METHODS = ("new_zeros", "new_ones", "new_full", "view", "reshape", "expand", "repeat", "tile", "unflatten")
SIZED = frozenset(
    [
        *(f"{module}.{name}" for name in _SIZED for module in ("torch", "numpy")),
        *(f".{name}" for name in _SIZED_METHODS),
    ]
)
"""Functions whose results have the sizes that they are given; what others make of a size need not show it."""
SHORTENING = frozenset(
    [
        "torch.nn.functional.pad",
        "torch.diagonal",
        "torch.diff",
        "torch.diag",
        "numpy.diff",
        ".diagonal",
        ".diff",
        ".diag",
        ".unfold",
    ]
)
"""Functions whose results may be shorter along an axis than what they are given, by less than all of it."""
PARTING = {
    **{f"torch.{name}": 2 for name in ("split", "chunk", "tensor_split")},
    **{"torch.unbind": 1, ".unbind": 1, ".split": 2, ".chunk": 2},
}
"""Functions that take a tensor apart along an axis, with the place of that among their arguments."""
JOINING = frozenset(
    [
        *(f"torch.{name}" for name in ("cat", "concat", "concatenate", "hstack", "vstack", "column_stack")),
        *("numpy.concatenate", "numpy.column_stack"),
    ]
)
"""Functions that join tensors along an axis that they have."""
RESHAPING = frozenset(
    [*("torch.reshape", "numpy.reshape", ".reshape", ".view"), *("torch.unflatten", "numpy.unflatten", ".unflatten")]
)
"""Functions that take one of the sizes from the others."""
TABLES = frozenset(["torch.tensor", "torch.as_tensor", "numpy.array", "numpy.asarray"])
"""Functions that make a tensor of lists."""
SQUEEZING = ("torch.squeeze", "numpy.squeeze", ".squeeze")
"""Functions that drop an axis or not, depending on its size."""
LOOKED_AT = frozenset(
    [*ELEMENTS, *SHORTENING, *RESHAPING, *PARTING, *SQUEEZING, "torch.where", "torch.numel", ".numel", ".size", ".dim"]
)
"""Functions that no program calls without a look at their arguments."""
MAKING = frozenset(
    f"{module}.{name}"
    for name in ("zeros", "ones", "full", "eye", "arange", "linspace")
    for module in ("torch", "numpy")
)
"""Functions whose first argument is a size already."""
_WITH_TENSORS = words("""
tensor as_tensor scalar_tensor full_like gather index_select bucketize broadcast_tensors meshgrid dot outer mv mm bmm
matmul masked_fill index_fill array asarray clip astype new_tensor tolerance
""")
WITH_AXIS = ("gather", "index_select")
"""Of those, the ones whose second argument is an axis."""
TENSOR_TAKING = frozenset([*ELEMENTWISE, *NUMPY_ELEMENTWISE, *NUMPY_RENAMED, *_WITH_TENSORS])
"""Last names of functions whose further arguments may be whole tensors; those of others are sizes and axes."""
