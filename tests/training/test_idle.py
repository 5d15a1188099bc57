import pytest

from rewardgen.store.records import RewardSpec, SliceSpec
from rewardgen.training.shared.rewards import Rewards
from rewardgen.training.shared.slices import idle_readings, input_names
from tests.training.builders import leaver

ALIVE = "def compute_reward(x):\n    return {'alive': torch.ones_like(x)}\n"
EFFORT = "def compute_reward(action):\n    return {'effort': action.abs().sum(-1)}\n"
NAN = "def compute_reward(x):\n    return {'x': torch.log(x - 100.0)}\n"


def read(task, **sources):
    specs = [RewardSpec(candidate_id=id, source=source) for id, source in sources.items()]
    slices = [SliceSpec(candidate_id=id, seed=0) for id in sources]
    return idle_readings(task, Rewards(specs, slices, input_names(task)), len(slices))


def test_doing_nothing_is_paid_by_each_reward_in_its_own_way(tmp_path):
    # The point starts with up to 1 m/s and has left the middle before its 40 steps of 0.01 s are over, or not.
    alive, effort = read(leaver(tmp_path, "episode.lengths.double()"), alive=ALIVE, effort=EFFORT)
    assert alive.episode_return == pytest.approx(alive.episode_steps) == pytest.approx(alive.fitness)
    assert 1 <= alive.episode_steps <= 40
    assert effort.episode_return == 0.0


def test_a_reward_that_fails_on_idle_episodes_leaves_the_others_theirs(tmp_path):
    wrong, alive = read(leaver(tmp_path, "episode.lengths.double()"), wrong=NAN, alive=ALIVE)
    assert wrong is None and alive is not None


def test_idle_episodes_that_the_task_cannot_measure_are_no_error(tmp_path):
    task = leaver(tmp_path, "episode.lengths * torch.nan")
    assert read(task, alive=ALIVE) == [None]
