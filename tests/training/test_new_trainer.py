"""A trainer from outside the package: one class with settings of its own, and a whole run trains with it."""

import pytest

from rewardgen.core.config import RunConfig
from rewardgen.search.lifecycle import start
from rewardgen.store.journal import SilentListener
from rewardgen.store.records import SliceResult, TrainerSettings
from rewardgen.training.protocol import TRAINERS, TrainerKind
from tests.sim.test_vec_env import POINT


class GuessingSettings(TrainerSettings):
    skill: float = 0.5


class GuessingTrainer:
    """Learns nothing: its fitness is its skill and a bit of the seed."""

    def __init__(self, setup):
        self.settings = setup.settings

    def train(self, rewards, slices, *, folder, on_progress, on_slice, cancel=None):
        for each in slices:
            fitness = self.settings.skill + 0.01 * (each.seed % 3)
            done = {"env_steps": self.settings.env_steps, "final_fitness": fitness, "final_success_rate": 0.0}
            on_slice(SliceResult(candidate_id=each.candidate_id, seed=each.seed, **done))


@pytest.fixture
def guessing():
    kind = TrainerKind(GuessingTrainer, GuessingSettings, learner="guessing", notes="It learns nothing.")
    TRAINERS.register("guessing", kind)
    yield
    TRAINERS.remove("guessing")


def test_a_whole_run_trains_with_a_registered_trainer(guessing, tmp_path):
    config = RunConfig(
        task=str(POINT), trainer="guessing", generations=1, candidates=2, seeds=1, final_seeds=2, env_steps=4096
    )
    history = start(config, tmp_path / "runs", SilentListener()).history
    assert history.training.trainer == "guessing" and history.training.settings["skill"] == 0.5
    assert history.summary.chosen is not None
    assert all(0.5 <= each.fitness.value <= 0.52 for each in history.summary.rows)
    assert history.card.learner == "guessing"
