import pytest

from rewardgen.search import finals
from rewardgen.search.context import ablations
from rewardgen.store.history import ABLATED, History
from rewardgen.store.records import BASELINES, Candidate, Training
from rewardgen.store.run_folder import RunFolder
from tests.builders import card, failed_slice, slice_result
from tests.search.parts import Crew, Listener, a_search


def a_history(**fitness):
    """Fitness per fresh seed of each reward; None is a failed seed."""
    history = History()
    history.card = card()
    history.final_seeds = (10, 11, 12, 13, 14)
    for id, values in fitness.items():
        history.designed[id, 0] = Candidate(id=id, generation=0, operator="draft")
        history.extra_seeds["final", id] = history.final_seeds[: len(values)]
        for seed, value in zip(history.final_seeds, values, strict=False):
            result = failed_slice(id, seed) if value is None else slice_result(id, seed, value)
            history.trained["final", id, seed] = result
    return history


def summarise(reason, ids, history):
    history.finalists = tuple(ids)
    history.baselines = {id: "source" for id in ids if id in BASELINES}
    return finals.summarise(reason, history)


HUMAN = [5.0, 5.1, 4.9, 5.0, 5.05]
SPARSE = [1.0, 1.1, 0.9, 1.0, 1.0]


def test_reward_that_beats_both_baselines_says_so():
    summary = summarise(
        "done", ["best", "human", "sparse"], a_history(best=[9, 9, 9.1, 9, 9], human=HUMAN, sparse=SPARSE)
    )
    assert (summary.against_human, summary.against_sparse) == ("above", "above")
    assert "beats the human reward" in summary.conclusion
    row = summary.rows[0]
    assert row.human_normalised is not None and 1.9 < row.human_normalised < 2.1


@pytest.mark.parametrize(
    ("best_fitness", "values", "low", "high"),
    [(1.0, [1.0, 0.06, 0.96], 0.0, 1.0), (1.0, [1.0, -0.06, 0.96], None, 1.0), (None, [1.0, 0.06, 0.96], None, None)],
)
def test_an_interval_stays_within_what_the_fitness_can_be(best_fitness, values, low, high):
    history = a_history(best=values)
    history.card = card(best_fitness=best_fitness)
    interval = summarise("done", ["best"], history).rows[0].fitness
    assert interval.low == low if low is not None else interval.low < 0.0
    assert interval.high == high if high is not None else interval.high > 1.0


def test_parts_of_the_fitness_are_told_of_the_chosen_reward_and_kept_for_all():
    history = a_history(best=[9, 9, 9, 9, 9], human=HUMAN)
    for (_, id, _), result in list(history.trained.items()):
        parts = {"turned": 0.8 if id == "best" else 0.3, "landed": 0.1}
        history.trained["final", id, result.seed] = result.model_copy(update={"final_parts": parts})
    summary = summarise("done", ["best", "human"], history)
    assert "Parts of the fitness: turned 0.8, landed 0.1." in summary.conclusion
    assert [each.parts["turned"] for each in summary.rows] == pytest.approx([0.8, 0.3])
    assert "Parts" not in summarise("done", ["best"], a_history(best=[9, 9, 9, 9, 9])).conclusion


def test_reward_below_the_human_one_is_said_plainly():
    summary = summarise(
        "done", ["best", "human", "sparse"], a_history(best=[3, 3, 3.1, 3, 3], human=HUMAN, sparse=SPARSE)
    )
    assert "does not beat the human reward (5.01), which is better; the difference" in summary.conclusion
    assert "beats the sparse reward" in summary.conclusion


def test_reward_within_noise_of_the_sparse_one_is_said_plainly():
    summary = summarise("done", ["best", "sparse"], a_history(best=[1.0, 1.2, 0.8, 1.0, 1.1], sparse=SPARSE))
    sentence = "does not beat the sparse reward (1): they differ by no more than noise; the difference"
    assert sentence in summary.conclusion


def test_a_winner_that_failed_on_a_fresh_seed_is_told_beside_the_one_that_took_its_place():
    history = a_history(lucky=[99, 99, 99, 99, None], steady=[2, 2, 2, 2, 2])
    summary = summarise("done", ["steady", "lucky"], history)
    assert summary.chosen == "steady"
    assert summary.rows[1].fitness is None and "non-finite" in summary.rows[1].failure
    assert "lucky led the search but failed to train on a fresh seed" in summary.conclusion


def test_result_on_one_seed_and_a_baseline_that_failed_are_said_plainly():
    history = a_history(best=[2.0], sparse=[1.0], human=[None])
    conclusion = summarise("done", ["best", "human", "sparse"], history).conclusion
    assert "The human reward failed to train" in conclusion
    assert "may be noise" in conclusion


def test_baselines_within_noise_of_each_other_give_no_human_normalised_score():
    noisy = a_history(best=[9, 9, 9.1, 9, 9], human=[1.9, 0.7, 1.5, 2.0, 1.7], sparse=[1.8, 0.9, 1.7, 1.9, 1.6])
    summary = summarise("done", ["best", "human", "sparse"], noisy)
    assert all(row.human_normalised is None for row in summary.rows)
    assert "no human-normalised score" in summary.conclusion


# Blocks of fresh seeds.


class Near(Crew):
    """Candidates as good as the human reward; the fitness differs by seed, the same for all rewards."""

    def _slice(self, id, seed):
        return slice_result(id, seed, {"sparse": 0.5}.get(id, 5.0) + 0.1 * (7 * seed % 5))


def opened(history):
    return {id: len(history.seeds("final", id)) for id in history.finalists}


def test_a_clear_winner_needs_one_block(tmp_path):
    search, history = a_search(tmp_path, Crew(fitness=lambda id: 9.0), generations=1, final_seeds=20)
    assert search().against_human == "above"
    assert set(opened(history).values()) == {5}


def test_where_nothing_will_be_decided_no_further_block_is_opened_and_the_bound_is_told(tmp_path):
    search, history = a_search(tmp_path, Near(), generations=1, final_seeds=20)
    summary = search()
    assert opened(history) == {summary.chosen: 10, "human": 10, "sparse": 5}
    assert summary.against_human == "on par" and ", so neither leads by more than 0." in summary.conclusion
    assert [row.seeds for row in summary.rows] == [10, 10, 5]
    assert summary.difference.low < 0.0 < summary.difference.high


def test_a_run_killed_between_blocks_opens_the_same_ones(tmp_path):
    whole, expected = a_search(tmp_path / "whole", Near(), generations=1, final_seeds=20)
    table = whole()
    total = len((tmp_path / "whole" / "events.jsonl").read_text().splitlines())
    for cut in range(total - 30, total - 1, 7):
        search, _ = a_search(tmp_path / f"cut{cut}", Near(), Listener(stop_after=cut), generations=1, final_seeds=20)
        with pytest.raises(KeyboardInterrupt):
            search()
        search, history = a_search(tmp_path / f"cut{cut}", Near(), generations=1, final_seeds=20)
        assert search() == table and history.seed_rounds == expected.seed_rounds


class Fragile(Crew):
    """The best of the search fails on a fresh seed."""

    def _slice(self, id, seed):
        return failed_slice(id, seed) if id == "g00-k3" and seed == 5004 else super()._slice(id, seed)


def test_if_the_winner_fails_on_a_fresh_seed_the_next_of_the_search_takes_its_place(tmp_path):
    search, history = a_search(tmp_path, Fragile(), generations=1, final_seeds=5)
    summary = search()
    assert summary.chosen == "g00-k2" and history.finalists == ("g00-k2", "g00-k3", "human", "sparse")
    assert "g00-k3 led the search but failed to train on a fresh seed" in summary.conclusion
    assert [row.seeds for row in summary.rows] == [5, 5, 5, 5]


def test_if_all_fail_there_is_no_reward_to_recommend(tmp_path):
    class Broken(Crew):
        def _slice(self, id, seed):
            return failed_slice(id, seed) if seed >= 5000 and id[0] == "g" else super()._slice(id, seed)

    search, _ = a_search(tmp_path, Broken(), generations=1, final_seeds=5)
    summary = search()
    assert summary.chosen is None and "no reward to recommend" in summary.conclusion


def test_a_task_without_rewards_of_its_own_has_nothing_to_decide(tmp_path):
    search, history = a_search(tmp_path, Crew(), generations=1, final_seeds=20, baselines={})
    summary = search()
    assert opened(history) == {summary.chosen: 5} and summary.against_human is None


def test_a_given_reward_that_fails_on_a_fresh_seed_is_told_so(tmp_path):
    class Frail(Crew):
        def _slice(self, id, seed):
            return failed_slice(id, seed) if id == "g00-k0" and seed >= 5000 else super()._slice(id, seed)

    for best in (True, False):
        crew = Frail(fitness=lambda id, best=best: 9.0 if best and id == "g00-k0" else float(id[5:]))
        search, _ = a_search(tmp_path / str(best), crew, given="def compute_reward(speed):\n    return {}\n")
        assert "g00-k0, failed to train on a fresh seed" in search().conclusion


def test_if_the_human_reward_fails_the_sparse_one_is_compared_with_to_the_end(tmp_path):
    class Broken(Near):
        def _slice(self, id, seed):
            if id == "human":
                return failed_slice(id, seed)
            return slice_result(id, seed, 5.0 + 0.1 * (7 * seed % 5))

    search, history = a_search(tmp_path, Broken(), generations=1, final_seeds=20)
    summary = search()
    assert opened(history) == {summary.chosen: 10, "human": 5, "sparse": 10}
    assert summary.against_sparse == "on par"
    assert "The human reward failed to train" in summary.conclusion


# The same reward without its `observe`.

SEEING = """OBSERVED = ("place",)  # which the task hides


def observe(speed, *, scale: float = 2.0):
    return scale * speed[:, None]


# Pay.
def compute_reward(speed):
    return {"speed": speed}
"""


class Seeing(Crew):
    """Rewards that show policies more; without it they are worth little."""

    def __init__(self, failing=None, **options):
        super().__init__(fitness=lambda id: 1.0 if id.endswith(ABLATED) else 9.0, **options)
        self.fails = failing
        self.sources = {}

    async def design(self, request):
        return (await super().design(request)).model_copy(update={"source": SEEING})

    def _slice(self, id, seed):
        return failed_slice(id, seed) if id == self.fails and seed >= 5000 else super()._slice(id, seed)

    def train(self, rewards, slices, *args, **options):
        self.sources |= {reward.candidate_id: reward.source for reward in rewards}
        return super().train(rewards, slices, *args, **options)


def test_a_winner_that_shows_policies_more_is_compared_with_itself_without_that(tmp_path):
    crew = Seeing()
    search, history = a_search(tmp_path, crew, generations=1, final_seeds=20)
    summary = search()
    bare = f"{summary.chosen}-blind"
    assert opened(history) == {summary.chosen: 5, "human": 5, "sparse": 5, bare: 5}
    assert "It beats the same reward without its `observe` (1" in summary.conclusion
    assert crew.sources[bare] == '# Pay.\ndef compute_reward(speed):\n    return {"speed": speed}\n'
    assert History.load(RunFolder(tmp_path)).summary == summary


def test_a_comparison_that_fails_to_train_takes_nothing_from_the_winner(tmp_path):
    search, history = a_search(tmp_path, Seeing(failing="g00-k0-blind"), generations=1, final_seeds=5)
    summary = search()
    assert summary.chosen == "g00-k0" and history.finalists[0] == "g00-k0"
    assert "without" not in summary.conclusion and "non-finite" in summary.rows[-1].failure


def test_if_a_winner_fails_the_next_one_is_compared_with_itself(tmp_path):
    search, history = a_search(tmp_path, Seeing(failing="g00-k0"), generations=1, final_seeds=5)
    assert search().chosen == "g00-k1"
    assert [id for id in history.finalists if id.endswith(ABLATED)] == ["g00-k1-blind"]


def test_nothing_is_compared_where_policies_do_not_see_what_a_reward_shows(tmp_path):
    for changes in ({"trainer": "sb3-ppo"}, {"fitness": ""}):
        history = a_history()
        history.designed["best", 0] = Candidate(id="best", generation=0, operator="draft", source=SEEING)
        history.training = Training(trainer=changes.get("trainer", "ppo"), settings={"env_steps": 1000})
        history.card = card(fitness=changes.get("fitness", "Metres."))
        assert ablations(history) == 0
    history.card = card()
    assert ablations(history) == 1


def test_a_winner_whose_repair_lost_its_observe_is_not_compared_with_itself():
    history = a_history()
    for repairs, source in enumerate((SEEING, "def compute_reward(speed):\n    return {'speed': speed}\n")):
        candidate = Candidate(id="best", generation=0, operator="draft", source=source, repairs=repairs)
        history.designed["best", repairs] = candidate
    history.training, history.card = Training(trainer="ppo", settings={"env_steps": 1000}), card()
    assert ablations(history) == ablations(history, ["best"]) == 0
