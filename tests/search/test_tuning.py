"""A tuner sets other constants in the best rewards of the archive."""

import ast
import math
import re

import pytest

from rewardgen.core.config import RunConfig
from rewardgen.core.errors import UsageError
from rewardgen.designer.protocol import NO_REPLY
from rewardgen.reward.signature import read_signature
from rewardgen.search.assembly import make_roles
from rewardgen.search.earlier_ideas import failed_ideas, leading_ideas
from rewardgen.search.judge import FitnessJudge
from rewardgen.search.tuning import one_of_each_tuned, tuned_candidate, tuned_slots
from rewardgen.store.records import Analysis
from rewardgen.store.run_folder import RunFolder
from rewardgen.view.rows import search_rows
from tests.builders import record, slice_result
from tests.search.parts import Crew, Listener, a_search

JUDGE = FitnessJudge()


def reward(speed=1.0, effort=-0.01, shape="speed"):
    return f'''def compute_reward(speed, action, *, speed_weight: float = {speed}, effort_weight: float = {effort}):
    """Go fast."""
    return {{"speed": speed_weight * {shape}, "effort": effort_weight * action.square().sum(-1)}}  # both
'''


def plan(records, tune=2, generation=1, seed=0):
    return tuned_slots(RunConfig(task="point", tune=tune, seed=seed), JUDGE, records, generation, 4)


ARCHIVE = [record("g00-k0", 1.0, 1.2, source=reward()), record("g00-k1", 0.2, 0.1, source=reward(shape="speed.exp()"))]


def test_the_best_reward_is_the_parent_and_its_code_stays_as_it_is_but_for_the_constants():
    slots = plan(ARCHIVE)
    assert [slot.candidate_id for slot in slots] == ["g01-k4", "g01-k5"]
    assert [slot.parents for slot in slots] == [("g00-k0",)] * 2
    tuned = [tuned_candidate(slot, 1, ARCHIVE[0].candidate) for slot in slots]
    assert len({each.source for each in [ARCHIVE[0].candidate, *tuned]}) == 3
    for slot, each in zip(slots, tuned, strict=True):
        assert read_signature(each.source).tunables == slot.tunables
        as_before = dict(zip(slot.tunables, ("1.0", "-0.01"), strict=True))
        for name, value in as_before.items():
            each_source = re.sub(rf"({name}: float = )[-\de.]+", rf"\g<1>{value}", each.source)
            each = each.model_copy(update={"source": each_source})
        assert each.source == ARCHIVE[0].candidate.source


def test_what_was_changed_is_told():
    (slot,) = plan(ARCHIVE, tune=1)
    told = tuned_candidate(slot, 1, ARCHIVE[0].candidate).diagnosis
    for name, before in (("speed_weight", "1"), ("effort_weight", "-0.01")):
        changed = f"`{name}` {before} -> {slot.tunables[name]:g}"
        assert (changed in told) == (slot.tunables[name] != float(before))


def test_the_same_records_give_the_same_proposals_and_another_seed_or_generation_others():
    grown = [*ARCHIVE, record("g01-k4", 2.0, 2.1, operator="constants", source=reward(2.0, -0.02))]
    assert plan(grown) == plan(grown)
    assert len({str(plan(grown, **other)) for other in ({}, {"seed": 1}, {"generation": 2})}) == 3


@pytest.mark.parametrize(
    "values", [(1.0, -0.01), (0.0, 5), (1e30, -1e-30), (3e38, -3e38), (5e-324, 1e308), (-0.0, -7.25)]
)
def test_proposals_are_finite_keep_their_sign_and_leave_zero_alone(values):
    archive = [record("g00-k0", 1.0, 0.5, source=reward(*values))]
    for generation in range(1, 5):
        slots = plan(archive, tune=4, generation=generation)
        for slot in slots:
            for now, before in zip(slot.tunables.values(), values, strict=True):
                assert math.isfinite(now) and (now > 0) == (before > 0) and (now < 0) == (before < 0)
            source = tuned_candidate(slot, generation, archive[0].candidate).source
            ast.parse(source)
            archive.append(record(slot.candidate_id, float(generation), operator="constants", source=source))


@pytest.mark.parametrize(
    "source",
    ["def compute_reward(speed):\n    return {'s': speed}\n", reward(0.0, 0), None],
    ids=["none", "zero", "untrained"],
)
def test_without_a_constant_to_set_there_are_no_further_candidates(source):
    assert plan([record("g00-k0", *([1.0] if source else []), source=source or reward())]) == ()


def test_none_is_planned_unless_asked_for():
    assert plan(ARCHIVE, tune=0) == ()


def test_a_structure_of_which_no_other_constants_could_be_trained_makes_room_for_the_next():
    refused = [record(f"g01-k{k}", operator="constants", parents=("g00-k0",), source=reward(k)) for k in (4, 5)]
    assert {slot.parents for slot in plan([*ARCHIVE, *refused], generation=2)} == {("g00-k1",)}


@pytest.mark.parametrize("fitness", [0.0, 9.0])
def test_a_tuned_candidate_is_no_idea_of_its_own(fitness):
    tuned = record("g01-k4", fitness, fitness, operator="constants", parents=("g00-k0",), source=reward(9.0))
    archive = [*ARCHIVE, tuned.model_copy(update={"analysis": Analysis(candidate_id="g01-k4")})]
    ranking = JUDGE.rank(archive)
    told = [*failed_ideas(archive, ranking), *leading_ideas(archive, ranking)]
    assert not [line for line in told if "g01-k4" in line]


def test_a_strategy_that_does_not_learn_is_no_use_to_a_tuner(tmp_path):
    with pytest.raises(UsageError, match="best-of-n") as caught:
        make_roles(RunFolder(tmp_path), RunConfig(task="point", strategy="best-of-n", tune=2))
    assert "--strategy evolve" in caught.value.hint


# In a run.

BEST = math.log(20.0)
"""Of the weight of `speed`, in the crew below: the designer's 1 is far too small."""


class Planted(Crew):
    """The first candidate is the best structure, with one bad constant; a fitness rests on the constants alone."""

    async def design(self, request):
        made = await super().design(request)
        first = request.candidate_id == "g00-k0"
        return made.model_copy(update={"source": reward() if first else reward(shape=f"speed ** {request.seed % 97}")})

    def train(self, rewards, slices, **options):
        self.sources = {each.candidate_id: each.source for each in rewards}
        super().train(rewards, slices, **options)

    def _slice(self, id, seed):
        source = self.sources[id]
        if "source" in source:
            return super()._slice(id, seed)
        value = -2.0
        if "speed_weight * speed," in source:
            value = -((math.log(read_signature(source).tunables["speed_weight"]) - BEST) ** 2) / BEST**2
        return slice_result(id, seed, value + 0.05 * math.sin(37 * seed + sum(map(ord, source))))


def constants(history):
    found = [history.record(id) for id in history.ids()]
    return [each for each in found if each.candidate.operator == "constants"]


def test_tuned_candidates_are_trained_without_a_call_and_the_bad_constant_is_mended(tmp_path):
    crew = Planted()
    search, history = a_search(tmp_path / "run", crew, tune=4, generations=5)
    summary = search()
    tuned = constants(history)
    assert len(tuned) == 4 * 4 and all(each.result for each in tuned)
    ids = {each.candidate.id for each in tuned}
    assert not {what.split("/")[0] for kind, what in crew.calls if kind in ("design", "repair", "diagnose")} & ids
    assert summary.chosen in ids
    assert history.record(summary.chosen).fitness > history.record("g00-k0").fitness + 0.5


def test_a_rejected_one_is_not_repaired(tmp_path):
    crew = Planted(repairable=["g01-k4"])
    search, history = a_search(tmp_path / "run", crew, tune=2, generations=2)
    search()
    assert ("repair", "g01-k4") not in crew.calls
    assert [each.verdict.accepted for each in constants(history)] == [False, True]


def test_a_rejected_one_is_never_shown_as_being_repaired(tmp_path):
    class Reviewed(Listener):
        def event(self, event, history):
            if event.kind == "reviewed" and history.record("g01-k4"):
                raise KeyboardInterrupt

    search, history = a_search(tmp_path / "run", Planted(repairable=["g01-k4"]), Reviewed(), tune=1)
    with pytest.raises(KeyboardInterrupt):
        search()
    while ("g01-k4", 0) not in history.reviewed:
        with pytest.raises(KeyboardInterrupt):
            search()
    assert search_rows(history, ["g01-k4"], {})[0].status == "rejected"


def test_a_structure_that_was_tuned_is_one_parent_among_others(tmp_path):
    tuned = [record(f"g01-k{k}", 2.0 + k, operator="constants", source=reward(k)) for k in (4, 5)]
    archive = [*ARCHIVE, *tuned]
    assert one_of_each_tuned(archive, JUDGE.rank(archive)) == ("g01-k5", "g00-k1")
    assert one_of_each_tuned(ARCHIVE, JUDGE.rank(ARCHIVE)) == ("g00-k0", "g00-k1")


def test_a_resumed_run_has_the_same_tuned_candidates(tmp_path):
    whole, history = a_search(tmp_path / "whole", Planted(), tune=2)
    whole()
    stopped, _ = a_search(tmp_path / "cut", Planted(), Listener(stop_after=55), tune=2)
    with pytest.raises(KeyboardInterrupt):
        stopped()
    again, resumed = a_search(tmp_path / "cut", Planted(), tune=2)
    again()
    assert constants(resumed) == constants(history) != []


def test_tuned_candidates_do_not_hide_that_the_model_is_away(tmp_path):
    class Gone(Planted):
        async def design(self, request):
            made = await super().design(request)
            lost = {"source": "", "failure": f"{NO_REPLY}it is down"}
            return made.model_copy(update=lost) if request.generation else made

    search, _ = a_search(tmp_path / "run", Gone(), tune=2)
    with pytest.raises(Exception, match="did not answer any of the 4 calls"):
        search()
