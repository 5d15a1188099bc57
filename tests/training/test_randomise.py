"""Trainings whose episodes draw their physics, and policies measured under changed physics."""

import pytest

from rewardgen.core.config import RunConfig
from rewardgen.core.errors import TaskError, UsageError
from rewardgen.sandbox.process import Limits
from rewardgen.search.lifecycle import Resume, resume, start
from rewardgen.store.journal import SilentListener
from rewardgen.store.records import RewardSpec, SliceSpec
from rewardgen.tasks.loading import lasting_reference
from rewardgen.training.cache import get_or_measure
from rewardgen.training.measuring import measured_policies
from rewardgen.training.protocol import TRAINERS, TrainerKind, TrainerSetup
from rewardgen.training.sb3.settings import Sb3PpoSettings
from rewardgen.training.setup import card_for, settings_for
from tests.tasks.files import POINT, point
from tests.training.builders import TINY, UPRIGHT, policies
from tests.training.test_new_trainer import GuessingSettings, GuessingTrainer
from tests.training.test_sb3 import one_slice
from tests.training.test_stages import STAGED

RANGES = ("mass=0.2:4", "delay=0:3")
SETTINGS = TINY.model_copy(update={"randomise": RANGES})


def test_randomised_trainings_differ_and_give_the_same_bits_alone_and_among_others(tmp_path):
    other = UPRIGHT.replace("pole_upright}", "-pole_upright}")
    plain = policies(tmp_path / "plain", {"a": UPRIGHT}, TINY)
    alone = policies(tmp_path / "alone", {"a": UPRIGHT}, SETTINGS)
    beside = policies(tmp_path / "beside", {"b": other, "a": UPRIGHT}, SETTINGS)
    assert alone["a"] == beside["a"] != plain["a"]


def test_a_trainer_of_one_slice_at_a_time_draws_the_physics_too(tmp_path):
    settings = Sb3PpoSettings(env_steps=200, num_envs=2, hidden=(8,), randomise=("delay=2",))
    envs = one_slice(tmp_path, settings).envs
    envs.reset()
    start = envs.view.qpos.clone()
    envs.step(envs.action_high.expand(2, -1))
    assert (envs.view.qvel.abs() <= 0.011).all() and envs.view.qpos == pytest.approx(start, abs=0.01)


def test_the_designer_reads_the_ranges_and_the_settings_keep_them():
    task = get_or_measure(str(POINT))
    settings = settings_for(None, task, randomise=("delay=0:2", "mass=0.8:1.2"))
    assert settings.randomise == ("mass=0.8:1.2", "delay=0:2")
    notes = card_for(None, task, settings).learner_notes
    assert "in control steps: mass 0.8:1.2, delay 0:2." in notes
    assert "draws factors" not in card_for(None, task).learner_notes


def test_a_task_file_may_ask_for_ranges(tmp_path):
    task = get_or_measure(point(tmp_path, ("PpoSettings(", "PpoSettings(randomise=('gravity=0.5:1',), ")))
    assert settings_for(None, task).randomise == ("gravity=0.5:1",)
    assert "gravity 0.5:1." in card_for(None, task).learner_notes


def test_what_cannot_randomise_says_so():
    point_task = get_or_measure(str(POINT))
    TRAINERS.register("guessing", TrainerKind(GuessingTrainer, GuessingSettings, learner="none"))
    try:
        with pytest.raises(UsageError, match="`guessing` does not randomise") as error:
            settings_for("guessing", point_task, randomise=("mass=2",))
    finally:
        TRAINERS.remove("guessing")
    assert "--trainer ppo" in error.value.hint
    with pytest.raises(TaskError, match="cannot change"):
        settings_for(None, get_or_measure(lasting_reference("CartPole-v1")), randomise=("mass=2",))
    with pytest.raises(UsageError, match="on the CPU only"):
        settings_for(None, point_task, device="warp-cpu", randomise=("mass=2",))
    with pytest.raises(UsageError, match="no parameter `fricton`"):
        RunConfig(task="hopper", randomise=("fricton=1:2",))


def test_a_run_keeps_its_ranges_and_its_bonus_when_it_goes_on_and_tells_the_designer(tmp_path):
    class Settings(GuessingSettings):
        bonus: str | None = None

    TRAINERS.register("guessing", TrainerKind(GuessingTrainer, Settings, learner="none", randomises=True))
    try:
        config = {"trainer": "guessing", "randomise": RANGES, "bonus": "rnd"}
        config |= {"candidates": 1, "seeds": 1, "final_seeds": 1}
        ended = start(RunConfig(task=str(POINT), generations=1, **config), tmp_path / "runs", SilentListener())
        history = resume(ended.folder, SilentListener(), Resume(generations=1)).history
    finally:
        TRAINERS.remove("guessing")
    assert tuple(history.training.settings["randomise"]) == history.config.randomise == RANGES
    assert history.training.settings["bonus"] == history.config.bonus == "rnd"
    assert "a bonus for rare observations" in history.card.learner_notes


def test_policies_are_measured_under_changed_physics_also_those_that_see_stages(tmp_path):
    policies(tmp_path / "trained", {"a": STAGED}, TINY)
    spec, reward = SliceSpec(candidate_id="a", seed=0), RewardSpec(candidate_id="a", source=STAGED)
    limits = Limits(wall_s=60.0)

    def fitness(*physics):
        place = tmp_path / "-".join(("at", *physics))
        setup = TrainerSetup("cartpole", TINY, workers=1, scratch=place, limits=limits)
        paths = {spec: [tmp_path / "trained" / "a-s0.npz"]}
        (measured,) = measured_policies(setup, paths, {"a": reward}, episodes=3, physics=physics).values()
        assert not measured.problem
        return measured.fitness

    assert fitness() == fitness("mass=1", "delay=0")
    assert fitness("mass=0.2") != fitness() != fitness("delay=3")
