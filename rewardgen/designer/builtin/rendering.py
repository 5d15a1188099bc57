"""From a genome to Python: the canonical source of a reward, as a careful engineer would write it."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence

from rewardgen.designer.builtin.genome import Factor, Genome, Term, TermInput
from rewardgen.designer.builtin.shapes import SHAPES
from rewardgen.store.records import TaskCard, VariableCard

GATE_FLOOR = "0.2 + 0.8 * "
"""A closed gate leaves a fifth, so that a policy that has lost its posture is still told which way progress lies."""

WIDTH = 110

_EXPLANATION = re.compile(r"(?: in)? ?[,;:(\[]| - |\. ")
"""Where a meaning ends and its explanation begins."""


def render(genome: Genome, card: TaskCard) -> str:
    """The source of a reward in the reward contract.

    Args:
        genome: The terms.
        card: The task whose variables they read, for the order of inputs, units and meanings.
    """
    lines = [*_signature(genome, card), *_docstring(genome, card)]
    lines += [f"    {name} = {_alias_expression(name, reading, card)}" for name, reading in _aliases(genome, card)]
    for gate in gates(genome):
        lines += [f"    # 1 with {phrase(gate, card)}, falling toward 0.2 without", *_gate_line(gate, card)]
    for term in genome.terms:
        lines += [f"    # {_comment(term, card)}", *_term_line(term, card)]
    returned = ", ".join(f'"{name}": {name}' for name in genome.names)
    lines += _broken("    return {", returned, "}")
    return "\n".join(lines) + "\n"


def gates(genome: Genome) -> tuple[Factor, ...]:
    """The gates of all terms, each once, in order."""
    return tuple({gate.name: gate for term in genome.terms for gate in term.gates}.values())


def tunables(genome: Genome) -> dict[str, float]:
    """Every tunable constant with its default, in the order of the signature."""
    found: dict[str, float] = {}
    for term in genome.terms:
        found[f"{term.name}_weight"] = term.weight
        found |= {f"{term.name}_{role}": value for role, value in term.factor.constants}
    for gate in gates(genome):
        found |= {f"{gate.name}_{role}": value for role, value in gate.constants}
    return found


def phrase(factor: Factor, card: TaskCard) -> str:
    """What a factor encourages, in words: "more forward speed of the torso"."""
    return SHAPES[factor.shape].says.format(what=meaning(factor.reading, card))


def meaning(reading: TermInput, card: TaskCard) -> str:
    """What a reading is, in the card's words, without the explanations that follow a comma or bracket."""
    if reading.variable == "action":
        return "action"
    variable = variable_of(card, reading.variable)
    clause = _EXPLANATION.split(" ".join(variable.meaning.split()))[0]
    words = re.sub(r"^1 (?:while|when|if) ", "", clause).rstrip(".") or variable.name.replace("_", " ")
    if reading.part is not None:
        words = f"{words} ({variable.parts[reading.part]})"
    if reading.form in ("gap", "gap_norm"):
        words = f"distance of {words} to {meaning(TermInput(reading.other), card)}"
    return f"length of {words}" if reading.form == "norm" else words


def variable_of(card: TaskCard, name: str) -> VariableCard:
    """The card of a variable by name."""
    return next(variable for variable in card.variables if variable.name == name)


def local_name(reading: TermInput, card: TaskCard) -> str:
    """The name under which the source uses a reading."""
    if reading.part is not None:
        return f"{reading.variable}_{_identifier(variable_of(card, reading.variable).parts[reading.part])}"
    if reading.form in ("gap", "gap_norm"):
        return f"{reading.variable}_to_{reading.other}"
    return f"{reading.variable}_norm" if reading.form == "norm" else reading.variable


def _identifier(words: str) -> str:
    kept = "".join(letter if letter.isalnum() else "_" for letter in words.lower())
    return "_".join(part for part in kept.split("_") if part)


def _signature(genome: Genome, card: TaskCard) -> Iterator[str]:
    yield "def compute_reward("
    yield from (f"    {name}," for name in inputs(genome, card))
    yield "    *,"
    yield from (f"    {name}: float = {value!r}," for name, value in tunables(genome).items())
    yield "):"


def inputs(genome: Genome, card: TaskCard) -> tuple[str, ...]:
    """The inputs that a reward reads, in the card's order."""
    read: set[str] = set()
    for factor in _factors(genome):
        names = {factor.reading.variable, factor.reading.other} - {""}
        read |= names
        if "{before}" in SHAPES[factor.shape].template:
            read |= {f"prev_{name}" for name in names}
    return tuple(name for name in card.input_names() if name in read)


def _factors(genome: Genome) -> tuple[Factor, ...]:
    return (*(term.factor for term in genome.terms), *gates(genome))


def _docstring(genome: Genome, card: TaskCard) -> list[str]:
    text = f'"""{_summary(genome, card)}"""'
    return textwrap.wrap(text, WIDTH, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False)


def _summary(genome: Genome, card: TaskCard) -> str:
    rewarded = [phrase(t.factor, card) for t in genome.terms if not SHAPES[t.factor.shape].penalty]
    priced = [phrase(t.factor, card) for t in genome.terms if SHAPES[t.factor.shape].penalty]
    first = f"Rewards {listed(rewarded)}" if rewarded else ""
    second = f"asks for {listed(priced)}" if priced else ""
    sentence = "; ".join(part for part in (first, second) if part)
    gated = [phrase(gate, card) for gate in gates(genome)]
    return f"{sentence[0].upper()}{sentence[1:]}" + (f". Gated by {listed(gated)}." if gated else ".")


def listed(phrases: Sequence[str]) -> str:
    """A list in words: "a, b and c"."""
    return " and ".join(part for part in (", ".join(phrases[:-1]), *phrases[-1:]) if part)


def _aliases(genome: Genome, card: TaskCard) -> list[tuple[str, TermInput]]:
    """The readings that get a line of their own: parts, lengths and distances."""
    found: dict[str, TermInput] = {}
    for factor in _factors(genome):
        reading = factor.reading
        name = local_name(reading, card)
        if name != reading.variable:
            found[name] = reading
            if "{before}" in SHAPES[factor.shape].template:
                found[f"prev_{name}"] = _before(reading)
    return list(found.items())


def _before(reading: TermInput) -> TermInput:
    other = f"prev_{reading.other}" if reading.other else ""
    return TermInput(f"prev_{reading.variable}", reading.part, reading.form, other)


def _alias_expression(name: str, reading: TermInput, card: TaskCard) -> str:
    if reading.part is not None:
        return f"{reading.variable}[:, {reading.part}]"
    if reading.form == "norm":
        return f"{reading.variable}.norm(dim=-1)"
    measure = "norm(dim=-1)" if reading.form == "gap_norm" else "abs()"
    return f"({reading.variable} - {reading.other}).{measure}"


def _expression(factor: Factor, card: TaskCard) -> str:
    name = local_name(factor.reading, card)
    constants = {role: f"{factor.name}_{role}" for role, _ in factor.constants}
    return SHAPES[factor.shape].template.format(x=name, before=f"prev_{name}", **constants)


def _comment(term: Term, card: TaskCard) -> str:
    unit = variable_of(card, term.factor.reading.variable).unit if term.factor.reading.variable != "action" else ""
    words = phrase(term.factor, card)
    shown = f" [{unit}]" if unit not in ("", "1") and "alive" not in term.factor.shape else ""
    return f"{words}{shown}, while its gate is open" if term.gates else f"{words}{shown}"


def _gate_line(gate: Factor, card: TaskCard) -> list[str]:
    return _assigned(gate.name, [f"{GATE_FLOOR}{_expression(gate, card)}"])


def _term_line(term: Term, card: TaskCard) -> list[str]:
    sign = "-" if SHAPES[term.factor.shape].penalty else ""
    return _assigned(
        term.name, [f"{sign}{term.name}_weight", _expression(term.factor, card), *(gate.name for gate in term.gates)]
    )


def _assigned(name: str, product: Sequence[str]) -> list[str]:
    line = f"    {name} = {' * '.join(product)}"
    if len(line) <= WIDTH:
        return [line]
    first, *others = product
    return [f"    {name} = (", f"        {first}", *(f"        * {factor}" for factor in others), "    )"]


def _broken(start: str, inside: str, end: str) -> list[str]:
    if len(start + inside + end) <= WIDTH:
        return [start + inside + end]
    return [start, *(f"        {part}," for part in inside.split(", ")), f"    {end}"]
