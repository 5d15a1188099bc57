"""Trainings whose episodes begin easier at first."""

import pytest

from rewardgen.core.errors import TaskError, UsageError
from rewardgen.sim.sim_env import SimulatorEnv
from rewardgen.tasks.loading import lasting_reference, load_task
from rewardgen.training.cache import get_or_measure
from rewardgen.training.setup import card_for, settings_for
from rewardgen.training.shared.batch import difficulty
from tests.tasks.files import POINT
from tests.training.builders import TINY, policies

NEAR = """
def compute_reward(distance):
    return {"near": -distance}
"""
FAR = NEAR.replace("-distance", "distance")
MAZE = lasting_reference("maze_detour")
LEVELS = TINY.model_copy(update={"levels": (0.2, 0.6)})


def test_the_first_half_of_a_training_passes_the_levels_equally_long_and_the_second_is_the_task_itself():
    passed = [difficulty((0.2, 0.6), number / 8) for number in range(8)]
    assert passed == [0.2, 0.2, 0.6, 0.6, 1.0, 1.0, 1.0, 1.0]


def test_episodes_of_a_training_begin_easier_at_first_and_as_in_the_task_at_last(tmp_path, monkeypatch):
    eased = []
    monkeypatch.setattr(SimulatorEnv, "ease", lambda envs, value: eased.append(value))
    policies(tmp_path / "levels", {"a": NEAR}, LEVELS, MAZE)
    assert eased == [0.2, 0.2, 0.6, 1.0, 1.0]


def test_easier_starts_of_the_maze_lie_on_the_way_before_the_goal():
    envs = load_task(MAZE).make_envs([0], 64)
    plain = envs.reset(anew=True)
    envs.ease(0.2)
    near = envs.reset(anew=True)
    envs.ease(1.0)
    assert envs.reset(anew=True).equal(plain)
    assert near[:, 4:6].norm(dim=1).mean() < 0.75 < plain[:, 4:6].norm(dim=1).mean()
    assert (near[:, 1] > 0.3).any() and (near[:, 1] < -0.3).any()


def test_trainings_with_levels_differ_and_give_the_same_bits_alone_and_among_others(tmp_path):
    plain = policies(tmp_path / "plain", {"a": NEAR}, TINY, MAZE)
    alone = policies(tmp_path / "alone", {"a": NEAR}, LEVELS, MAZE)
    beside = policies(tmp_path / "beside", {"b": FAR, "a": NEAR}, LEVELS, MAZE)
    assert alone["a"] == beside["a"] != plain["a"]


def test_the_settings_take_the_tasks_levels_and_the_designer_reads_of_them():
    task = get_or_measure(MAZE)
    assert settings_for(None, task, levels=True).levels[:2] == (0.2, 0.5)
    assert settings_for(None, task).levels == ()
    assert "episodes begin easier" in card_for(None, task, settings_for(None, task, levels=True)).learner_notes
    assert "begin easier" not in card_for(None, task).learner_notes


def test_a_task_or_trainer_without_levels_says_so():
    with pytest.raises(UsageError, match="the task point has no levels"):
        settings_for(None, get_or_measure(str(POINT)), levels=True)
    with pytest.raises(UsageError, match="the trainer `sb3-ppo` has no levels"):
        settings_for("sb3-ppo", get_or_measure(MAZE), levels=True)
    with pytest.raises(TaskError, match="no levels"):
        load_task(lasting_reference("CartPole-v1")).make_envs([0], 1).ease(0.5)
