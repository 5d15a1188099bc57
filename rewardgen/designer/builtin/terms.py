"""A reward as a tuple of terms: rendered as readable Python, and read back from that Python alone.

Every shape is bounded (`aligned` and `opposed` by the cosine that they read) and every exponential has an argument that
cannot be positive, so no input of a falling or diverging robot blows up a reward. Motion is rewarded symmetrically, so
rocking to and fro earns nothing. Based on Tassa et al., "DeepMind Control Suite" (2018), and on Ng et al., "Policy
invariance under reward transformations" (1999) for changes per step.
"""

from __future__ import annotations

import ast
import re
import textwrap
from dataclasses import dataclass, replace

from rewardgen.store.records import TaskCard

_WIDTH = 110


SHAPES: dict[str, tuple[str, str]] = {
    # Motion, (N,).
    "progress": ("{weight} * ({x} / {reference}).clamp(-4.0, 4.0)", "more {meaning}"),
    "reverse": ("{weight} * (-{x} / {reference}).clamp(-4.0, 4.0)", "less {meaning}"),
    # A value at a target, (N,).
    "near": ("{weight} * torch.exp(-(({x} - {target}) ** 2) / {temperature})", "{meaning} near the target"),
    "fine": ("{weight} * torch.exp(-(({x} - {target}) ** 2) / {temperature})", "{meaning} precisely at the target"),
    "pull": ("{weight} * (1.0 / (1.0 + (({x} - {target}) / {width}) ** 2))", "{meaning} pulled to the target"),
    "close": ("{weight} * torch.exp(-({x} - {target}).abs() / {temperature})", "{meaning} close to the target"),
    "above": ("{weight} * torch.exp(-((({floor} - {x}).clamp(min=0.0) / {margin}) ** 2))", "enough {meaning}"),
    "raised": ("{weight} * (({x} - {start}) / {rise}).clamp(0.0, 1.0)", "a higher {meaning}"),
    "aligned": ("{weight} * (0.5 + 0.5 * {x})", "{meaning} toward 1"),
    "opposed": ("{weight} * (0.5 - 0.5 * {x})", "{meaning} toward -1"),
    "facing": ("{weight} * (0.5 + 0.5 * torch.cos({x} - {target}))", "{meaning} turned to the target"),
    # Changes per step, (N,).
    "approach": ("{weight} * (({before} - {x}) / {step}).clamp(-4.0, 4.0)", "{meaning} shrinking at every step"),
    "advance": ("{weight} * (({x} - {before}) / {step}).clamp(-4.0, 4.0)", "{meaning} growing at every step"),
    # Calm: of a number (N,), of a vector (N, k), and of the action (N, k).
    "still": ("-{weight} * ({x} / {scale}).square().clamp(max=1.0)", "little {meaning}"),
    "calm": ("-{weight} * ({x} / {scale}).square().mean(-1).clamp(max=1.0)", "little {meaning}"),
    "effort": ("-{weight} * {x}.square().mean(-1)", "little effort"),
    "smoothness": ("-{weight} * ({x} - {before}).square().mean(-1)", "smooth actions"),
    # Survival, (N,).
    "kept": ("{weight} * {x}.clamp(0.0, 1.0)", "that {meaning}"),
    "alive": ("{weight} * torch.ones_like({x})", "not ending the episode early"),
}
"""Name to an expression of an input, its value one control step earlier and constants; and the encouraged behaviour."""


@dataclass(frozen=True)
class Term:
    """One component of a reward: its name, a comment, and a weighted expression of inputs and constants."""

    name: str
    says: str
    expression: str
    constants: dict[str, float]

    @property
    def weight(self) -> float:
        """The factor of the whole term."""
        return self.constants[f"{self.name}_weight"]

    def weighing(self, weight: float) -> Term:
        """The same term with another weight."""
        return replace(self, constants=self.constants | {f"{self.name}_weight": weight})


Reward = tuple[Term, ...]


def make_term(name: str, shape: str, x: str, meaning: str, weight: float, **constants: float) -> Term:
    """Build a term of a shape on an input `x`, such as `velocity[:, 0]`, with a meaning."""
    template, says = SHAPES[shape]
    values = {f"{name}_{role}": value for role, value in {"weight": weight, **constants}.items()}
    names = dict(zip(("weight", *constants), values, strict=True))
    before = re.sub(r"(?<![\w.])([^\W\d]\w*)(?![\w=])", r"prev_\1", x)
    expression = ast.unparse(ast.parse(template.format(x=x, before=before, **names), mode="eval"))
    return Term(name, says.format(meaning=meaning), expression, values)


def render(reward: Reward, card: TaskCard) -> str:
    """The source of a reward in the reward contract, its inputs in the order of the card."""
    used = {name for term in reward for name in _names(term.expression)}
    constants = {name: value for term in reward for name, value in term.constants.items()}
    summary = f'"""Encourages {", ".join(term.says for term in reward)}."""'
    body = textwrap.wrap(summary, _WIDTH, break_on_hyphens=False)
    for term in reward:
        body += [f"# {term.says}", *_assigned(term)]
    lines = [
        "def compute_reward(",
        *(f"    {name}," for name in card.input_names() if name in used),
        "    *,",
        *(f"    {name}: float = {value!r}," for name, value in constants.items()),
        "):",
        *(f"    {line}" for line in body),
        "    return {",
        *(f'        "{term.name}": {term.name},' for term in reward),
        "    }",
    ]
    return "\n".join(lines) + "\n"


def _assigned(term: Term) -> list[str]:
    line = f"{term.name} = {term.expression}"
    weight, _, factor = term.expression.partition(" * ")
    return [line] if len(line) <= _WIDTH else [f"{term.name} = (", f"    {weight}", f"    * {factor}", ")"]


def parse(source: str, card: TaskCard) -> Reward | None:
    """Read the terms of a reward; None if another hand wrote it in another form."""
    try:
        (function,) = ast.parse(source).body
        terms = _terms(function, source) if isinstance(function, ast.FunctionDef) else ()
    except (SyntaxError, ValueError, TypeError):
        return None
    inputs = {*card.input_names(), "torch"}
    sound = all(_names(term.expression) <= inputs | term.constants.keys() for term in terms)
    return terms if terms and sound else None


def _terms(function: ast.FunctionDef, source: str) -> Reward:
    arguments = zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True)
    defaults = {argument.arg: float(ast.literal_eval(default)) for argument, default in arguments if default}
    comments = {name: says for says, name in re.findall(r"^    # (.*)\n    (\w+) = ", source, re.MULTILINE)}
    *statements, last = [ast.unparse(node) for node in function.body if not isinstance(node, ast.Expr)]
    terms: list[Term] = []
    for statement in statements:
        name, _, expression = statement.partition(" = ")
        names = _names(expression)
        constants = {constant: value for constant, value in defaults.items() if constant in names}
        terms.append(Term(name, comments.get(name, name), expression, constants))
    weighted = all(f"{term.name}_weight" in term.constants for term in terms)
    returned = ", ".join(f"'{term.name}': {term.name}" for term in terms)
    return tuple(terms) if weighted and last == f"return {{{returned}}}" else ()


def _names(expression: str) -> set[str]:
    return {node.id for node in ast.walk(ast.parse(expression, mode="eval")) if isinstance(node, ast.Name)}
