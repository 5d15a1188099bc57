"""What can be told of the values in a reward without running it: dependence on data, sign, and whether one may be zero.

Every answer errs towards silence: a name that is bound more than once, or a parameter of a helper, is unknown.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

from rewardgen.reward.signature import ENTRY
from rewardgen.reward.vocabulary import CHANGING_METHODS


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SHAPES_ONLY = _names("ones_like zeros_like full_like new_ones new_zeros new_full ones zeros full size dim numel len")
_METADATA = _names("shape ndim dtype device")
_NON_NEGATIVE = _names(
    "abs square norm vector_norm sqrt exp sigmoid softplus relu softmax std var cosh fabs hypot dist"
)
_SIGN_KEEPING = _names("sum mean amax amin float squeeze unsqueeze clone max min reshape view cumsum")
_POSITIVE = _names("exp cosh softplus sigmoid softmax logsumexp ones_like ones")
_BOUNDED_BELOW = _names("clamp clamp_min clip maximum fmax max where tolerance nan_to_num")
_BOUNDED_ABOVE = _names("clamp clamp_max clip minimum fmin min where tolerance sigmoid tanh softmax sin cos sign")
_LIMIT = 30


class Facts:
    """The entry function of a reward, and what its names hold.

    Args:
        tree: A reward that passed the gates `language` and `signature`.

    Attributes:
        tree: The whole reward.
        entry: Its `compute_reward`.
    """

    def __init__(self, tree: ast.Module) -> None:
        self.tree = tree
        self.entry = next(node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == ENTRY)
        self._tunables = {each.arg for each in self.entry.args.kwonlyargs}
        self._values = dict(_single_values(tree))

    def components(self) -> Iterator[tuple[str, ast.expr]]:
        """Name and expression of each component in a dict that is returned as it is written, or by its name."""
        for node in ast.walk(self.entry):
            if isinstance(node, ast.Return) and node.value is not None:
                value = self._followed(node.value.elts[-1] if isinstance(node.value, ast.Tuple) else node.value)
                if isinstance(value, ast.Dict):
                    for key, component in zip(value.keys, value.values, strict=True):
                        if isinstance(key, ast.Constant):
                            yield str(key.value), component

    def depends_on_data(self, node: ast.expr, depth: int = 0) -> bool:
        """Whether a value may differ between states."""
        if depth > _LIMIT:
            return True
        if isinstance(node, ast.Name):
            value = self._values.get(node.id)
            return node.id not in self._tunables if value is None else self.depends_on_data(value, depth + 1)
        if isinstance(node, ast.Attribute):
            return node.attr not in _METADATA and not _is_module(node) and self.depends_on_data(node.value, depth + 1)
        if isinstance(node, ast.Call):
            return self._call_depends(node, depth)
        parts = [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
        return any(self.depends_on_data(part, depth + 1) for part in parts) or isinstance(node, _COMPREHENSIONS)

    def _call_depends(self, node: ast.Call, depth: int) -> bool:
        if _called(node) in _SHAPES_ONLY:
            filled = node.args[1:] if _called(node) in ("full_like", "full", "new_full") else []
            return any(self.depends_on_data(each, depth + 1) for each in filled)
        arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
        if isinstance(node.func, ast.Attribute) and not _is_module(node.func.value):
            arguments.append(node.func.value)
        return any(self.depends_on_data(each, depth + 1) for each in arguments)

    def is_non_negative(self, node: ast.expr, depth: int = 0) -> bool:
        """Whether a value is provably zero or more in every state; tunable constants are taken to be positive."""
        if depth > _LIMIT:
            return False
        if isinstance(node, ast.Constant):
            return isinstance(node.value, int | float) and node.value >= 0
        if isinstance(node, ast.Name):
            value = self._values.get(node.id)
            return node.id in self._tunables if value is None else self.is_non_negative(value, depth + 1)
        if isinstance(node, ast.BinOp):
            return self._is_non_negative_operation(node, depth)
        return isinstance(node, ast.Call) and self._is_non_negative_call(node, depth)

    def _is_non_negative_operation(self, node: ast.BinOp, depth: int) -> bool:
        if isinstance(node.op, ast.Pow):
            even = isinstance(node.right, ast.Constant) and node.right.value in (2, 4, 6, 8, 2.0, 4.0)
            return even or self.is_non_negative(node.left, depth + 1)
        if isinstance(node.op, ast.Mult) and ast.dump(node.left) == ast.dump(node.right):
            return True
        keeping = isinstance(node.op, ast.Add | ast.Mult | ast.Div)
        return keeping and self.is_non_negative(node.left, depth + 1) and self.is_non_negative(node.right, depth + 1)

    def _is_non_negative_call(self, node: ast.Call, depth: int) -> bool:
        name = _called(node)
        if name in _NON_NEGATIVE:
            return True
        if name in ("clamp", "clip", "clamp_min"):
            return _lower_bound(node) >= 0.0
        operand = _operand(node)
        return name in _SIGN_KEEPING and operand is not None and self.is_non_negative(operand, depth + 1)

    def is_bounded_above(self, node: ast.expr) -> bool:
        """Whether a value passes through something that may bound it from above."""
        calls = [each for each in ast.walk(self._followed(node)) if isinstance(each, ast.Call)]
        return any(_called(call) in _BOUNDED_ABOVE for call in calls)

    def may_vanish(self, node: ast.expr, depth: int = 0) -> bool:
        """Whether a denominator depends on data and shows no guard against zero."""
        if depth > _LIMIT or not self.depends_on_data(node):
            return False
        if isinstance(node, ast.Name) and node.id in self._values:
            return self.may_vanish(self._values[node.id], depth + 1)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            parts = (node.left, node.right)
            return not any(not self.depends_on_data(part) for part in parts) and all(
                self.may_vanish(part, depth + 1) for part in parts
            )
        if isinstance(node, ast.Call):
            return self._call_may_vanish(node, depth)
        if isinstance(node, ast.BinOp):
            return self.may_vanish(node.left, depth + 1) or self.may_vanish(node.right, depth + 1)
        return not isinstance(node, ast.Name) or self._is_input(node.id)

    def _call_may_vanish(self, node: ast.Call, depth: int) -> bool:
        name = _called(node)
        if name in _POSITIVE or name in _BOUNDED_BELOW or isinstance(node.func, ast.Name):
            return False
        operand = _operand(node)
        return operand is None or self.may_vanish(operand, depth + 1)

    def _is_input(self, name: str) -> bool:
        return name in {each.arg for each in self.entry.args.args}

    def _followed(self, node: ast.expr) -> ast.expr:
        for _ in range(_LIMIT):
            if not (isinstance(node, ast.Name) and node.id in self._values):
                break
            node = self._values[node.id]
        return node


_COMPREHENSIONS = (ast.ListComp, ast.DictComp, ast.SetComp, ast.GeneratorExp)


def _single_values(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    """Names that are bound once in the whole reward, by a plain assignment, and never changed in place."""
    bindings = Counter(_bindings(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                if isinstance(target, ast.Name) and bindings[target.id] == 1:
                    yield target.id, node.value


def _bindings(tree: ast.Module) -> Iterator[str]:
    """Every place where a name gets a value or its value is changed."""
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        else:
            changed = _changed(node)
            if isinstance(changed, ast.Name):
                yield changed.id


def _changed(node: ast.AST) -> ast.expr | None:
    """What `x[...] = value` and `x.add_(value)` change."""
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
        return node.value
    method = node.func if isinstance(node, ast.Call) else None
    return method.value if isinstance(method, ast.Attribute) and method.attr in CHANGING_METHODS else None


def _is_module(node: ast.expr) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name) and node.id in ("torch", "math", "F")


def _called(node: ast.Call) -> str:
    if isinstance(node.func, ast.Attribute):
        return node.func.attr
    return node.func.id if isinstance(node.func, ast.Name) else ""


def _operand(node: ast.Call) -> ast.expr | None:
    """What a function or method is applied to: `x` in `torch.sum(x)` and in `x.sum()`."""
    if isinstance(node.func, ast.Attribute) and not _is_module(node.func.value):
        return node.func.value
    return node.args[0] if node.args else None


def _lower_bound(node: ast.Call) -> float:
    """The constant lower bound of a clamp; minus infinity if it shows none."""
    method = isinstance(node.func, ast.Attribute) and not _is_module(node.func.value)
    positional = node.args[0 if method else 1 :][:1]
    bounds = [keyword.value for keyword in node.keywords if keyword.arg == "min"] or positional
    value = bounds[0].value if bounds and isinstance(bounds[0], ast.Constant) else None
    return float(value) if isinstance(value, int | float) else float("-inf")
