"""Steps that tell no reward from another are told, and raised if that is wanted; more steps at the end confirm."""

import time

import pytest

from rewardgen.search.budget import budget_doubt
from rewardgen.search.judge import FitnessJudge
from rewardgen.store.events import read_events
from rewardgen.store.history import History
from rewardgen.store.records import Training
from tests.builders import slice_result
from tests.search.parts import Crew, Listener, a_search


def curve(*fitness):
    point = {"success_rate": 0.0, "episode_steps": 10.0, "episode_return": 0.0}
    return tuple(point | {"env_steps": 100 * number, "fitness": value} for number, value in enumerate(fitness, 1))


RISING, FLAT = (0.0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3), (0.0, 0.2, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3)


def trained(human, sparse):
    """A run whose task's own rewards had these curves, each with two seeds that end a little apart."""
    history = History()
    history.search_seeds, history.training = (0, 1), Training(trainer="ppo", settings={"env_steps": 250_000})
    history.baselines = {"human": "", "sparse": ""}
    for id, fitness in (("human", human), ("sparse", sparse)):
        for seed in (0, 1):
            end = fitness[-1] + 0.1 * seed
            history.trained["search", id, seed] = slice_result(id, seed, end, curve=curve(*fitness))
    ranking = FitnessJudge().rank([history.baseline_record("human"), history.baseline_record("sparse")])
    return budget_doubt(history, ranking)


def test_rewards_within_noise_whose_curves_still_rise_are_a_doubt_with_the_steps_it_takes():
    doubt = trained(RISING, RISING)
    assert doubt and "250k steps may be too few" in doubt.why and "human 0.35 and sparse 0.35" in doubt.why
    assert 500_000 <= doubt.env_steps <= 2_500_000


def test_the_slower_two_rewards_part_the_more_steps_it_takes():
    parting = trained(tuple(1.3 * each for each in RISING), RISING)
    hardly = trained(tuple(1.05 * each for each in RISING), RISING)
    assert parting and hardly and parting.env_steps < hardly.env_steps


@pytest.mark.parametrize(
    ("human", "sparse"), [(FLAT, FLAT), (RISING, FLAT), (tuple(9 * each for each in RISING), RISING)]
)
def test_curves_that_are_flat_or_rewards_that_differ_are_none(human, sparse):
    assert trained(human, sparse) is None


class Slow(Crew):
    """The task's own rewards are alike and rise to the end; candidates do as they do."""

    def _slice(self, id, seed):
        if id in ("human", "sparse"):
            return slice_result(id, seed, 0.3 + 0.1 * (seed % 10), curve=curve(*RISING))
        return super()._slice(id, seed)


def test_a_run_says_so_once_before_its_second_generation_and_goes_on(tmp_path):
    search, history = a_search(tmp_path, Slow(), generations=2)
    search()
    kinds = [each.kind for each in read_events(tmp_path / "events.jsonl")]
    assert kinds.count("steps-doubted") == 1
    assert kinds.index("generation-finished") < kinds.index("steps-doubted") < kinds.index("finals-started")
    assert history.doubt and "`--auto-steps`" in history.doubt and history.training.env_steps == 1000


def test_with_auto_steps_the_first_generation_is_trained_again_and_nothing_is_designed_twice(tmp_path):
    crew = Slow()
    search, history = a_search(tmp_path, crew, generations=2, auto_steps=True)
    assert search() is None, "its parts have to be made anew"
    assert history.training.env_steps >= 2000 and history.card.env_steps == history.training.env_steps
    assert not history.trained
    again = Slow()
    search, history = a_search(tmp_path, again, generations=2, auto_steps=True)
    assert search().chosen == "g01-k3"
    assert ("train search", "g00-k0/0") in crew.calls and ("train search", "g00-k0/0") in again.calls
    assert not [call for call in again.calls if call[0] in ("design", "review") and call[1].startswith("g00")]


def test_a_doubt_is_not_raised_again_by_a_resumed_run(tmp_path):
    search, _ = a_search(tmp_path, Slow(), Listener(stop_after=40), generations=2)
    with pytest.raises(KeyboardInterrupt):
        search()
    search, _ = a_search(tmp_path, Slow(), generations=2)
    search()
    assert [each.kind for each in read_events(tmp_path / "events.jsonl")].count("steps-doubted") == 1


class Longer(Crew):
    """With more steps, the human reward catches up."""

    def train(self, rewards, slices, *, folder, on_slice, **options):
        self.confirming = folder.name == "confirm"
        super().train(rewards, slices, folder=folder, on_slice=on_slice, **options)

    def _slice(self, id, seed):
        value = {"human": 0.3}.get(id, 1.0)
        return slice_result(id, seed, (1.0 if self.confirming else value) + 0.01 * (seed % 5))


def test_confirming_tells_faster_learning_from_a_higher_end(tmp_path):
    crew = Longer()
    search, history = a_search(tmp_path, crew, generations=1, final_seeds=5, confirm=3.0)
    summary = search()
    assert (summary.against_human, summary.confirmed) == ("above", "on par")
    assert "With 3 times the steps it is within noise of the human reward" in summary.conclusion
    assert "it learns faster, and is not known to end higher" in summary.conclusion
    confirmed = {what for kind, what in crew.calls if kind == "train confirm"}
    assert confirmed == {f"{id}/{seed}" for id in (summary.chosen, "human") for seed in history.final_seeds}
    repeated = Longer()
    a_search(tmp_path, repeated, generations=1, final_seeds=5, confirm=3.0)[0]()
    assert not repeated.calls


class Lengthy(Slow):
    def train(self, *arguments, **options):
        time.sleep(0.2)
        super().train(*arguments, **options)


@pytest.mark.parametrize("limit", [{"max_steps": 40_000}, {"max_minutes": 0.005}])
def test_steps_are_not_raised_where_there_is_no_room_for_them(tmp_path, limit):
    search, history = a_search(tmp_path, Lengthy(), generations=1, final_seeds=5, auto_steps=True, **limit)
    assert search().chosen and not history.raised
    assert history.doubt and "no time or no steps left" in history.doubt


def test_steps_that_were_spent_before_they_were_raised_count(tmp_path):
    options = {"generations": 2, "auto_steps": True, "final_seeds": 5, "max_steps": 900_000}
    search, history = a_search(tmp_path, Slow(), **options)
    search()
    assert history.raised and not history.trained and history.spent_steps == 12_000
    assert history.search_steps == 8_000  # without the task's own rewards
