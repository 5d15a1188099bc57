"""Exploration bonuses: what they pay, when they end, and where they do not reach."""

import pytest
import torch

from rewardgen.core.config import RunConfig
from rewardgen.core.errors import UsageError
from rewardgen.training.cache import get_or_measure
from rewardgen.training.ppo.bonus import BONUSES
from rewardgen.training.ppo.learner import Learner
from rewardgen.training.ppo.settings import PpoSettings
from rewardgen.training.setup import raced_settings, settings_for
from rewardgen.training.shared.batch import SliceBatch
from rewardgen.training.shared.rollout import Rollout
from rewardgen.training.shared.seeding import slice_generators
from tests.tasks.files import POINT, point
from tests.training.builders import TINY, job, leaver

BOTH = pytest.mark.parametrize("name", ["rnd", "count"])
NOTHING = "def compute_reward(x):\n    return {'nothing': 0.0 * x}\n"


def bonus(name, slices=1, **settings):
    return BONUSES[name](
        3, PpoSettings(num_envs=8, **settings), slice_generators(range(slices), "bonus", torch.device("cpu"))
    )


def rows(*values):
    """Observations (1, 8, 3), all entries of each of which are one of the values."""
    return torch.tensor(values).repeat(8 // len(values)).view(1, 8, 1).expand(1, 8, 3)


@BOTH
def test_a_place_pays_less_the_more_often_it_was_seen_and_one_farther_off_is_new(name):
    paid = bonus(name)
    first = paid.novelty(rows(1.0))[0, 0]
    last = [paid.novelty(rows(1.0))[0, 0] for _ in range(60)][-1]
    assert last < 0.2 * first
    assert paid.novelty(rows(1.0, 4.0))[0, 1] > 4 * last


def test_a_count_pays_one_over_the_root_of_the_visits_of_its_own_slice():
    novelty = bonus("count", slices=2).novelty(torch.cat([rows(1.0), rows(1.0, -1.0)]))
    assert novelty[:, 0].tolist() == pytest.approx([8**-0.5, 4**-0.5])


@BOTH
def test_a_bonus_falls_to_nothing_before_the_last_fifth_of_the_training(name):
    paid, shares = bonus(name, slices=2, env_steps=160), []
    reward, done = torch.ones(2, 2, 8), torch.zeros(2, 2, 8, dtype=torch.bool)
    for step in range(10):  # 16 control steps each
        total, share = paid.added(reward, torch.randn(2, 16, 3), done)
        shares.append(share[0])
        assert torch.equal(total, reward) == (step >= 7)
    assert shares[0] > shares[3] > shares[6] > 0.0 and shares[7:] == [0.0] * 3


def test_a_bonus_trains_the_policy_and_enters_neither_return_nor_components(tmp_path):
    def trained(bonus):
        (folder := tmp_path / str(bonus)).mkdir()
        short = {"env_steps": 512, "rollout_steps": 8, "evaluation_phases": 4, "evaluation_envs": 1, "bonus": bonus}
        work = job(folder, {"a": NOTHING}, settings=TINY.model_copy(update=short))
        (result,) = SliceBatch(leaver(folder, "episode.lengths"), work, lambda message: None, Learner).run()
        return result, (folder / str(result.policy)).read_bytes()

    (result, policy), (_, without) = trained("rnd"), trained(None)
    assert policy != without
    assert [point.bonus for point in result.curve] == [1.0, 1.0, 1.0, 0.0]
    assert {point.episode_return for point in result.curve} == {0.0}
    assert list(result.components) == ["nothing"] and result.components["nothing"][-1].mean == 0.0


@BOTH
def test_a_weight_means_the_same_for_a_reward_of_any_size(name):
    generator = torch.Generator().manual_seed(0)
    seen, action = (torch.randn(16, 1, 8, size, generator=generator) for size in (3, 1))
    ends = torch.rand(16, 1, 8, generator=generator) < 0.1
    rollout = Rollout(seen, seen, action, torch.zeros_like(action), ends, ends, ends.flatten(1), {})

    def share(size, weight):
        learner = Learner(3, 1, [0], PpoSettings(num_envs=8, bonus=name, bonus_weight=weight), seen.device)
        learner.learn(rollout, size * seen.sum(-1))
        return learner.bonus_shares[0]

    assert share(1000.0, 0.2) == pytest.approx(share(1.0, 0.2), rel=1e-3)
    assert share(1.0, 0.4) > 1.3 * share(1.0, 0.2)


@pytest.mark.parametrize("trainer", ["sac", "sb3-ppo", "rsl-rl"])
def test_a_trainer_without_a_bonus_refuses_one(trainer):
    with pytest.raises(UsageError, match=f"`{trainer}` has no exploration bonus") as caught:
        settings_for(trainer, get_or_measure(str(POINT)), bonus="rnd")
    assert "`--trainer ppo`" in caught.value.hint


def test_settings_that_race_have_the_same_bonus(tmp_path):
    task, config = (
        get_or_measure(point(tmp_path, ("    training = ", "    _training = "))),
        RunConfig(task="point", bonus="count"),
    )
    raced = raced_settings(config, task, settings_for(None, task, bonus="count"))
    assert [*raced] == ["usual", "dense"] and {settings.bonus for _, settings in raced.values()} == {"count"}
