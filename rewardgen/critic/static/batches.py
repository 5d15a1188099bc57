"""Detectors of what breaks the batch: worlds that are mixed, shapes that do not fit, branches on tensors."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from rewardgen.critic.static.finding import component_of, finding
from rewardgen.critic.static.operators import COMPARISONS, LOGICAL
from rewardgen.critic.static.reading import ParsedReward
from rewardgen.critic.static.shapes import clashes
from rewardgen.critic.static.value import WORLDS, Shape
from rewardgen.store.records import Finding

_BINARY = COMPARISONS | LOGICAL | {"add", "subtract", "multiply", "divide", "power", "maximum", "minimum"}
_CHOICE = "use `torch.where`, which decides for each world"


def tensor_branches(reading: ParsedReward) -> Iterator[Finding]:
    """Places where Python asks a whole batch for one yes or no, which torch refuses."""
    told: set[int | None] = set()
    for event in reading.events:
        line = getattr(event.node, "lineno", None)
        if event.kind != "branch" or line in told:
            continue
        told.add(line)
        text = ast.unparse(event.node)[:60] if isinstance(event.node, ast.expr) else "a tensor"
        if event.detail == "chain":
            what, hint = f"chains comparisons of tensors: `{text}`", "write `(low < x) & (x < high)`"
            yield finding("chained-comparison", event.node, what, hint, severity="reject")
        elif event.detail in ("max", "min"):
            what, hint = f"calls Python's `{event.detail}` on tensors", f"use `torch.{event.detail}imum` or `.clamp`"
            yield finding("tensor-branch", event.node, what, hint, severity="reject")
        elif event.detail in ("float", "int", "bool"):
            what, hint = f"converts a tensor with Python's `{event.detail}`", f"use `.{event.detail}()`"
            yield finding("tensor-branch", event.node, what, hint, severity="reject")
        else:
            what = f"asks for one yes or no of `{text}`, which holds one for each world"
            hint = f"{_CHOICE}; `&`, `|` and `~` combine conditions"
            yield finding("tensor-branch", event.node, what, hint, severity="reject")


def mixed_worlds(reading: ParsedReward) -> Iterator[Finding]:
    """Values in which one world's reward depends on another world."""
    told: set[int | None] = set()
    for value in reading.values:
        if value.mixes and value.line not in told:
            told.add(value.line)
            what = f"takes different worlds together in `{value.text()}`"
            hint = "reduce the last axis of an (N, k) tensor with `dim=-1`; an (N,) tensor needs no reduction"
            yield finding("mixes-worlds", value, what, hint, component_of(reading, value), "reject")


def misfitting_shapes(reading: ParsedReward) -> Iterator[Finding]:
    """Operations on shapes that do not fit, and components that are not one number per world."""
    told: set[int | None] = set()
    for value in reading.values:
        if value.op in _BINARY and value.line not in told:
            shapes = [operand.shape for operand in value.operands[:2]]
            pairs = value.shape == (WORLDS, WORLDS) and (WORLDS, WORLDS) not in shapes
            if len(shapes) == 2 and (pairs or clashes(*shapes)):
                told.add(value.line)
                what = f"combines shapes {_words(shapes[0])} and {_words(shapes[1])} in `{value.text()}`"
                hint = "reduce or index the last axis first, without `keepdim`"
                yield finding("shape-mismatch", value, what, hint, component_of(reading, value), "reject")
    for name, component in reading.components.items():
        if component.shape not in (None, (), (WORLDS,), (WORLDS, WORLDS)):
            what = f"returns the component `{name}` with shape {_words(component.shape)}, expected (N,)"
            hint = "reduce over the last axis, as with `.sum(-1)`, or take one part, as with `x[:, 0]`"
            yield finding("component-shape", component, what, hint, name, "reject")


def _words(shape: Shape) -> str:
    sizes = ["N" if size == WORLDS else str(size) for size in shape or ()]
    return f"({', '.join(sizes)}{',' if len(sizes) == 1 else ''})"
