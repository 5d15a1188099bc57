"""From a genome to Python: the canonical source of a reward, as a careful engineer would write it."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import replace

from rewardgen.designer.builtin.genome import Factor, Genome, InputForm, TermInput
from rewardgen.designer.builtin.shapes import SHAPES
from rewardgen.store.records import TaskCard, VariableCard

GATE_FLOOR = "0.2 + 0.8 * "
"""A closed gate leaves a fifth, so that a policy that has lost its posture is still told which way progress lies."""

INPUT_FORMS: Mapping[InputForm, str] = {
    "value": "{variable}[:, {part}]",
    "norm": "{variable}.norm(dim=-1)",
    "gap_norm": "({variable} - {other}).norm(dim=-1)",
    "gap": "({variable} - {other}).abs()",
}
"""What gets a line of its own before the terms, by the form of a `TermInput`; of the values only parts."""

WIDTH = 110

_EXPLANATION = re.compile(r"(?: in)? ?[,;:(\[]| - |\. ")
"""Where a meaning ends and its explanation begins."""


def render(genome: Genome, card: TaskCard) -> str:
    """The source of a reward in the reward contract.

    Args:
        genome: The terms.
        card: The task whose variables they read, for the order of inputs, units and meanings.
    """
    inputs: set[str] = set()
    aliases: dict[str, TermInput] = {}
    tunables: dict[str, float] = {}
    for term in genome.terms:
        tunables[f"{term.name}_weight"] = term.weight
        tunables |= {f"{term.name}_{role}": value for role, value in term.factor.constants}
    for gate in genome.gates:
        tunables |= {f"{gate.name}_{role}": value for role, value in gate.constants}
    for factor in genome.factors:
        read, name = factor.input, local_name(factor.input, card)
        before = replace(read, variable=f"prev_{read.variable}", other=read.other and f"prev_{read.other}")
        changes = "{before}" in SHAPES[factor.shape].template
        inputs |= {read.variable, read.other, *((before.variable, before.other) if changes else ())}
        if name != read.variable:
            aliases |= {name: read, f"prev_{name}": before} if changes else {name: read}
    lines = ["def compute_reward(", *(f"    {name}," for name in card.input_names() if name in inputs), "    *,"]
    lines += [*(f"    {name}: float = {value!r}," for name, value in tunables.items()), "):"]
    lines += textwrap.wrap(
        f'"""{_summary(genome, card)}"""',
        WIDTH,
        initial_indent="    ",
        subsequent_indent="    ",
        break_on_hyphens=False,
    )
    for name, read in aliases.items():
        expression = INPUT_FORMS[read.form].format(variable=read.variable, part=read.part, other=read.other)
        lines.append(f"    {name} = {expression}")
    for gate in genome.gates:
        lines.append(f"    # 1 with {phrase(gate, card)}, falling toward 0.2 without")
        lines += _assigned(gate.name, [GATE_FLOOR + _expression(gate, card)])
    for term in genome.terms:
        factor, variable = term.factor, term.factor.input.variable
        unit = "" if variable == "action" or factor.shape == "alive" else variable_of(card, variable).unit
        shown = f" [{unit}]" if unit not in ("", "1") else ""
        lines.append(f"    # {phrase(factor, card)}{shown}{', while its gate is open' if term.gates else ''}")
        weight = f"{'-' if SHAPES[factor.shape].penalty else ''}{term.name}_weight"
        lines += _assigned(term.name, [weight, _expression(factor, card), *(gate.name for gate in term.gates)])
    returned = [f'"{name}": {name}' for name in genome.names]
    whole = f"    return {{{', '.join(returned)}}}"
    lines += [whole] if len(whole) <= WIDTH else ["    return {", *(f"        {each}," for each in returned), "    }"]
    return "\n".join(lines) + "\n"


def _summary(genome: Genome, card: TaskCard) -> str:
    told: dict[bool, list[str]] = {False: [], True: []}
    for term in genome.terms:
        told[SHAPES[term.factor.shape].penalty].append(phrase(term.factor, card))
    rewarded = f"Rewards {listed(told[False])}" if told[False] else ""
    priced = f"asks for {listed(told[True])}" if told[True] else ""
    sentence = "; ".join(part for part in (rewarded, priced) if part)
    gated = [phrase(gate, card) for gate in genome.gates]
    return f"{sentence[0].upper()}{sentence[1:]}" + (f". Gated by {listed(gated)}." if gated else ".")


def _expression(factor: Factor, card: TaskCard) -> str:
    name = local_name(factor.input, card)
    constants = {role: f"{factor.name}_{role}" for role, _ in factor.constants}
    return SHAPES[factor.shape].template.format(x=name, before=f"prev_{name}", **constants)


def _assigned(name: str, product: Sequence[str]) -> list[str]:
    line = f"    {name} = {' * '.join(product)}"
    if len(line) <= WIDTH:
        return [line]
    first, *others = product
    return [f"    {name} = (", f"        {first}", *(f"        * {factor}" for factor in others), "    )"]


def phrase(factor: Factor, card: TaskCard) -> str:
    """What a factor encourages, in words: "more forward speed of the torso"."""
    return SHAPES[factor.shape].says.format(what=_meaning(factor.input, card))


def _meaning(read: TermInput, card: TaskCard) -> str:
    """What an input is, in the card's words, without the explanations that follow a comma or bracket."""
    if read.variable == "action":
        return "action"
    variable = variable_of(card, read.variable)
    clause = _EXPLANATION.split(" ".join(variable.meaning.split()))[0]
    words = re.sub(r"^1 (?:while|when|if) ", "", clause).rstrip(".") or variable.name.replace("_", " ")
    if read.part is not None:
        words = f"{words} ({variable.parts[read.part]})"
    if read.other:
        words = f"distance of {words} to {_meaning(TermInput(read.other), card)}"
    return f"length of {words}" if read.form == "norm" else words


def variable_of(card: TaskCard, name: str) -> VariableCard:
    """The card of a variable by name."""
    return next(variable for variable in card.variables if variable.name == name)


def local_name(read: TermInput, card: TaskCard) -> str:
    """The name under which the source uses an input."""
    if read.part is not None:
        words = "".join(
            letter if letter.isalnum() else "_" for letter in variable_of(card, read.variable).parts[read.part].lower()
        )
        return f"{read.variable}_{'_'.join(part for part in words.split('_') if part)}"
    if read.other:
        return f"{read.variable}_to_{read.other}"
    return f"{read.variable}_norm" if read.form == "norm" else read.variable


def listed(phrases: Sequence[str]) -> str:
    """A list in words: "a, b and c"."""
    return " and ".join(part for part in (", ".join(phrases[:-1]), *phrases[-1:]) if part)
