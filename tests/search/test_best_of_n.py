"""Best-of-n: as many candidates as evolution has, none of which knows of another."""

from rewardgen.core.config import RunConfig
from rewardgen.search.judge import FitnessJudge
from rewardgen.search.strategy import LENSES, BestOfN, Evolve
from tests.builders import record
from tests.search.parts import Crew, a_search

CONFIG = RunConfig(task="point", candidates=4, seed=3)


class Witness(Crew):
    """Remembers what it was told of earlier candidates."""

    def __init__(self, **troubles):
        super().__init__(**troubles)
        self.told = []

    async def design(self, request):
        self.told.append(request)
        return await super().design(request)

    async def repair(self, request, candidate, findings):
        self.told.append(request)
        return await super().repair(request, candidate, findings)

    def review(self, candidates, card, earlier=(), **options):
        assert not options["ranks"]
        return super().review(candidates, card, earlier)


def test_first_generation_is_that_of_evolution_and_later_ones_are_drafts_with_other_seeds():
    one, other = (make(CONFIG, FitnessJudge()) for make in (BestOfN, Evolve))
    assert one.plan([], 0) == other.plan([], 0)
    records = [record(f"g00-k{number}", float(number)) for number in range(4)]
    slots = [*one.plan([], 0), *one.plan(records, 1)]
    assert {slot.operator for slot in slots} == {"draft"} and not any(slot.parents for slot in slots)
    assert len({slot.seed for slot in slots}) == len({slot.candidate_id for slot in slots}) == 8
    assert len({slot.lens for slot in slots}) == 8 < len(LENSES)


def test_plan_does_not_depend_on_results():
    strategy = BestOfN(CONFIG, FitnessJudge())
    assert strategy.plan([], 1) == strategy.plan([record("g00-k0", 9.0), record("g00-k1")], 1)


def test_nothing_of_earlier_results_reaches_the_designer(tmp_path):
    crew = Witness(rejected=["g00-k0"], repairable=["g01-k1"], failing=["g00-k2"])
    search, history = a_search(tmp_path / "run", crew, strategy="best-of-n")
    search()
    assert len(crew.told) == 12 + 2
    assert not any(request.parents or request.failed_ideas or request.leading_ideas for request in crew.told)
    assert "diagnose" not in {kind for kind, _ in crew.calls}
    assert "g00-k1" in history.studied, "the user still sees what training showed"


def test_all_candidates_are_tried_without_any_gain_and_the_best_of_all_is_chosen(tmp_path):
    fitness = {"g01-k2": 2.0}
    crew = Crew(fitness=lambda id: fitness.get(id, 1.0))
    search, history = a_search(tmp_path / "run", crew, strategy="best-of-n", patience=1, generations=4)
    summary = search()
    assert summary.reason == "all 4 generations done" and summary.chosen == "g01-k2"
    assert len(history.ids()) == 16
