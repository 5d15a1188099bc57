import pytest

from rewardgen.core.config import RunConfig
from rewardgen.search import evolution
from rewardgen.search.evolution import failed_ideas, plan, ranked, stalled_generations
from rewardgen.store.records import Analysis, CandidateRecord, CandidateResult, Finding, Flag, Verdict
from tests.builders import failed_slice, record, slice_result


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


def test_negative_fitness_is_ranked_and_failure_is_not_zero():
    failed = record("g00-k2").model_copy(
        update={
            "result": CandidateResult(
                candidate_id="g00-k2", slices=(slice_result("g00-k2", 0, 5.0), failed_slice("g00-k2", 1))
            )
        }
    )
    order = ranked([record("g00-k0", -3.0), failed, record("g00-k1", -1.0)])
    assert [each.candidate.id for each in order] == ["g00-k1", "g00-k0"]


def test_equal_fitness_falls_back_to_longer_episodes():
    def lasting(id: str, steps: float) -> CandidateRecord:
        point = {"env_steps": 1, "fitness": 0.0, "success_rate": 0.0, "episode_steps": steps, "episode_return": 0.0}
        result = CandidateResult(candidate_id=id, slices=(slice_result(id, 0, 0.0, curve=(point,)),))
        return record(id).model_copy(update={"result": result})

    assert [each.candidate.id for each in ranked([lasting("g00-k0", 10), lasting("g00-k1", 90)])] == [
        "g00-k1",
        "g00-k0",
    ]


def test_gain_within_noise_counts_as_stalled():
    noisy = [record("g00-k0", 0.0, 10.0), record("g01-k0", 1.0, 11.0)]
    clear = [record("g00-k0", 5.0, 5.1), record("g01-k0", 6.0, 6.1)]
    assert stalled_generations(noisy) == 1
    assert stalled_generations(clear) == 0


def test_generations_without_any_fitness_are_stalled():
    assert stalled_generations([record("g00-k0"), record("g01-k0")]) == 2


def test_small_gains_that_add_up_to_more_than_noise_are_not_lost():
    # Each step is below the noise of its neighbours, but the third is clearly above the first.
    records = [record("g00-k0", 1.0, 3.0), record("g01-k0", 2.0, 4.0), record("g02-k0", 20.0, 21.0)]
    assert stalled_generations(records) == 0


def test_failed_ideas_tell_what_was_tried_and_why_it_failed():
    finding = Finding(gate="probe", detector="dead-component", severity="reject", message="`bonus` is always 0")
    rejected = record("g00-k0").model_copy(update={"verdict": Verdict(candidate_id="g00-k0", findings=(finding,))})
    worse = record("g01-k0", 1.0).model_copy(update={"analysis": Analysis(candidate_id="g01-k0", fitness_delta=-2.0)})
    better = record("g01-k1", 4.0).model_copy(update={"analysis": Analysis(candidate_id="g01-k1", fitness_delta=2.0)})
    lines = failed_ideas([rejected, worse, better])
    assert len(lines) == 2
    assert "idea of g01-k0" in lines[0] and "-2" in lines[0]
    assert "`bonus` is always 0" in lines[1]


# The plateau.


def generation(index, *fitness, operators=("draft",), **changes):
    """Studies of one generation, one seed pair for each fitness."""
    return [
        record(f"g{index:02d}-k{k}", value, value, operator=operators[k % len(operators)], **changes)
        for k, value in enumerate(fitness)
    ]


def behind(one, parent, delta=-1.0):
    """A candidate that was designed from a parent and did not pass it."""
    candidate = one.candidate.model_copy(update={"parents": (parent,)})
    analysis = Analysis(candidate_id=candidate.id, fitness_delta=delta)
    return one.model_copy(update={"candidate": candidate, "analysis": analysis})


PLATEAU = [*generation(0, 5.0, 4.0), *generation(1, 1.0, 1.0), *generation(2, 1.0, 1.0)]


@pytest.mark.parametrize("seed", range(5))
def test_plateau_of_two_generations_brings_a_fresh_draft_with_a_lens_of_its_own(seed):
    assert "draft" not in {slot.operator for slot in plan(PLATEAU[:4], 2, 6, seed)}
    drafts = [slot for slot in plan(PLATEAU, 3, 3, seed) if slot.operator == "draft"]
    assert drafts and all(slot.lens and not slot.parents for slot in drafts)


def test_lenses_are_not_given_twice_before_all_were_given():
    first = plan([], 0, 6, seed=3)
    drafted = generation(0, *range(6))
    later = [slot.lens for slot in plan(drafted, 1, 6, seed=3) if slot.lens]
    assert later and not {slot.lens for slot in first}.intersection(later)


def test_patience_of_a_run_outlasts_the_plateau():
    assert RunConfig(task="hopper").patience > evolution.PLATEAU


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
    assert evolution._in_vain([parent, child], 1) == set()


# What is told of failed ideas.


def test_failed_idea_names_its_parents_what_was_measured_and_the_flags():
    flagged = behind(record("g01-k0", 2.0, 2.0, operator="edit", diagnosis="Wider gate.\nIt hops."), "g00-k0")
    flags = (Flag(detector="reach-and-hover", message="x."), Flag(detector="still-rising", message="y."))
    flagged = flagged.model_copy(update={"analysis": flagged.analysis.model_copy(update={"flags": flags})})
    assert failed_ideas([flagged]) == (
        "g01-k0 (edit of g00-k0): Wider gate. It hops. -> fitness 2, -1 against its parent (reach-and-hover)",
    )


def test_draft_that_reached_nothing_is_a_failed_idea_and_one_that_reached_something_is_not():
    nothing = Flag(detector="no-better-than-trivial", message="x.")
    poor = record("g00-k0", 0.1).model_copy(update={"analysis": Analysis(candidate_id="g00-k0", flags=(nothing,))})
    fair = record("g00-k1", 0.5).model_copy(update={"analysis": Analysis(candidate_id="g00-k1")})
    assert [line.split()[0] for line in failed_ideas([poor, fair])] == ["g00-k0"]


def test_what_is_told_at_length_elsewhere_is_not_told_again():
    flagged = behind(record("g01-k0", 2.0), "g00-k0")
    assert failed_ideas([flagged], apart_from=("g01-k0",)) == ()
