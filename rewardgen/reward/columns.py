"""Whether a reward may make a tensor with an axis of size one behind the axis of the worlds, such as (N, 1).

Only with such a tensor can an elementwise operation make more than it is given: (N, 1) + (N,) is (N, N). A reward that
cannot have one needs no guard on its arithmetic. Every answer errs towards yes.
"""

from __future__ import annotations

import ast

from rewardgen.reward.kinds import Kind, Kinds
from rewardgen.reward.vocabulary import words

_MAKERS = frozenset(
    words("""
    unsqueeze expand_dims view view_as reshape unflatten T mT transpose permute movedim swapaxes narrow chunk split
    tensor_split topk index_select gather diagonal diff einsum matmul mm bmm mv outer cdist meshgrid pad repeat tile
    repeat_interleave expand broadcast_to atleast_1d atleast_2d column_stack hstack vstack eye dot tril triu
    """)
)
_ASSEMBLED = ("stack", "array", "asarray", "tensor", "new_tensor", "as_tensor", "cat", "concat", "concatenate")
_FILLED = ("zeros", "ones", "full", "new_zeros", "new_ones", "new_full")
_REDUCED = frozenset(
    words("""
    all amax amin any argmax argmin count_nonzero logsumexp max mean median min mode nanmean nansum norm vector_norm
    matrix_norm prod std sum var pairwise_distance
    """)
)


def may_make_columns(tree: ast.Module, kinds: Kinds) -> bool:
    """Whether a reward may make a tensor such as (N, 1) from inputs that are none.

    Args:
        tree: A reward that `check_tree` has no finding on.
        kinds: The kinds of its expressions.
    """
    return any(_makes(node, kinds) for node in ast.walk(tree))


def _makes(node: ast.AST, kinds: Kinds) -> bool:
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.MatMult)
    if isinstance(node, ast.Attribute):
        return node.attr in _MAKERS
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) and kinds.of(node.value) & Kind.TENSOR:
        return _index_makes(node.slice, kinds)
    return isinstance(node, ast.Call) and _call_makes(node, kinds)


def _index_makes(index: ast.expr, kinds: Kinds) -> bool:
    places = index.elts if isinstance(index, ast.Tuple) else [index]
    return any(_place_makes(each, first=number == 0, kinds=kinds) for number, each in enumerate(places))


def _place_makes(place: ast.expr, first: bool, kinds: Kinds) -> bool:
    if isinstance(place, ast.Slice):
        return not first and not _is_wide(place)
    if isinstance(place, ast.Constant) and place.value is None:
        return True
    if isinstance(place, ast.List):
        return len(place.elts) < 2
    kind = kinds.of(place)
    is_index = isinstance(place, ast.Constant) or kind in (Kind.INTEGER, Kind.NONE)
    # A string, a constant of a dict; a mask or a list of indices over the worlds adds no axis.
    return not (is_index or (first and kind & Kind.TENSOR and not kind & Kind.OTHER) or _is_text(place))


def _is_text(place: ast.expr) -> bool:
    return isinstance(place, ast.JoinedStr)


def _is_wide(place: ast.Slice) -> bool:
    """Whether a slice surely keeps several parts, or all."""
    if place.step is not None:
        return False
    lower, upper = _integer(place.lower), _integer(place.upper)
    if place.lower is None and place.upper is None:
        return True
    if place.upper is None:
        return lower is not None and lower < -1
    if (lower is None and place.lower is not None) or upper is None:
        return False
    start = lower or 0
    return (start < 0) == (upper < 0) and upper - start > 1


def _call_makes(node: ast.Call, kinds: Kinds) -> bool:
    name = (
        node.func.attr
        if isinstance(node.func, ast.Attribute)
        else node.func.id
        if isinstance(node.func, ast.Name)
        else ""
    )
    if name in _MAKERS or any(
        each.arg in ("keepdim", "keepdims") and not _is_false(each.value) for each in node.keywords
    ):
        return True
    if name in _ASSEMBLED:
        return _assembled_makes(node)
    if name in _FILLED:
        return _filled_makes(node)
    options = node.args[1:] if kinds.is_module_function(node.func) else node.args
    return name in _REDUCED and any(_may_be_flag(each, kinds) for each in options)


def _assembled_makes(node: ast.Call) -> bool:
    """One part alone makes an axis of size one; numbers have no worlds."""
    parts = node.args[0] if node.args else None
    if isinstance(parts, ast.Constant):
        return False
    return not (isinstance(parts, ast.List | ast.Tuple) and len(parts.elts) > 1 and not _holds_one(parts))


def _holds_one(parts: ast.List | ast.Tuple) -> bool:
    return any(isinstance(each, ast.Starred | ast.List | ast.Tuple) for each in parts.elts)


def _filled_makes(node: ast.Call) -> bool:
    method = isinstance(node.func, ast.Attribute) and node.func.attr.startswith("new_")
    filled = isinstance(node.func, ast.Attribute) and node.func.attr.endswith("full")
    sizes = node.args[:1] if filled or (method and len(node.args) == 1) else node.args
    if len(sizes) == 1 and isinstance(sizes[0], ast.Tuple | ast.List):
        sizes = sizes[0].elts
    if len(sizes) == 1 and isinstance(sizes[0], ast.Name):
        return True
    return not sizes or any(isinstance(each, ast.Starred) or (_integer(each) or 0) < 2 for each in sizes[1:])


def _may_be_flag(argument: ast.expr, kinds: Kinds) -> bool:
    """Whether a positional argument may be `keepdim`; of axes and orders, only the literal ones are surely not."""
    if isinstance(argument, ast.Constant):
        return argument.value is True
    return bool(kinds.of(argument) & Kind.INTEGER) and _integer(argument) is None


def _is_false(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is False


def _integer(node: ast.expr | None) -> int | None:
    sign = 1
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        sign, node = -1, node.operand
    value = node.value if isinstance(node, ast.Constant) else None
    return sign * value if isinstance(value, int) and not isinstance(value, bool) else None
