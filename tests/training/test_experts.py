"""A task's expert policy: trained with its human reward, kept beside its file, recorded in its bank."""

import shutil

import pytest

from rewardgen.core.errors import RewardgenError, TaskError, UsageError
from rewardgen.sandbox.limits import Limits
from rewardgen.sim.transitions import load_transitions
from rewardgen.tasks.fingerprint import digests, fingerprint, made_of
from rewardgen.tasks.loading import expert_file, load_task
from rewardgen.tasks.record_transitions import record_transitions
from rewardgen.training.cache import get_or_measure, get_or_record_transitions
from rewardgen.training.expert_policy import load_expert
from rewardgen.training.retraining import make_expert
from tests.tasks.files import point

LIMITS = Limits(wall_s=300.0)
WITHOUT_REWARD = ("def human_reward", "def some_other_reward")
BACKWARDS = ('"near": torch.exp(-4.0 * position.abs())', '"far": position.abs()')
SEES_MORE = ('torch.stack((variables["position"], variables["velocity"])', "torch.cat((sim.qpos, sim.qvel, sim.ctrl)")
STRONGER = ('ctrlrange="-1 1"', 'ctrlrange="-2 2"')


def make(task, **options):
    heard = []
    made = make_expert(task, **{"seeds": 1, **options}, on_progress=heard.append)
    return made, heard


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A point task with an expert policy, what making it returned, and what it told on the way."""
    reference = point(tmp_path_factory.mktemp("task"))
    return reference, *make(reference, seeds=2)


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def equipped(trained, folder, *changes, model=None):
    """A copy of the task, changed, with the expert policy of the original."""
    reference = point(folder, *changes, model=model)
    task = load_task(reference)
    shutil.copy(trained[1][0], expert_file(task.path))
    return task


def test_the_best_of_some_seeds_is_kept_beside_the_task_file(trained):
    reference, (path, best), heard = trained
    assert path == expert_file(load_task(reference).path) and path.name == "point.expert.npz"
    last = {message["seed"]: message["fitness"] for message in heard}
    assert set(last) == {0, 1} and best.seed in last
    trivial = max(probe.fitness for probe in get_or_measure(reference).card.probes)
    assert best.final_fitness > trivial + 0.2


def test_its_episodes_are_in_the_bank_and_some_of_them_are_noisy(trained):
    task = load_task(trained[0])
    bank = record_transitions(task, load_expert(task))
    rows = bank.of("expert")
    assert 200 <= rows.sum() <= 1500 and rows.sum() < 0.4 * len(bank)
    late = rows & (bank.step > 40)
    assert (bank.inputs["position"][late].abs() < 0.2).float().mean() > 0.9
    jumps = (bank.inputs["action"] - bank.inputs["prev_action"]).abs().mean(1)
    rough = [float(jumps[late & (bank.episode == each)].mean()) for each in bank.episode[late].unique()]
    assert max(rough) > 3.0 * min(rough)
    assert not (bank.beginners & rows).any()


def test_a_new_expert_makes_a_new_bank(trained, place):
    task, target = equipped(trained, place), place / "bank.npz"
    get_or_record_transitions(str(task.path), target, LIMITS)
    assert load_transitions(target).of("expert").any()
    before = fingerprint(digests(made_of(task)))
    expert_file(task.path).unlink()
    assert fingerprint(digests(made_of(task))) != before
    get_or_record_transitions(str(task.path), target, LIMITS)
    assert not load_transitions(target).of("expert").any()


@pytest.mark.parametrize(
    ("changes", "model", "problem"),
    [
        ([SEES_MORE], None, "its observations have 2 entries, the task's 3"),
        ([], STRONGER, "its actions have another range"),
    ],
)
def test_an_expert_that_does_not_fit_the_task_names_itself_and_how_to_mend_it(trained, place, changes, model, problem):
    task = equipped(trained, place, *changes, model=model)
    with pytest.raises(TaskError, match=problem) as caught:
        load_expert(task)
    assert str(expert_file(task.path)) in caught.value.message
    assert f"rewardgen tasks expert {task.path}" in caught.value.hint and "delete it" in caught.value.hint


def test_a_task_without_a_human_reward_is_told_before_any_training(place):
    with pytest.raises(TaskError, match="no human reward") as caught:
        make(point(place, WITHOUT_REWARD))
    assert "static method `human_reward`" in caught.value.hint


def test_a_place_that_cannot_be_written_is_told_before_any_training(place):
    reference = point(place)
    expert_file(load_task(reference).path).mkdir()
    heard = []
    with pytest.raises(UsageError, match=r"cannot write .*point\.expert\.npz") as caught:
        make_expert(reference, 1, on_progress=heard.append)
    assert "copy the task file" in caught.value.hint and heard == []


def test_a_policy_no_better_than_doing_nothing_is_not_kept(place):
    reference = point(place, BACKWARDS)
    with pytest.raises(RewardgenError, match="a trivial one") as caught:
        make(reference, env_steps=2048)
    assert "--env-steps" in caught.value.hint
    assert not expert_file(load_task(reference).path).exists()
