"""The built-in designer as the search meets it: sound sources for any card, from words and ranges alone."""

from __future__ import annotations

import pathlib
import random
from dataclasses import fields

import pytest
import torch

import rewardgen.designer.builtin as package
from rewardgen.critic.static.detectors import find_suspicions
from rewardgen.designer.builtin.drafting import Style, style_of
from rewardgen.designer.builtin.parsing import parse
from rewardgen.designer.builtin.rendering import render
from rewardgen.reward.identity import source_fingerprint
from rewardgen.reward.program import compile_reward
from rewardgen.reward.signature import read_signature
from rewardgen.search.strategy import LENSES
from tests.critic.reviews import review_source
from tests.designer.builtin_parts import (
    CARDS,
    SHIPPED,
    bare_card,
    designed,
    measured,
    parents,
    reacher_card,
    request,
)

OPERATORS = ("draft", "tune", "edit", "add", "remove", "rewrite", "crossover", "explore")


def _candidate(card, operator, seed):
    count = {"draft": 0, "crossover": 2}.get(operator, 1)
    return designed(request(card, operator, seed, parents=parents(card, seed, count)))


def _wild_inputs(card, num_envs=16):
    """Far outside anything measured, as a diverging simulation gives."""
    generator = torch.Generator().manual_seed(0)
    shapes = {variable.name: variable.shape for variable in card.variables} | {"action": (card.action_size,)}
    values = {name: torch.randn(num_envs, *shape, generator=generator) * 1e4 for name, shape in shapes.items()}
    return values | {f"prev_{name}": value * 0.5 for name, value in values.items()}


@pytest.mark.parametrize("name", CARDS)
@pytest.mark.parametrize("operator", OPERATORS)
def test_every_source_passes_the_gates_and_reads_back(name, operator):
    card = CARDS[name]()
    for seed in range(12 if operator == "draft" else 6):
        candidate = _candidate(card, operator, seed)
        source = candidate.source
        assert not [each for each in review_source(candidate, card) if each.severity == "reject"], source
        assert set(read_signature(source).inputs) <= set(card.input_names())
        genome = parse(source)
        assert genome is not None and render(genome, card) == source


@pytest.mark.parametrize("name", CARDS)
def test_components_stay_finite_on_wild_states(name):
    card = CARDS[name]()
    inputs = _wild_inputs(card)
    for seed in range(12):
        program = compile_reward(_candidate(card, "draft", seed).source)
        components = program({each: inputs[each] for each in program.inputs})
        assert all(value.shape == (16,) and value.isfinite().all() for value in components.values())


@pytest.mark.parametrize("name", SHIPPED)
def test_drafts_are_of_order_one_per_step_on_measured_states(name):
    card = measured(name)
    inputs = {
        variable.name: torch.tensor([variable.minimum, variable.median, variable.maximum]).squeeze(-1)
        if not variable.shape
        else torch.tensor([variable.minimum, variable.median, variable.maximum])
        for variable in card.variables
    } | {"action": torch.tensor([card.action_low, [0.0] * card.action_size, card.action_high])}
    inputs |= {f"prev_{each}": value for each, value in inputs.items()}
    for seed in range(12):
        program = compile_reward(_candidate(card, "draft", seed).source)
        components = program({each: inputs[each] for each in program.inputs})
        assert all(value.abs().max() <= 12.0 for value in components.values())
        assert sum(components.values()).abs().max() > 0.01


@pytest.mark.parametrize("name", SHIPPED)
def test_the_critic_suspects_nothing_in_drafts_for_shipped_tasks(name):
    for seed in range(12):
        source = _candidate(measured(name), "draft", seed).source
        assert find_suspicions(source, measured(name)) == (), source


@pytest.mark.parametrize("operator", OPERATORS)
def test_the_same_brief_gives_the_same_candidate(operator):
    card = reacher_card()
    assert _candidate(card, operator, 3) == _candidate(card, operator, 3)


@pytest.mark.parametrize("name", ["point", "reacher", "cartpole", "hopper"])
def test_the_drafts_of_a_generation_differ(name):
    card = CARDS[name]()
    for first in (0, 50):
        drafts = [designed(request(card, seed=first + each, candidate_id=f"g00-k{each}")) for each in range(6)]
        assert len({source_fingerprint(draft.source) for draft in drafts}) == 6
        assert len({parse(draft.source).structure for draft in drafts}) >= 3


def test_neither_the_task_name_nor_its_fitness_is_read():
    card = measured("hopper")
    renamed = card.model_copy(
        update={"name": "x", "reference": "x", "fitness": "Backward speed.", "fingerprint": "0" * 16}
    )
    for seed in range(6):
        assert _candidate(card, "draft", seed).source == _candidate(renamed, "draft", seed).source


def test_the_package_names_no_shipped_task_and_no_reward_of_a_task():
    text = "\n".join(path.read_text() for path in pathlib.Path(package.__path__[0]).glob("*.py"))
    forbidden = (
        "cartpole",
        "hopper",
        "cheetah",
        "humanoid",
        "walker2d",
        "ant_",
        "human_reward",
        "sparse_reward",
        ".fitness)",
    )
    assert not [word for word in forbidden if word in text]


def test_a_hopper_is_first_asked_to_go_forward_and_stay_healthy():
    source = designed(request(measured("hopper"), candidate_id="g00-k0")).source
    genome = parse(source)
    assert genome is not None
    shapes = {(term.factor.shape, term.factor.input.variable) for term in genome.terms}
    assert shapes == {("progress", "x_velocity"), ("holds", "healthy"), ("effort", "action")}


def test_most_drafts_for_the_swing_up_reward_an_upright_pole_from_hanging_on():
    card = measured("cartpole")
    hanging = {
        "cart_position": 0.0,
        "cart_velocity": 0.0,
        "pole_angle": 3.14,
        "pole_upright": -1.0,
        "pole_velocity": 0.0,
    }
    raised = hanging | {"pole_angle": 1.57, "pole_upright": 0.0}
    upright = hanging | {"pole_angle": 0.0, "pole_upright": 1.0}
    sound = 0
    for seed in range(24):
        program = compile_reward(_candidate(card, "draft", seed).source)
        totals = [_total(program, card, state) for state in (hanging, raised, upright)]
        sound += totals[0] < totals[1] - 0.01 and totals[1] < totals[2] - 0.1
    assert sound >= 20


def _total(program, card, state):
    values = {name: torch.tensor([value]) for name, value in state.items()} | {
        "action": torch.zeros(1, card.action_size)
    }
    values |= {f"prev_{name}": value for name, value in values.items()}
    return sum(float(value) for value in program({each: values[each] for each in program.inputs}).values())


@pytest.mark.parametrize(
    ("goal", "variable", "shape"),
    [
        ("hop backwards", "x_velocity", "reverse"),
        ("jump as high as possible", "height", "raised"),
        ("do a backflip", "pitch_velocity", "progress"),
        ("stand still without moving", "pitch", "near"),
    ],
)
def test_the_users_goal_turns_the_task(goal, variable, shape):
    genome = parse(designed(request(measured("hopper"), goal=goal, candidate_id="g00-k0")).source)
    assert genome is not None
    first = genome.terms[0].factor
    assert (first.input.variable, first.shape) == (variable, shape)


def test_a_distance_between_two_points_is_found_and_rewarded_small():
    genome = parse(designed(request(reacher_card(), candidate_id="g00-k0")).source)
    assert genome is not None
    first = genome.terms[0].factor
    assert (first.shape, first.input.variable, first.input.other) == ("close", "fingertip", "target")


def test_no_bonus_for_staying_alive_where_nothing_ends_an_episode_or_success_does():
    for card in (reacher_card(), measured("hopper").model_copy(update={"success_terminates": True})):
        for seed in range(24):
            genome = parse(_candidate(card, "draft", seed).source)
            assert genome is not None
            assert not {"alive", "healthy_kept"} & set(genome.names)


def test_without_a_word_on_the_task_drafts_try_different_signs_and_targets():
    shapes = {parse(_candidate(bare_card(), "draft", seed).source).terms[0].factor.shape for seed in range(24)}
    assert len(shapes) >= 3


def test_a_named_precision_gives_a_term_of_that_width():
    card = reacher_card(success="The fingertip is within 2 cm of the target at the end.")
    genome = parse(designed(request(card, candidate_id="g00-k0")).source)
    assert genome is not None
    fine = genome.term("fingertip_to_target_near_fine").factor
    assert fine.constant("temperature") == pytest.approx(0.04**2)


def test_survival_is_worth_little_where_even_random_policies_survive():
    falls, lives = (_with_endings(measured("hopper"), share) for share in (0.0, 1.0))
    counts = [
        sum("healthy_kept" in parse(_candidate(card, "draft", seed).source).names for seed in range(24))
        for card in (falls, lives)
    ]
    assert counts[0] > 16 > 8 > counts[1]


def _with_endings(card, surviving):
    endings = {"time limit": surviving, "torso too low": 1.0 - surviving}
    probes = tuple(probe.model_copy(update={"terminations": endings}) for probe in card.probes)
    return card.model_copy(update={"probes": probes})


@pytest.mark.parametrize("style", [each.name for each in fields(Style) if each.name != "plain"])
def test_every_style_is_asked_for_by_a_lens(style):
    class Never(random.Random):
        def random(self):
            return 1.0

    asking = [lens for lens in LENSES if getattr(style_of(lens, Never()), style)]
    assert 0 < len(asking) < len(LENSES) / 2
