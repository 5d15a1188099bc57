"""A step budget that is too small to separate rewards is said once, after the first generation."""

import pytest

from rewardgen.store.events import read_events
from tests.builders import slice_result
from tests.search.parts import Crew, a_search


def curve(*fitness):
    point = {"success_rate": 0.0, "episode_steps": 10.0, "episode_return": 0.0}
    return tuple(point | {"env_steps": 100 * number, "fitness": value} for number, value in enumerate(fitness, 1))


RISING, FLAT = (0.0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3), (0.0, 0.2, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3)


class Slow(Crew):
    """The task's own rewards follow given curves, each with two seeds that end a little apart."""

    def __init__(self, human=RISING, sparse=RISING):
        super().__init__()
        self.curves = {"human": human, "sparse": sparse}

    def _slice(self, id, seed):
        if id not in self.curves:
            return super()._slice(id, seed)
        return slice_result(id, seed, self.curves[id][-1] + 0.1 * (seed % 10), curve=curve(*self.curves[id]))


def test_a_run_says_so_once_before_its_second_generation_and_goes_on(tmp_path):
    search, history = a_search(tmp_path, Slow(), generations=2)
    search()
    kinds = [event.kind for event in read_events(tmp_path / "events.jsonl")]
    assert kinds.count("steps-doubted") == 1
    assert kinds.index("generation-finished") < kinds.index("steps-doubted") < kinds.index("finals-started")
    assert "1k steps may be too few" in history.steps_doubt and "human 0.35 and sparse 0.35" in history.steps_doubt


@pytest.mark.parametrize(
    ("human", "sparse"), [(FLAT, FLAT), (RISING, FLAT), (tuple(9 * fitness for fitness in RISING), RISING)]
)
def test_curves_that_are_flat_or_rewards_that_differ_raise_no_doubt(tmp_path, human, sparse):
    search, history = a_search(tmp_path, Slow(human, sparse), generations=1)
    search()
    assert history.steps_doubt == ""


def test_a_judge_that_compares_nothing_of_them_leaves_the_tasks_own_rewards_to_their_fitness(tmp_path):
    ahead = tuple(100.0 * value for value in RISING)
    search, history = a_search(tmp_path, Slow(human=ahead), generations=2, judge="simulated:oracle")
    search()
    assert history.steps_doubt == ""
