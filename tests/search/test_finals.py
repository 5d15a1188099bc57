import pytest

from rewardgen.search import finals
from rewardgen.store.history import History
from rewardgen.store.records import BASELINES, Candidate
from tests.builders import failed_slice, slice_result


def a_history(**fitness):
    """Fitness per fresh seed of each reward; None is a failed seed."""
    history = History()
    history.final_seeds = (10, 11, 12, 13, 14)
    for id, values in fitness.items():
        history.designed[id, 0] = Candidate(id=id, generation=0, operator="draft")
        history.further["final", id] = history.final_seeds[: len(values)]
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
    assert "does not beat the human reward, which is better" in summary.conclusion
    assert "beats the sparse reward" in summary.conclusion


def test_reward_within_noise_of_the_sparse_one_is_said_plainly():
    summary = summarise("done", ["best", "sparse"], a_history(best=[1.0, 1.2, 0.8, 1.0, 1.1], sparse=SPARSE))
    assert "does not beat the sparse reward: the two are within noise" in summary.conclusion


def test_a_winner_that_failed_on_a_fresh_seed_is_told_beside_the_one_that_took_its_place():
    history = a_history(lucky=[99, 99, 99, 99, None], steady=[2, 2, 2, 2, 2])
    summary = summarise("done", ["steady", "lucky"], history)
    assert summary.chosen == "steady"
    assert summary.rows[1].fitness is None and "non-finite" in summary.rows[1].failure
    assert "lucky led the search, and failed to train on a fresh seed" in summary.conclusion


def test_baseline_is_never_chosen():
    summary = summarise("done", [], a_history(human=HUMAN, sparse=SPARSE))
    assert summary.chosen is None
    assert "no reward to recommend" in summary.conclusion


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
