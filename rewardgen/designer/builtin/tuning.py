"""The operator `tune`: the same terms with other constants."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping

from rewardgen.designer.builtin.change import Change
from rewardgen.designer.builtin.drafting import jittered
from rewardgen.designer.builtin.evidence import Evidence, blame, reason
from rewardgen.designer.builtin.genome import Factor, Genome, Term
from rewardgen.designer.builtin.ideas import rounded

_PLACES = ("target", "floor", "ceiling", "start")
"""Constants that are places on the axis of the reading; all others are positive sizes."""

_WIDTHS = ("temperature", "width", "margin", "rise", "drop", "scale", "reference", "step")


def tune(genome: Genome, evidence: Mapping[str, Evidence], rng: random.Random) -> Change:
    """Perturb constants: a few at random, and always those of components that training found dead or dominant.

    Args:
        genome: The parent.
        evidence: What training showed of its components.
        rng: Draws.
    """
    flagged = [name for name in genome.names if reason(evidence, name)]
    weights = [blame(evidence, name) for name in genome.names]
    chosen = set(flagged) | set(rng.choices(genome.names, weights=weights, k=rng.choice((1, 2, 3))))
    tuned = genome
    for name in (each for each in genome.names if each in chosen):
        tuned = tuned.with_term(name, _tuned_term(tuned.term(name), evidence.get(name), rng))
    if tuned == genome:
        first = genome.terms[0]
        tuned = genome.with_term(first.name, Term(first.factor, rounded(1.5 * first.weight), first.gates))
    return Change(tuned, *_told(genome, tuned, evidence))


def _tuned_term(term: Term, seen: Evidence | None, rng: random.Random) -> Term:
    gates = tuple(_tuned_factor(gate, 1.0, rng) if rng.random() < 0.4 else gate for gate in term.gates)
    push, widening = 1.0, 1.0
    if seen and seen.dead:
        push, widening = rng.uniform(1.5, 3.0), rng.uniform(1.5, 4.0)
    elif seen and seen.harmful:
        push = rng.uniform(0.2, 0.6)
    elif seen and seen.dominant:
        push = rng.uniform(0.3, 0.7)
    factor = term.factor
    if widening != 1.0 or (push == 1.0 and rng.random() < 0.5):
        factor = _tuned_factor(factor, widening, rng)
    return Term(factor, jittered(push * term.weight, 0.35, rng), gates)


def _tuned_factor(factor: Factor, widening: float, rng: random.Random) -> Factor:
    for role, value in factor.constants:
        if role in _PLACES:
            factor = factor.with_constant(role, _moved(value, _width(factor), rng))
        else:
            # A wider basin; for a scale that divides a penalty or a speed, a smaller one makes the term felt.
            towards = widening if role in ("temperature", "width", "margin") else 1.0 / widening
            factor = factor.with_constant(role, jittered(towards * value, 0.3, rng))
    return factor


def _moved(place: float, width: float, rng: random.Random) -> float:
    # 0 and +-1 come from the meaning of a variable (upright, centred), not from a measurement: they stay.
    return place if place in (0.0, 1.0, -1.0) else rounded(place + rng.gauss(0.0, 0.2) * width)


def _width(factor: Factor) -> float:
    for role, value in factor.constants:
        if role in _WIDTHS:
            return math.sqrt(value) if role == "temperature" else value
    return 0.2


def _told(before: Genome, after: Genome, evidence: Mapping[str, Evidence]) -> tuple[str, str]:
    changed = [term.name for term in after.terms if term != before.term(term.name)]
    reasons = [f"`{name}` because {reason(evidence, name)}" for name in changed if reason(evidence, name)]
    plain = [f"`{name}`" for name in changed if not reason(evidence, name)]
    diagnosis = f"The structure stays; other constants for {', '.join([*reasons, *plain])}."
    moves = [f"`{name}` weighs {before.term(name).weight:g} -> {after.term(name).weight:g}" for name in changed]
    return diagnosis, f"With {', '.join(moves)}, the balance between components shifts and fitness should not fall."
