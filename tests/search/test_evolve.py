import pytest

from rewardgen.core.config import RunConfig
from rewardgen.core.errors import UsageError
from rewardgen.search.assembly import planned
from rewardgen.search.judge import FitnessJudge
from rewardgen.search.strategy import LENSES, Evolve, in_vain
from tests.builders import card, record
from tests.search.offspring import behind
from tests.search.parts import Crew, a_search

JUDGE = FitnessJudge()
MODEL = {"model": "openai/x"}


def plan(records, generation, candidates, seed):
    config = RunConfig(task="point", candidates=candidates, seed=seed)
    return Evolve(config, JUDGE).plan(records, generation)


def test_first_generation_is_drafts_with_different_lenses():
    slots = plan([], 0, 6, seed=0)
    assert [slot.operator for slot in slots] == ["draft"] * 6
    assert len({slot.lens for slot in slots}) == 6
    assert [slot.candidate_id for slot in slots] == [f"g00-k{k}" for k in range(6)]


def test_plan_is_the_same_for_the_same_history_and_differs_by_seed():
    records = [record("g00-k0", 1.0), record("g00-k1", 2.0)]
    assert plan(records, 1, 6, seed=4) == plan(records, 1, 6, seed=4)
    assert plan(records, 1, 6, seed=4) != plan(records, 1, 6, seed=5)


def test_best_of_the_whole_archive_is_a_parent_even_when_the_last_generation_was_worse():
    records = [record("g00-k0", 9.0, 9.0), record("g01-k0", 1.0, 1.0)]
    assert plan(records, 2, 6, seed=0)[0].parents == ("g00-k0",)


def test_without_any_trained_candidate_the_next_generation_is_drafts_again():
    assert {slot.operator for slot in plan([record("g00-k0")], 1, 4, seed=0)} == {"draft"}


def test_crossover_has_two_different_parents():
    records = [record(f"g00-k{k}", float(k)) for k in range(4)]
    crossed = [slot for seed in range(20) for slot in plan(records, 1, 6, seed) if slot.operator == "crossover"]
    assert crossed and all(len(set(slot.parents)) == 2 for slot in crossed)


def test_no_crossover_with_a_single_trained_candidate():
    assert "crossover" not in {slot.operator for slot in plan([record("g00-k0", 1.0)], 1, 6, seed=0)}


def test_stalled_search_explores_more():
    gaining = [record("g00-k0", 1.0, 1.0), record("g01-k0", 5.0, 5.0)]
    stalled = [record("g00-k0", 5.0, 5.0), record("g01-k0", 1.0, 1.0)]
    new = ("explore", "rewrite")
    count = [sum(slot.operator in new for slot in plan(each, 2, 6, seed=0)) for each in (gaining, stalled)]
    assert count[1] > count[0]


# The plateau.


def generation(index, *fitness, operators=("draft",), **changes):
    """Studies of one generation, one seed pair for each fitness."""
    return [
        record(f"g{index:02d}-k{k}", value, value, operator=operators[k % len(operators)], **changes)
        for k, value in enumerate(fitness)
    ]


FLAT = [*generation(0, 5.0, 4.0), *generation(1, 1.0, 1.0), *generation(2, 1.0, 1.0)]


@pytest.mark.parametrize("seed", range(5))
def test_plateau_of_two_generations_brings_a_fresh_draft_with_a_lens_of_its_own(seed):
    assert "draft" not in {slot.operator for slot in plan(FLAT[:4], 2, 6, seed)}
    drafts = [slot for slot in plan(FLAT, 3, 3, seed) if slot.operator == "draft"]
    assert drafts and all(slot.lens and not slot.parents for slot in drafts)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("candidates", [2, 5])
def test_no_lens_comes_again_before_all_others_had_their_turn(seed, candidates):
    records, given = [], []
    for number in range(16):
        slots = plan(records, number, candidates, seed)
        given += [slot.lens for slot in slots if slot.lens]
        # Nothing gains after the first generation: drafts, explorations and rewrites come in turn.
        records += [
            record(slot.candidate_id, 5.0 - number, operator=slot.operator, parents=slot.parents) for slot in slots
        ]
    assert len(given) > len(LENSES)
    for start in range(len(given)):
        together = given[start : start + len(LENSES)]
        assert len(set(together)) == len(together)


@pytest.mark.parametrize("seed", range(10))
def test_what_was_done_in_vain_is_not_done_to_the_same_parent_again(seed):
    best = record("g00-k0", 5.0, 5.0)
    tried = [
        behind(record(f"g01-k{k}", 1.0, 1.0, operator=each), "g00-k0") for k, each in enumerate(("explore", "rewrite"))
    ]
    slots = plan([best, *tried], 2, 6, seed)
    pairs = {(slot.operator, slot.parents) for slot in slots}
    assert not pairs & {("explore", ("g00-k0",)), ("rewrite", ("g00-k0",))}
    assert len(slots) == 6


def test_when_everything_was_tried_in_vain_the_next_is_a_draft():
    only = record("g00-k0", 5.0, 5.0)
    everything = ("tune", "edit", "add", "explore", "rewrite", "remove")
    tried = [behind(record(f"g01-k{k}", operator=each), "g00-k0") for k, each in enumerate(everything)]
    assert {slot.operator for slot in plan([only, *tried], 2, 4, seed=0)} == {"draft"}


def test_what_helped_may_be_done_again():
    parent, child = record("g00-k0", 5.0, 5.0), behind(record("g01-k0", 6.0, 6.0, operator="tune"), "g00-k0", delta=1.0)
    assert in_vain([parent, child], JUDGE.rank([parent, child]), 1) == set()


def test_stages_and_more_to_see_are_asked_for_where_they_are_allowed_and_there_is_a_parent():
    config = RunConfig(task="point", candidates=6, model="openai/x", stages=True, evolve_observation=True)
    slots = Evolve(config, JUDGE).plan([record("g00-k0", 1.0)], 1)
    assert [slot.operator for slot in slots[:2]] == ["stage", "observe"]
    assert [slot.operator for slot in slots].count("observe") == 1 and slots[1].parents == ("g00-k0",)
    assert "stage" not in {slot.operator for slot in plan([record("g00-k0", 1.0)], 1, 6, seed=0)}
    assert {slot.operator for slot in Evolve(config, JUDGE).plan([], 0)} == {"draft"}


@pytest.mark.parametrize(("operator", "option"), [("observe", "evolve_observation"), ("stage", "stages")])
def test_a_search_that_stalls_offers_what_no_reward_had(operator, option):
    gaining = [record("g00-k0", 1.0, 1.0), record("g01-k0", 5.0, 5.0)]
    stalled = [record("g00-k0", 5.0, 5.0), record("g01-k0", 1.0, 1.0)]

    def operators(records, **changes):
        config = RunConfig(task="point", candidates=6, **changes)
        return [slot.operator for slot in Evolve(config, JUDGE).plan(records, 2)]

    assert operator not in operators(gaining, **MODEL)
    assert operators(stalled, **MODEL).count(operator) == 1
    assert operator not in operators(stalled, **{option: False}, **MODEL)
    assert operator not in operators(stalled), "the built-in designer writes none"


def test_a_search_that_stalls_edits_its_best_before_it_tries_stages():
    stalled = [record("g00-k0", 5.0, 5.0), record("g01-k0", 1.0, 1.0)]
    config = RunConfig(task="point", candidates=2, evolve_observation=False, **MODEL)
    slots = Evolve(config, JUDGE).plan(stalled, 2)
    assert [(slot.operator, slot.parents) for slot in slots] == [("edit", ("g00-k0",)), ("stage", ("g00-k0",))]


@pytest.mark.parametrize(
    ("missed", "trainer", "option", "planned_option"),
    [
        (("place",), "ppo", None, None),
        ((), "ppo", None, False),
        (("place",), "sb3-ppo", None, False),
        ((), "ppo", True, True),
        (("place",), "ppo", False, False),
    ],
)
def test_evidence_is_a_variable_that_only_the_fitness_reads_and_a_policy_that_can_be_shown_it(
    missed, trainer, option, planned_option
):
    config = RunConfig(task="point", evolve_observation=option, **MODEL)
    found = planned(config, card(unobserved=missed, read=missed), trainer)
    assert found.evolve_observation is planned_option
    assert found.stages is (None if trainer == "ppo" else False), "other policies do not see the stage"


def test_the_built_in_designer_writes_no_stages():
    with pytest.raises(UsageError, match="writes no stages") as caught:
        RunConfig(task="point", stages=True)
    assert "--model" in caught.value.hint
    with pytest.raises(UsageError, match="writes no observations"):
        RunConfig(task="point", evolve_observation=True)


OBSERVES = "OBSERVED = ('up',)\n\n\ndef observe(speed):\n    return speed[:, None]\n\n\n"
STAGED = (
    "STAGES = ('near', 'far')\n\n\ndef next_stage(stage, speed):\n    return torch.where(speed > 1.0, 1, stage)\n\n\n"
)


@pytest.mark.parametrize("has_it", [True, False])
@pytest.mark.parametrize(
    ("asked", "option", "added"), [("observe", "evolve_observation", OBSERVES), ("stage", "stages", STAGED)]
)
def test_all_designers_are_told_of_an_offer_once_one_is_asked_for_it_or_a_parent_has_it(
    tmp_path, asked, option, added, has_it
):
    source = added if has_it else ""
    told = []

    class Designing(Crew):
        async def design(self, request):
            told.append((request.generation, request.operator, getattr(request, option)))
            candidate = await super().design(request)
            return candidate.model_copy(update={"source": source + candidate.source})

    search, _ = a_search(tmp_path, Designing(fitness=lambda id: 9.0), generations=3, **MODEL)
    search()
    first = min(generation for generation, operator, _ in told if operator == asked)
    assert first > 0 and all(allowed for generation, _, allowed in told if generation >= first)
    earlier = {allowed for generation, operator, allowed in told if generation < first and operator != "draft"}
    assert earlier <= {has_it} and {allowed for generation, _, allowed in told if generation == 0} == {False}
