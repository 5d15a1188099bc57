import pytest

from benchmarks.racing import RacingOptions, Rule, Training, bench_racing, raced, trainings
from rewardgen.core.errors import UsageError
from rewardgen.store.history import History
from rewardgen.store.records import Candidate
from rewardgen.store.records import Training as Trained
from tests.builders import card, slice_result

CUTS = (0.5, 0.75)


def entrant(*curves):
    """A candidate with a seed for each curve of four evaluations; the last is its final fitness."""
    return [Training((0.25, 0.5, 0.75, 1.0), curve, curve[-1]) for curve in curves]


GOOD = entrant((0.1, 0.8, 0.9, 1.0), (0.1, 0.8, 0.9, 1.0))
FAIR = entrant((0.1, 0.6, 0.85, 0.8), (0.1, 0.5, 0.75, 0.8))
BAD = entrant((0.1, 0.0, 0.0, 0.0), (0.1, 0.1, 0.0, 0.0))
LATE = entrant((0.0, 0.1, 0.9, 2.0), (0.0, 0.0, 0.9, 1.9))
UNSURE = entrant((0.0, 0.0, 0.0, 0.0), (1.0, 1.0, 1.0, 1.0))


@pytest.mark.parametrize(
    ("entrants", "lenience", "saved", "lost"),
    [
        ((GOOD, FAIR, BAD), 2, 0.5 / 3, 0.0),  # of the two that are left, the second is behind by less than noise
        ((GOOD, FAIR, BAD), 0, (0.5 + 0.25) / 3, 0.0),
        ((GOOD, FAIR, LATE), 2, 0.5 / 3, 0.95),
        ((GOOD, FAIR, UNSURE), 2, 0.0, 0.0),
        ((GOOD, FAIR, GOOD, FAIR), 2, 2 * 0.5 / 4, 0.0),
        ((GOOD,), 0, 0.0, 0.0),
    ],
    ids=["the worst is cut", "all behind are", "the best comes late", "noise saves it", "the lower half", "alone"],
)
def test_cuts_save_what_is_left_of_the_steps_and_lose_what_comes_late(entrants, lenience, saved, lost):
    found = raced(entrants, Rule("", CUTS, lenience))
    assert found.saved == pytest.approx(saved)
    assert found.fitness_lost == pytest.approx(lost) and found.best_cut == (lost > 0)


def test_a_gap_within_the_noise_at_the_end_is_no_loss_beyond_it():
    turns = entrant((0.1, 0.1, 0.1, 0.7), (0.1, 0.2, 0.1, 1.5))
    found = raced((GOOD, turns), Rule("", CUTS, 2, leader=True))
    assert found.best_cut and found.fitness_lost == pytest.approx(0.1) and not found.gap_beyond_noise
    assert raced((GOOD, LATE), Rule("", CUTS, 2, leader=True)).gap_beyond_noise


def history(source, *fitness):
    """Of a run with a candidate, one seed for each fitness, and with a human reward on the first seed of the finals."""
    found = History()
    found.card, found.training = card(), Trained(trainer="ppo", settings={"env_steps": 1000})
    found.baselines = {"human": "human"}
    found.designed["g00-c00", 0] = Candidate(id="g00-c00", generation=0, operator="draft", source=source)
    for seed, value in enumerate(fitness):
        found.trained["search", "g00-c00", seed] = slice_result("g00-c00", seed, value)
    found.trained["final", "human", 100] = slice_result("human", 100, 0.5)
    return found


def test_a_training_that_several_runs_have_in_common_counts_once():
    found = trainings([history("a", 1.0, 2.0), history("a", 1.0), history("b", 3.0)])
    assert {source: sorted(by_seed) for source, by_seed in found["point 1k"].items()} == {
        "a": [0, 1],
        "b": [0],
        "human": [100],
    }


def test_too_few_candidates_to_race_are_an_error_with_a_hint(tmp_path):
    with pytest.raises(UsageError, match="three candidates with 2 seeds"):
        bench_racing((), RacingOptions(), lambda message: None)
