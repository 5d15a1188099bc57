"""What each operator of the built-in designer does to its parents."""

from __future__ import annotations

import asyncio

import pytest

from rewardgen.designer.builtin.designer import BuiltinDesigner
from rewardgen.designer.builtin.genome import distance
from rewardgen.designer.builtin.parsing import parse
from rewardgen.store.records import Candidate, Finding
from tests.designer.builtin_parts import component, designed, measured, parents, reacher_card, request, studied

HOPPER_SOURCE = '''
def compute_reward(x_velocity, healthy, action, *, gain: float = 1.0):
    """A reward by another hand."""
    return {"speed": gain * torch.tanh(x_velocity) ** 2, "alive": healthy * 0.5}
'''


def _genomes(card, operator, seed, count=1):
    found = parents(card, seed, count)
    child = parse(designed(request(card, operator, seed, parents=found)).source)
    assert child is not None
    return [parse(record.candidate.source) for record in found], child


def _rich_parent(card):
    """A parent with several terms, and its genome."""
    for seed in range(100):
        candidate = designed(request(card, seed=seed, candidate_id="g00-k1"))
        genome = parse(candidate.source)
        if genome and len(genome.terms) >= 4 and not any(term.gates for term in genome.terms):
            return candidate, genome
    raise AssertionError("no draft with four terms")


@pytest.mark.parametrize("seed", range(15))
def test_tune_changes_constants_only(seed):
    (parent,), child = _genomes(measured("hopper"), "tune", seed)
    assert child.structure == parent.structure
    assert child.names == parent.names
    assert child != parent


@pytest.mark.parametrize("seed", range(15))
def test_tune_keeps_weights_and_widths_positive(seed):
    _, child = _genomes(measured("hopper"), "tune", seed)
    for term in child.terms:
        assert term.weight > 0
        sizes = [
            value for role, value in term.factor.constants if role in ("temperature", "margin", "scale", "reference")
        ]
        assert all(value > 0 for value in sizes)


@pytest.mark.parametrize("seed", range(15))
def test_add_brings_exactly_one_term(seed):
    (parent,), child = _genomes(measured("hopper"), "add", seed)
    assert set(parent.terms) < set(child.terms)
    assert len(child.terms) == len(parent.terms) + 1


@pytest.mark.parametrize("seed", range(15))
def test_remove_drops_exactly_one_term_and_never_the_only_drive(seed):
    (parent,), child = _genomes(measured("hopper"), "remove", seed)
    assert set(child.terms) < set(parent.terms)
    assert len(child.terms) == len(parent.terms) - 1
    assert any(term.factor.input.variable in ("x_velocity", "x_position") for term in child.terms)


@pytest.mark.parametrize("seed", range(15))
def test_edit_changes_exactly_one_term(seed):
    (parent,), child = _genomes(measured("hopper"), "edit", seed)
    assert len(child.terms) == len(parent.terms)
    changed = [pair for pair in zip(parent.terms, child.terms, strict=True) if pair[0] != pair[1]]
    assert len(changed) == 1


@pytest.mark.parametrize("seed", range(15))
def test_crossover_has_terms_of_both_parents(seed):
    (one, other), child = _genomes(measured("humanoid"), "crossover", seed, 2)
    assert child.structure & one.structure
    assert child.structure & other.structure
    if other.structure - one.structure:
        assert child.structure & (other.structure - one.structure)


def test_explore_and_rewrite_leave_the_parents_structure():
    card = measured("humanoid")
    for operator in ("explore", "rewrite"):
        away = [distance(parent, child) for (parent,), child in (_genomes(card, operator, seed) for seed in range(8))]
        assert min(away) > 0.3


def test_rewrite_keeps_what_the_parent_is_about():
    for seed in range(8):
        (parent,), child = _genomes(measured("cartpole"), "rewrite", seed)
        assert parent.terms[0].factor.input.variable.startswith("pole_")
        assert child.terms[0].factor.input.variable.startswith("pole_")


def test_remove_prefers_a_term_that_speaks_against_the_fitness():
    card = measured("hopper")
    candidate, genome = _rich_parent(card)
    bad = genome.names[-2]
    points = {name: component(correlation=-0.9 if name == bad else 0.5) for name in genome.names}
    parent = studied(candidate, **points)
    removed = [
        set(genome.names) - set(parse(designed(request(card, "remove", seed, parents=(parent,))).source).names)
        for seed in range(20)
    ]
    assert removed.count({bad}) > 8


def test_tune_lowers_a_bonus_that_dominates_and_says_so():
    card = measured("hopper")
    candidate = designed(request(card, candidate_id="g00-k0"))
    before = parse(candidate.source).term("healthy_kept").weight
    points = {"healthy_kept": component(share=0.9), "x_velocity_progress": component(share=0.09)}
    lower = 0
    for seed in range(20):
        child = designed(request(card, "tune", seed, parents=(studied(candidate, **points),)))
        lower += parse(child.source).term("healthy_kept").weight < before
        assert "`healthy_kept` because it was 90% of the reward" in child.diagnosis
    assert lower >= 15


def test_a_small_cost_is_not_taken_for_dead():
    card = measured("hopper")
    candidate = designed(request(card, candidate_id="g00-k0"))
    parent = studied(candidate, effort=component(share=0.001))
    diagnoses = [designed(request(card, "tune", seed, parents=(parent,))).diagnosis for seed in range(10)]
    assert not [diagnosis for diagnosis in diagnoses if "absent" in diagnosis]


def test_a_failed_idea_is_not_proposed_again():
    card = measured("hopper")
    parent = parents(card, 1)
    first = designed(request(card, "add", 1, parents=parent))
    again = designed(
        request(card, "add", 1, parents=parent, failed_ideas=(f"g01-k1 (add): {first.diagnosis} -> -0.1",))
    )
    assert again.diagnosis != first.diagnosis


def test_a_parent_by_another_hand_leads_to_a_draft():
    card = measured("hopper")
    foreign = studied(Candidate(id="g00-k3", generation=0, operator="draft", source=HOPPER_SOURCE))
    child = designed(request(card, "edit", 2, parents=(foreign,)))
    assert child.operator == "edit"
    assert child.parents == ("g00-k3",)
    assert parse(child.source) is not None


def test_crossover_with_one_readable_parent_edits_that_one():
    card = measured("hopper")
    foreign = studied(Candidate(id="g00-k9", generation=0, operator="draft", source=HOPPER_SOURCE))
    readable = parents(card, 4)[0]
    child = parse(designed(request(card, "crossover", 4, parents=(foreign, readable))).source)
    assert len(set(child.terms) & set(parse(readable.candidate.source).terms)) >= len(child.terms) - 1


def test_repair_drops_the_component_that_was_rejected():
    card = reacher_card()
    candidate, genome = _rich_parent(measured("hopper"))
    card, bad = measured("hopper"), genome.names[1]
    finding = Finding(gate="probe", detector="dead-component", severity="reject", message="dead", component=bad)
    repaired = asyncio.run(BuiltinDesigner().repair(request(card), candidate, [finding]))
    assert repaired is not None
    assert parse(repaired.source).names == tuple(name for name in genome.names if name != bad)
    assert repaired.repairs == 1


def test_a_reward_that_ranks_episodes_wrongly_gets_a_component_more_and_keeps_the_others():
    candidate, genome = _rich_parent(measured("cartpole"))
    against = {"gate": "preference", "detector": "ranks-against-fitness", "severity": "reject", "message": "ranks 60 %"}
    finding = Finding.model_validate({**against, "component": genome.names[0]})
    repaired = asyncio.run(BuiltinDesigner().repair(request(measured("cartpole")), candidate, [finding]))
    assert repaired is not None
    assert set(parse(repaired.source).names) > set(genome.names)


def test_repair_gives_up_on_a_finding_without_a_component():
    candidate, _ = _rich_parent(measured("hopper"))
    finding = Finding(gate="duplicate", detector="duplicate", severity="reject", message="same as g00-k1")
    assert asyncio.run(BuiltinDesigner().repair(request(measured("hopper")), candidate, [finding])) is None
