"""Further seeds for the leaders: who gets them, when it ends, and what they are worth."""

import random
from contextlib import suppress

import pytest

from rewardgen.core.config import FURTHER_SHARE
from rewardgen.core.statistics import standard_errors
from rewardgen.search.evaluating import contenders
from rewardgen.search.judge import FitnessJudge
from rewardgen.store.history import History
from rewardgen.store.ranking import Rank, Ranking, leads
from rewardgen.store.run_folder import RunFolder
from tests.builders import record, slice_result
from tests.search.parts import Crew, Listener, a_search

JUDGE = FitnessJudge()
CLOSE = {"leaders": 3, "candidates": 6, "seeds": 2}


def noisy(id):
    return {"g00-k1": 2.0, "g00-k2": 2.001, "g01-k0": 2.002}.get(id, 1.0)


def ranked(**values):
    return JUDGE.rank([record(id.replace("_", "-"), *seeds) for id, seeds in values.items()])


def test_a_fitness_in_small_units_ranks_as_in_large_ones():
    ranking = FitnessJudge().rank([record("g00-k0", 1.05e-7, 1.06e-7), record("g00-k1", 4.05e-7, 4.06e-7)])
    assert ranking.ids == ("g00-k1", "g00-k0") and leads(*ranking.ranks)


def test_only_those_that_may_be_the_best_get_further_seeds_and_the_poorest_in_seeds_first():
    ranking = ranked(g00_k0=(5.0, 5.4, 5.2), g00_k1=(5.0, 5.3), g00_k2=(1.0, 1.3), g00_k3=(0.8, 1.0))
    counts = {"g00-k0": 3, "g00-k1": 2, "g00-k2": 2, "g00-k3": 2}
    assert contenders(ranking, counts, leaders=4, most=8) == ["g00-k1", "g00-k0"]
    assert contenders(ranking, counts, leaders=4, most=3) == ["g00-k1"]


def test_nothing_is_to_be_settled_if_one_leads_beyond_noise_or_is_the_only_leader():
    ranking = ranked(g00_k0=(5.0, 5.1), g00_k1=(1.0, 1.1), g00_k2=(0.9, 1.0))
    assert contenders(ranking, dict.fromkeys(ranking.ids, 2), leaders=4, most=8) == []
    assert contenders(ranked(g00_k0=(5.0, 5.1), g00_k1=(5.0, 5.2)), {}, leaders=1, most=8) == []
    assert contenders(ranked(), {}, leaders=4, most=8) == []


def test_leaders_train_once_more_after_each_generation_and_to_the_end_before_the_finals(tmp_path):
    crew = Crew(fitness=noisy)
    search, history = a_search(tmp_path, crew, generations=2, **CLOSE)
    search()
    after = [opening.generation for opening in history.seed_rounds if opening.phase == "search"]
    assert after.count(0) == 1 and after.count(1) == 1 and after.count(2) >= 1
    assert len(history.seeds("search", "g00-k1")) > 2 == len(history.seeds("search", "g00-k0"))
    further = sum(len(seeds) for (phase, _), seeds in history.extra_seeds.items() if phase == "search")
    assert further <= 2 * 6 * 2 // FURTHER_SHARE
    result = history.result("search", "g00-k1")
    assert [each.seed for each in result.slices] == list(history.seeds("search", "g00-k1"))
    assert not {seed for _, seeds in history.extra_seeds.items() for seed in seeds} & set(history.search_seeds)


def test_a_run_killed_at_any_event_settles_the_same_way(tmp_path):
    whole, expected = a_search(tmp_path / "whole", Crew(fitness=noisy), generations=2, **CLOSE)
    table = whole()
    kinds = [line.split('"', 4)[3] for line in (tmp_path / "whole" / "events.jsonl").read_text().splitlines()]
    cuts = [number for number, kind in enumerate(kinds) if "seeds-opened" in kinds[number - 1 : number + 1]]
    for cut in cuts[::6]:
        path = tmp_path / f"cut{cut}"
        search, _ = a_search(path, Crew(fitness=noisy), Listener(stop_after=cut), generations=2, **CLOSE)
        with suppress(KeyboardInterrupt):
            search()
        again, history = a_search(path, Crew(fitness=noisy), generations=2, **CLOSE)
        assert again() == table and history.seed_rounds == expected.seed_rounds
        assert History.load(RunFolder(path)).extra_seeds == expected.extra_seeds


def ranking_of(seen):
    errors, freedom = standard_errors([*seen.values()])
    ranks = [
        Rank(candidate_id=id, estimate=sum(values) / len(values), standard_error=error, freedom=freedom)
        for (id, values), error in zip(seen.items(), errors, strict=True)
    ]
    return Ranking(ranks=tuple(sorted(ranks, key=lambda each: each.estimate, reverse=True)))


def picked(rng, candidates, spread, *, leaders):
    """True value of the candidate that leads in the end; candidates differ by `spread` seed standard deviations."""
    true = {f"k{number}": rng.gauss(0.0, spread) for number in range(candidates)}
    seen = {id: [rng.gauss(value, 1.0) for _ in range(2)] for id, value in true.items()}
    left = 2 * candidates // FURTHER_SHARE if leaders else 0
    while ids := contenders(ranking_of(seen), {id: len(values) for id, values in seen.items()}, 4, 8)[:left]:
        left -= len(ids)
        for id in ids:
            seen[id].append(rng.gauss(true[id], 1.0))
    return true[ranking_of(seen).ids[0]]


@pytest.mark.slow
@pytest.mark.parametrize(("spread", "least"), [(0.5, 0.1), (1.0, 0.0)])
def test_with_as_many_trainings_leaders_pick_a_better_reward_than_two_seeds_for_more_candidates(spread, least):
    rng, times = random.Random(0), 500
    assert 2 * 18 + 2 * 18 // FURTHER_SHARE == 2 * 24, "trainings"
    means = [
        sum(picked(rng, count, spread, leaders=each) for _ in range(times)) / times / spread
        for count, each in ((18, True), (24, False))
    ]
    print(f"picked: {means[0]:.2f} above the mean candidate, by two seeds for all {means[1]:.2f}")
    assert means[0] - means[1] > least


class Late(Crew):
    """The time of the search is up while leaders train on further seeds."""

    def train(self, rewards, slices, *, cancel, **options):
        if any(each.seed in range(2, 5000) for each in slices):
            assert cancel.wait(20.0)
            return
        super().train(rewards, slices, cancel=cancel, **options)


def test_a_further_seed_that_there_was_no_time_for_costs_a_leader_nothing(tmp_path):
    search, history = a_search(tmp_path, Late(fitness=noisy), max_minutes=0.03, **CLOSE)
    summary = search()
    assert summary.reason == "time limit of 0.03 min reached" and summary.chosen in ("g00-k1", "g00-k2")
    assert history.extra_seeds["search", summary.chosen] and not history.result("search", summary.chosen).failure


class Sobering(Crew):
    """The first three seeds are lucky, for all candidates."""

    def _slice(self, id, seed):
        return slice_result(
            id, seed, (1.3 if seed < 3 else 0.1) + 0.3 * (seed % 2) + 0.02 * (int(id[5:]) if id[0] == "g" else 0)
        )


def test_why_the_search_ended_stands_though_further_seeds_say_otherwise(tmp_path):
    options = {"leaders": 4, "candidates": 12, "target_fitness": 1.6}
    whole, expected = a_search(tmp_path / "whole", Sobering(), **options)
    table = whole()
    assert "target fitness 1.6 reached" in table.reason and expected.best().fitness < 1.6
    kinds = [line.split('"', 4)[3] for line in (tmp_path / "whole" / "events.jsonl").read_text().splitlines()]
    search, _ = a_search(
        tmp_path / "cut", Sobering(), Listener(stop_after=kinds.index("finals-started") - 1), **options
    )
    with suppress(KeyboardInterrupt):
        search()
    again, history = a_search(tmp_path / "cut", Sobering(), **options)
    assert again() == table and len(history.generations) == len(expected.generations)


def gain_is_seen(rng, gain):
    """Whether a second generation is said to have brought a gain, where one of its candidates is truly better."""
    true = {f"old{k}": 0.0 for k in range(6)}
    seen = {id: [rng.gauss(0.0, 1.0) for _ in range(2)] for id in true}

    def one_round():
        counts = {id: len(values) for id, values in seen.items()}
        for id in contenders(ranking_of(seen), counts, 4, 8):
            seen[id].append(rng.gauss(true[id], 1.0))

    one_round()
    before = ranking_of(seen).ids[0]
    new = {f"new{k}": gain if k == 0 else 0.0 for k in range(6)}
    true |= new
    seen |= {id: [rng.gauss(value, 1.0) for _ in range(2)] for id, value in new.items()}
    one_round()
    ranking = ranking_of(seen)
    best, old = ranking.best, ranking.rank(before)
    return best.candidate_id != before and leads(best, old)


def test_equals_seldom_pass_for_a_gain_and_a_large_gain_seldom_goes_unseen():
    rng, times = random.Random(0), 150
    rates = {gain: sum(gain_is_seen(rng, gain) for _ in range(times)) / times for gain in (0.0, 2.0, 3.0)}
    assert rates[0.0] <= 0.04 and rates[2.0] > 0.4 and rates[3.0] > 0.85, rates
