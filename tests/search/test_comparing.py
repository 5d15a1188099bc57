"""Runs that are judged by comparisons: who is asked, what is asked again, what a resumed run repeats."""

import pytest

from rewardgen.core.config import RunConfig
from rewardgen.core.errors import UsageError
from rewardgen.search.assembly import make_roles
from rewardgen.search.judge import PreferenceJudge
from rewardgen.search.lifecycle import changed_config
from rewardgen.store.comparisons import Signal, consistency
from rewardgen.store.history import History
from rewardgen.store.run_folder import RunFolder
from tests.search.parts import Crew, Listener, a_search


def worse_first(id: str) -> float:
    """Fitness that falls with the number of a candidate, and rises with the generation."""
    return int(id[1:3]) - int(id.split("k")[1]) / 10


def test_an_oracle_finds_the_fittest_and_asks_until_it_is_settled(tmp_path):
    search, history = a_search(tmp_path / "run", Crew(fitness=worse_first), judge="simulated:oracle", answers=40)
    summary = search()
    assert summary.chosen == "g02-k0"
    assert 4 < len(history.comparisons) < 120
    assert {each.teacher for each in history.comparisons} == {"simulated:oracle"}


def test_clips_of_a_question_share_seed_and_start_and_sides_change(tmp_path):
    search, history = a_search(tmp_path / "run", Crew(), judge="simulated:oracle", seeds=2)
    search()
    asked = history.comparisons
    assert all((each.left.seed, each.left.start) == (each.right.seed, each.right.start) for each in asked)
    assert len({each.left.start for each in asked}) > 3 and {each.left.seed for each in asked} == {0, 1}
    assert {"left", "right"} <= {each.answer for each in asked}


def test_no_two_films_are_shown_again_by_chance(tmp_path):
    one_generation = {"candidates": 2, "generations": 1, "answers": 16, "judge": "simulated:equal"}
    search, history = a_search(tmp_path / "run", Crew(fitness=lambda id: 1.0), **one_generation)
    search()
    asked = [frozenset((each.left, each.right)) for each in history.comparisons if each.repeats is None]
    assert len(asked) == len(set(asked)) > 10


def test_some_questions_are_repeated_with_exchanged_sides_and_an_oracle_is_consistent(tmp_path):
    search, history = a_search(tmp_path / "run", Crew(), judge="simulated:oracle", answers=20)
    search()
    repeated = [each for each in history.comparisons if each.repeats is not None]
    assert repeated
    for each in repeated:
        first = history.comparisons[each.repeats]
        assert (each.left, each.right) == (first.right, first.left)
    assert consistency(history.comparisons) == (len(repeated), len(repeated))


def test_the_answers_of_a_generation_are_limited(tmp_path):
    search, history = a_search(tmp_path / "run", Crew(), judge="simulated:oracle", answers=3, generations=2)
    search()
    assert [each.generation for each in history.comparisons] == [0, 0, 0, 1, 1, 1]


def test_a_run_that_is_stopped_between_answers_goes_on_to_the_same_end(tmp_path):
    whole, undisturbed = a_search(tmp_path / "whole", Crew(), judge="simulated:mistake")
    summary = whole()
    # Events of the first generation: start, plan, 4 designs, 4 reviews, trainings, ...; stopped within the answers.
    stopped = 0
    for after in range(37, 60, 14):
        path = tmp_path / f"stopped-{after}"
        search, history = a_search(path, Crew(), Listener(stop_after=after), judge="simulated:mistake")
        with pytest.raises(KeyboardInterrupt):
            search()
        stopped += bool(history.comparisons)
        again, resumed = a_search(path, Crew(), judge="simulated:mistake")
        assert again().chosen == summary.chosen
        spoken = [(each.left, each.right, each.answer) for each in resumed.comparisons]
        assert spoken == [(each.left, each.right, each.answer) for each in undisturbed.comparisons]
    assert stopped


def test_the_same_records_give_the_same_ranking_from_the_log(tmp_path):
    search, _ = a_search(tmp_path / "run", Crew(), judge="simulated:stochastic")
    search()
    read = History.load(RunFolder(tmp_path / "run"))
    records = [read.record(id) for id in read.ids()]
    assert PreferenceJudge().rank(records) == read.ranking
    assert PreferenceJudge().rank(records[::-1]).ids[0] == read.ranking.ids[0]


def test_no_further_seeds_are_trained_where_they_settle_nothing(tmp_path):
    search, history = a_search(tmp_path / "run", Crew(), judge="simulated:oracle", leaders=4, seeds=2)
    search()
    assert not [each for each in history.seed_rounds if each.phase == "search"]


@pytest.mark.parametrize(
    ("kind", "fitness", "answers"),
    [
        ("skip", lambda id: 1.0 if id.endswith("k0") else 0.01, {"left", "right", "unclear"}),
        ("equal", lambda id: 1.0 if id.endswith("k0") else 0.95, {"same"}),
    ],
)
def test_weak_teachers_skip_poor_episodes_or_take_close_ones_for_equal(tmp_path, kind, fitness, answers):
    crew = Crew(fitness=fitness)
    search, history = a_search(tmp_path / "run", crew, judge=f"simulated:{kind}", generations=1)
    search()
    assert {each.answer for each in history.comparisons} == answers


def test_the_first_signal_that_differs_beyond_its_margin_decides(tmp_path):
    crew = Crew()
    readings = {"g00-k0": (1.0, 5.0), "g00-k1": (1.05, 1.0), "g00-k2": (0.2, 0.0)}
    crew.signals = lambda id: dict(zip(("max height", "mean effort"), readings.get(id, (0.0, 0.0)), strict=True))
    ranked = (Signal("height", at="max", margin=0.1), Signal("effort", better="low"))
    search, history = a_search(
        tmp_path / "run", crew, judge="signals", generations=1, candidates=3, answers=30, signals=ranked
    )
    assert search().chosen == "g00-k1"  # as high as the first within the margin, with less effort
    assert history.ranking.ids == ("g00-k1", "g00-k0", "g00-k2")
    assert any("mean effort" in each.why for each in history.comparisons)


def test_a_task_without_signals_and_an_unknown_kind_are_refused(tmp_path):
    with pytest.raises(UsageError, match="declares no signals") as refused:
        a_search(tmp_path / "run", Crew(), judge="signals")
    assert "Signal(" in refused.value.hint
    with pytest.raises(UsageError, match="no simulated judge `orakel`"):
        a_search(tmp_path / "other", Crew(), judge="simulated:orakel")
    with pytest.raises(UsageError, match="unknown judge `fitnes`"):
        a_search(tmp_path / "third", Crew(), judge="fitnes")


def test_designers_read_comparisons_and_never_a_fitness(tmp_path):
    requests = []

    class Watching(Crew):
        async def design(self, request):
            requests.append(request)
            return await super().design(request)

    search, _ = a_search(tmp_path / "run", Watching(), judge="simulated:oracle", generations=2)
    search()
    later = [request for request in requests if request.generation == 1]
    assert all(request.card.judged and not request.card.fitness for request in requests)
    assert all(parent.preference for request in later for parent in request.parents)
    assert not any(request.baselines for request in later)


def test_a_new_best_candidate_is_a_gain_where_answers_decide(tmp_path):
    search, history = a_search(tmp_path / "run", Crew(), judge="simulated:oracle", generations=6, patience=2)
    assert search().reason == "all 6 generations done"
    assert {each.best.candidate_id[:3] for each in history.generations[1:]} >= {"g04", "g05"}


def test_a_target_of_fitness_is_refused_where_comparisons_decide(tmp_path):
    config = RunConfig(task="point", judge="simulated:oracle", target_fitness=1.0)
    with pytest.raises(UsageError, match="does not look at the fitness") as refused:
        make_roles(RunFolder(tmp_path / "run"), config)
    assert "--target-fitness" in refused.value.hint


@pytest.mark.parametrize(("judge", "other"), [("fitness", "simulated:skip"), ("simulated:skip", "fitness")])
def test_a_resumed_run_cannot_change_between_fitness_and_comparisons(tmp_path, judge, other):
    _, history = a_search(tmp_path / "run", Crew(), judge=judge)
    with pytest.raises(UsageError, match="is judged by") as refused:
        changed_config(history, {"judge": other})
    assert refused.value.hint


@pytest.mark.parametrize(("changes", "message"), [({"seeds": 3}, "`seeds`"), ({"max_cost": "much"}, "max_cost")])
def test_what_a_run_cannot_change_is_told(tmp_path, changes, message):
    _, history = a_search(tmp_path / "run", Crew())
    with pytest.raises(UsageError, match=message) as refused:
        changed_config(history, changes)
    assert refused.value.hint


def test_a_resumed_run_may_ask_another_judge(tmp_path):
    _, history = a_search(tmp_path / "run", Crew(), judge="simulated:skip")
    assert changed_config(history, {"judge": "simulated:oracle"}).judge == "simulated:oracle"
