"""The built-in designer as the search meets it: sound sources for any card, from words and ranges alone."""

from __future__ import annotations

import asyncio
import pathlib

import pytest
import torch

import rewardgen.designer.builtin as package
from rewardgen.designer.builtin.designer import BuiltinDesigner
from rewardgen.designer.builtin.ideas import features_of, ideas_on
from rewardgen.designer.builtin.terms import SHAPES, make_term, parse, render
from rewardgen.reward.identity import source_fingerprint
from rewardgen.reward.program import compile_reward
from rewardgen.reward.signature import read_signature
from rewardgen.store.records import Candidate, Finding
from tests.critic.reviews import review_source
from tests.designer.builtin_parts import (
    CARDS,
    KEPT,
    SHIPPED,
    bare_card,
    component,
    designed,
    measured,
    parents,
    reacher_card,
    request,
    studied,
)

OPERATORS = ("draft", "tune", "edit", "add", "remove", "rewrite", "crossover", "explore")
NAMES = [pytest.param(each, marks=[pytest.mark.slow] * (each in SHIPPED and each not in KEPT)) for each in CARDS]
FOREIGN = '''
def compute_reward(x_velocity, healthy, action, *, gain: float = 1.0):
    """A reward by another hand."""
    return {"speed": gain * torch.tanh(x_velocity) ** 2, "alive": healthy * 0.5}
'''


def _candidate(card, operator, seed):
    count = {"draft": 0, "crossover": 2}.get(operator, 1)
    return designed(request(card, operator, seed, parents=parents(card, seed, count)))


def _terms(candidate, card):
    """The terms of a source by name."""
    reward = parse(candidate.source, card)
    assert reward is not None, candidate.source
    return {term.name: term for term in reward}


def _wild_inputs(card, num_envs=16):
    """Far outside anything measured, as a diverging simulation gives."""
    generator = torch.Generator().manual_seed(0)
    shapes = {variable.name: variable.shape for variable in card.variables} | {"action": (card.action_size,)}
    values = {name: torch.randn(num_envs, *shape, generator=generator) * 1e4 for name, shape in shapes.items()}
    return values | {f"prev_{name}": value * 0.5 for name, value in values.items()}


@pytest.mark.parametrize("name", NAMES)
def test_every_source_passes_the_gates_and_reads_back(name):
    card = CARDS[name]()
    for seed, operator in enumerate(OPERATORS):
        candidate = _candidate(card, operator, seed)
        source = candidate.source
        assert not [finding for finding in review_source(candidate, card) if finding.severity == "reject"], source
        assert set(read_signature(source).inputs) <= set(card.input_names())
        assert render(tuple(_terms(candidate, card).values()), card) == source


@pytest.mark.parametrize("name", NAMES)
def test_components_stay_finite_on_wild_states(name):
    card = CARDS[name]()
    inputs = _wild_inputs(card)
    for seed in range(12):
        program = compile_reward(_candidate(card, "draft", seed).source)
        components = program({name: inputs[name] for name in program.inputs})
        assert all(value.shape == (16,) and value.isfinite().all() for value in components.values())


@pytest.mark.parametrize("name", NAMES[3:])
def test_drafts_are_of_order_one_per_step_on_measured_states(name):
    card = measured(name)
    rows = {variable.name: [variable.minimum, variable.median, variable.maximum] for variable in card.variables}
    inputs = {name: torch.tensor(values) for name, values in rows.items()}
    inputs = {name: value if value.shape[1] > 1 else value.squeeze(-1) for name, value in inputs.items()}
    inputs["action"] = torch.tensor([card.action_low, [0.0] * card.action_size, card.action_high])
    inputs |= {f"prev_{name}": 0.5 * value for name, value in inputs.items()}
    for seed in range(12):
        program = compile_reward(_candidate(card, "draft", seed).source)
        components = program({name: inputs[name] for name in program.inputs})
        assert all(value.abs().max() <= 12.0 for value in components.values())
        assert sum(components.values()).abs().max() > 0.01


def test_the_same_request_gives_the_same_candidate_and_another_seed_another():
    card = reacher_card()
    for operator in OPERATORS:
        assert _candidate(card, operator, 3) == _candidate(card, operator, 3)
    for name in ("point", "reacher", "cartpole", "hopper"):
        drafts = [_candidate(CARDS[name](), "draft", seed).source for seed in range(6)]
        assert len(set(map(source_fingerprint, drafts))) == 6


def test_neither_a_task_nor_its_fitness_is_known():
    card = measured("hopper")
    changes = {"name": "x", "reference": "x", "fitness": "Backward speed.", "fingerprint": "0" * 16}
    for seed in range(6):
        renamed = _candidate(card.model_copy(update=changes), "draft", seed)
        assert _candidate(card, "draft", seed).source == renamed.source
    text = "\n".join(path.read_text() for path in pathlib.Path(package.__path__[0]).glob("*.py"))
    assert not [name for name in (*SHIPPED, "human_reward", "sparse_reward", ".fitness)") if f"{name}_" in text]


@pytest.mark.parametrize(
    ("name", "goal", "components"),
    [
        ("hopper", "", {"x_velocity_progress", "healthy_kept", "effort"}),
        ("hopper", "hop backwards", {"x_velocity_reverse"}),
        ("hopper", "jump as high as possible", {"height_raised"}),
        ("hopper", "do a backflip", {"pitch_velocity_progress"}),
        ("hopper", "stand still without moving", {"pitch_near"}),
        ("cartpole", "", {"pole_upright_aligned", "effort"}),
        ("reacher", "", {"fingertip_to_target_close", "fingertip_to_target_fine", "effort"}),
    ],
)
def test_the_first_draft_rewards_what_the_words_ask_for(name, goal, components):
    card = CARDS[name]()
    candidate = designed(request(card, goal=goal, candidate_id="g00-k0"))
    assert components <= _terms(candidate, card).keys()


def test_no_bonus_for_staying_alive_where_nothing_ends_an_episode_or_success_does():
    for card in (reacher_card(), measured("hopper").model_copy(update={"success_terminates": True})):
        assert not [idea for idea in ideas_on(card).values() if idea.role == "alive"]


def test_survival_is_worth_little_where_even_random_policies_survive():
    def with_survivors(share):
        endings = {"time limit": share, "torso too low": 1.0 - share}
        probes = [probe.model_copy(update={"terminations": endings}) for probe in measured("hopper").probes]
        return measured("hopper").model_copy(update={"probes": tuple(probes)})

    priors = [ideas_on(with_survivors(share))["healthy_kept"].prior for share in (0.0, 1.0)]
    assert priors[0] > 0.9 > 0.3 > priors[1]


def test_without_a_word_on_the_task_drafts_try_different_signs_and_targets():
    firsts = {next(iter(_terms(_candidate(bare_card(), "draft", seed), bare_card()))) for seed in range(24)}
    assert len(firsts) >= 3


def test_nothing_is_paid_for_where_a_target_lies_but_for_the_way_to_it():
    card = reacher_card()
    variables = [
        variable.model_copy(update={"fixed_at_start": (True, True)} if variable.name == "target" else {})
        for variable in card.variables
    ]
    names = ideas_on(reacher_card(variables=tuple(variables)))
    assert any(name.startswith("target_") for name in ideas_on(card)), "or nothing is tested"
    assert not [name for name in names if name.startswith("target_")]
    assert "fingertip_to_target_close" in names


# Feature.


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("x", ["fingertip[:, 1]", "fingertip.norm(dim=-1)", "(fingertip - target).norm(dim=-1)"])
def test_every_shape_of_every_input_survives_rendering_and_reading_back(shape, x):
    roles = ("reference", "target", "temperature", "width", "floor", "margin", "start", "rise", "step", "scale")
    constants = {role: 0.5 for role in roles if f"{{{role}}}" in SHAPES[shape][0]}
    term = make_term("it", shape, x, "a thing", 0.3, **constants)
    source = render((term,), reacher_card())
    assert parse(source, reacher_card()) == (term,)
    assert ("prev_fingertip" in source) == ("{before}" in SHAPES[shape][0])


@pytest.mark.parametrize(
    "source",
    [
        "",
        "def compute_reward(:",
        "x = 1\n",
        "def compute_reward(height, *, a: float = 1.0):\n    return {'a': a * height}\n",
        "def compute_reward(height):\n    a = a_weight * height.clamp(0.0, 1.0)\n    return {'a': a}\n",
        "def compute_reward(height, *, a_weight: float = 1.0):\n    a = a_weight * depth\n    return {'a': a}\n",
        "def compute_reward(height, *, a_weight: float = 1.0):\n    for a in height:\n        pass\n    return {}\n",
    ],
)
def test_a_source_in_another_form_is_not_read(source):
    assert parse(source, measured("hopper")) is None


@pytest.mark.parametrize(
    ("meaning", "value"),
    [
        ("cosine of the angle: 1 upright, 0 horizontal, -1 hanging", 1.0),
        ("angle in (-pi, pi]: 0 upright, +-pi hanging", 0.0),
        ("height above the ground; 1.25 standing straight", 1.25),
        ("tilt, zero when the torso is upright", 0.0),
        ("speed of the cart", None),
    ],
)
def test_the_value_of_a_wanted_state_is_read_from_a_meaning(meaning, value):
    variable = reacher_card().variables[0].model_copy(update={"meaning": meaning, "shape": (), "parts": ()})
    assert features_of(reacher_card(variables=(variable,)))[0].wanted == value


# Operators.


def _rich_parent(card):
    """A parent with several terms, and the names of them."""
    for seed in range(100):
        candidate = designed(request(card, seed=seed, candidate_id="g00-k1"))
        if len(names := list(_terms(candidate, card))) >= 4:
            return candidate, names
    raise AssertionError("no draft with four terms")


@pytest.mark.parametrize("seed", range(3))
def test_each_operator_changes_its_part_of_a_parent(seed):
    card = measured("hopper")
    child, kept = {}, {}
    parent = _terms(parents(card, seed)[0].candidate, card)
    for operator in ("tune", "add", "remove", "edit"):
        child[operator] = _terms(_candidate(card, operator, seed), card)
        kept[operator] = [name for name in parent if child[operator].get(name) == parent[name]]
    assert list(child["tune"]) == list(parent) and len(kept["tune"]) < len(parent)
    assert [term.expression for term in child["tune"].values()] == [term.expression for term in parent.values()]
    assert all(term.weight > 0 for term in child["tune"].values())
    assert len(child["add"]) == len(parent) + 1 and kept["add"] == list(parent)
    assert len(child["remove"]) == len(parent) - 1 and len(kept["remove"]) == len(parent) - 1
    assert any(name.startswith(("x_velocity", "x_position")) for name in child["remove"]), "the only drive stays"
    assert len(child["edit"]) == len(parent) and len(kept["edit"]) < len(parent)


@pytest.mark.parametrize("seed", range(3))
def test_crossover_has_terms_of_both_parents(seed):
    card = measured("ant")
    one, other = (_terms(record.candidate, card).keys() for record in parents(card, seed, 2))
    child = _terms(_candidate(card, "crossover", seed), card).keys()
    assert child <= one | other
    assert child & one and (child & (other - one) or not other - one)


def test_explore_leaves_the_parent_and_rewrite_keeps_its_aim():
    card = measured("cartpole")
    for seed in range(8):
        parent = _terms(parents(card, seed)[0].candidate, card)
        explored, rewritten = (_terms(_candidate(card, operator, seed), card) for operator in ("explore", "rewrite"))
        assert len(explored.keys() & parent.keys()) < len(explored)
        assert next(iter(rewritten)).startswith("pole_")


def test_remove_prefers_a_term_that_speaks_against_the_fitness():
    card = measured("hopper")
    candidate, names = _rich_parent(card)
    points = {name: component(correlation=-0.9 if name == names[-2] else 0.5) for name in names}
    parent = studied(candidate, **points)
    removed = [
        set(names) - _terms(designed(request(card, "remove", seed, parents=(parent,))), card).keys()
        for seed in range(20)
    ]
    assert removed.count({names[-2]}) > 8


def test_tune_lowers_a_bonus_that_dominates_and_says_so():
    card = measured("hopper")
    candidate = designed(request(card, candidate_id="g00-k0"))
    points = {"healthy_kept": component(share=0.9), "x_velocity_progress": component(share=0.09)}
    points["effort"] = component(share=0.001)
    lower = 0
    for seed in range(20):
        child = designed(request(card, "tune", seed, parents=(studied(candidate, **points),)))
        lower += _terms(child, card)["healthy_kept"].weight < _terms(candidate, card)["healthy_kept"].weight
        assert "`healthy_kept` because it was 90% of the reward" in child.diagnosis
        assert "absent" not in child.diagnosis, "a cost is meant to be small"
    assert lower >= 15


def test_a_failed_idea_is_not_proposed_again():
    card = measured("hopper")
    parent = parents(card, 1)
    first = designed(request(card, "add", 1, parents=parent))
    failed = f"g01-k1 (add): {first.diagnosis} -> -0.1"
    assert designed(request(card, "add", 1, parents=parent, failed_ideas=(failed,))).diagnosis != first.diagnosis


def test_a_parent_by_another_hand_is_left_aside():
    card = measured("hopper")
    foreign = studied(Candidate(id="g00-k3", generation=0, operator="draft", source=FOREIGN))
    child = designed(request(card, "edit", 2, parents=(foreign,)))
    assert (child.operator, child.parents) == ("edit", ("g00-k3",))
    readable = parents(card, 4)[0]
    child = designed(request(card, "crossover", 4, parents=(foreign, readable)))
    assert _terms(child, card).keys() & _terms(readable.candidate, card).keys()


def _repaired(card, candidate, gate, component=None):
    finding = Finding(gate=gate, detector="x", severity="reject", message="wrong", component=component)
    return asyncio.run(BuiltinDesigner().repair(request(card), candidate, [finding]))


def test_repair_drops_a_rejected_component_adds_one_for_a_wrong_ranking_and_else_gives_up():
    card = measured("hopper")
    candidate, names = _rich_parent(card)
    repaired = _repaired(card, candidate, "probe", names[1])
    assert repaired is not None and repaired.repairs == 1
    assert list(_terms(repaired, card)) == [name for name in names if name != names[1]]
    ranked = _repaired(card, candidate, "preference", names[0])
    assert ranked is not None and _terms(ranked, card).keys() > set(names)
    assert _repaired(card, candidate, "duplicate") is None
