"""From canonical source back to a genome: the source is the truth, nothing is hidden in it.

Each statement, in the spelling of `ast.unparse`, is matched against the shapes' templates in the same spelling. A
reward that another hand wrote does not match, and is then no parent for structural operators.
"""

from __future__ import annotations

import ast
import re
from functools import cache

from rewardgen.designer.builtin.genome import Factor, Genome, Term, TermInput
from rewardgen.designer.builtin.rendering import GATE_FLOOR, INPUT_FORMS
from rewardgen.designer.builtin.shapes import SHAPES


class _Foreign(Exception):
    """The source is not in canonical form."""


def parse(source: str) -> Genome | None:
    """Read a genome from a reward's source.

    Args:
        source: A reward program.

    Returns:
        The genome whose rendering is this source, or None if the source is not in the canonical form.
    """
    try:
        (function,) = ast.parse(source).body
        return _genome(function) if isinstance(function, ast.FunctionDef) else None
    except (_Foreign, SyntaxError, ValueError):
        return None


def _genome(function: ast.FunctionDef) -> Genome:
    arguments = function.args
    defaults = {
        each.arg: float(ast.literal_eval(default))
        for each, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        if default is not None
    }
    inputs = {each.arg: TermInput(each.arg) for each in arguments.args}
    expressions: dict[str, str] = {}
    *statements, last = function.body
    for each in statements:
        if isinstance(each, ast.Assign) and isinstance(each.targets[0], ast.Name):
            name, text = each.targets[0].id, ast.unparse(each.value)
            if found := _aliased(text):
                inputs[name] = found
            else:
                expressions[name] = text
        elif not (isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant)):
            raise _Foreign
    returned = re.findall(r"'(\w+)': (\w+)", ast.unparse(last))
    names = [name for name, _ in returned]
    canonical = "return {" + ", ".join(f"'{name}': {name}" for name in names) + "}"
    if ast.unparse(last) != canonical or not expressions.keys() >= set(names):
        raise _Foreign
    gates = {
        name: _matched(name, text, True, defaults, inputs)[0] for name, text in expressions.items() if name not in names
    }
    terms = []
    for name in names:
        factor, closed_by = _matched(name, expressions[name], False, defaults, inputs)
        if f"{name}_weight" not in defaults or not gates.keys() >= set(closed_by):
            raise _Foreign
        terms.append(Term(factor, defaults[f"{name}_weight"], tuple(gates[each] for each in closed_by)))
    return Genome(tuple(terms))


def _aliased(text: str) -> TermInput | None:
    """A part, length or distance of inputs, or None for any other expression."""
    for form, template in INPUT_FORMS.items():
        found = _pattern(template.format(variable="VARIABLE__", other="OTHER__", part="PART__")).fullmatch(text)
        if found:
            known = found.groupdict()
            part = int(known["part"]) if "part" in known else None
            return TermInput(known["variable"], part, form, known.get("other", ""))
    return None


def _matched(
    name: str, text: str, is_gate: bool, defaults: dict[str, float], inputs: dict[str, TermInput]
) -> tuple[Factor, list[str]]:
    """The factor that an expression of this name holds, and the names of the gates that it is multiplied with."""
    for shape, each in SHAPES.items():
        roles = {role: f"NAME___{role}" for role in each.roles}
        factor = each.template.format(x="X__", before="prev_X__", **roles)
        weight = GATE_FLOOR if is_gate else f"{'-' if each.penalty else ''}NAME___weight * "
        found = _pattern(weight + factor, may_be_gated=not is_gate).fullmatch(text)
        if found and found.groupdict().get("name", name) == name and found["x"] in inputs:
            if not defaults.keys() >= {f"{name}_{role}" for role in each.roles}:
                raise _Foreign
            constants = tuple((role, defaults[f"{name}_{role}"]) for role in each.roles)
            return Factor(name, shape, inputs[found["x"]], constants), found["gates"].split(" * ")[1:]
    raise _Foreign


@cache
def _pattern(expression: str, may_be_gated: bool = False) -> re.Pattern[str]:
    """Of an expression in which `X__` is any one name or number, the same wherever it stands."""
    text = re.escape(ast.unparse(ast.parse(expression, mode="eval")))
    for name in set(re.findall(r"([A-Z]+)__", text)):
        text = text.replace(f"{name}__", rf"(?P<{name.lower()}>\w+)", 1).replace(f"{name}__", f"(?P={name.lower()})")
    return re.compile(text + (r"(?P<gates>(?: \* \w+)*)" if may_be_gated else "(?P<gates>)"))
