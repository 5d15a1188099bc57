import shutil

import pytest
import torch

from rewardgen.core.errors import RunFolderError
from rewardgen.store.records import SliceSpec
from rewardgen.tasks.loading import expert_file, shipped_tasks
from rewardgen.training.evaluation import evaluate, evaluate_job
from rewardgen.training.measuring import take_policies
from rewardgen.training.policies import load_policy, side_by_side
from rewardgen.training.ppo.train_job import train_job
from rewardgen.training.shared.seeding import derive_seed
from tests.training.builders import job, leaver


def silent(message):
    pass


@pytest.fixture(scope="module")
def task(tmp_path_factory):
    return leaver(tmp_path_factory.mktemp("task"), "episode.last(episode['x'])")


@pytest.fixture(scope="module")
def trained(task, tmp_path_factory):
    """A folder with the policies of one reward and two seeds, and the answer of their training."""
    folder = tmp_path_factory.mktemp("policies")
    return folder, train_job(leaver_job(folder, task, [0, 1]).model_dump(mode="json"), silent)


def leaver_job(folder, task, seeds):
    rightwards = "def compute_reward(x):\n    return {'x': x}\n"
    return job(folder, {"a": rightwards}, seeds).model_copy(update={"task": str(task.path)})


def measure(task, folder, slices, seed=0):
    payload = {"task": str(task.path), "folder": str(folder), "slices": slices}
    return evaluate_job({**payload, "seed": seed, "episodes": 4}, silent)["slices"]


BOTH = [{"candidate_id": "a", "seed": 0}, {"candidate_id": "a", "seed": 1}]


def test_measured_fitness_is_the_mean_of_the_last_two_policies(task, trained, tmp_path):
    folder, _ = trained
    both = measure(task, folder, BOTH[:1])[0]["fitness"]
    singles = []
    for name in ("a-s0.npz", "a-s0-prev.npz"):
        own = tmp_path / name
        own.mkdir()
        (own / "a-s0.npz").write_bytes((folder / name).read_bytes())
        singles.append(measure(task, own, BOTH[:1])[0]["fitness"])
    assert singles[0] != singles[1]
    assert both == pytest.approx(sum(singles) / 2)


def test_measured_fitness_depends_on_the_seed_only(task, trained):
    folder, _ = trained
    assert measure(task, folder, BOTH) == measure(task, folder, BOTH)
    assert measure(task, folder, BOTH)[0] == measure(task, folder, BOTH[:1])[0]
    assert measure(task, folder, BOTH, seed=1) != measure(task, folder, BOTH)


def test_ranges_are_those_of_the_steps_that_the_final_policy_lived(task, trained, tmp_path):
    folder, _ = trained
    (found,) = measure(task, folder, BOTH[:1])
    ((low, middle, high),) = found["ranges"].pop("x")
    recording = evaluate(
        task,
        task.make_envs([derive_seed(0, "final evaluation 0")], 4),
        side_by_side([load_policy(folder / "a-s0.npz")]),
    ).recording
    x = recording.episode["x"][recording.episode.mask]
    assert (low, middle, high) == pytest.approx(x.double().quantile(torch.tensor([0.05, 0.5, 0.95]).double()), rel=1e-3)
    assert found["ranges"] == {}


UNUSABLE = {
    "not a policy file": lambda path: path.write_bytes(b"not a policy"),
    "its observations have 11 entries, the task's 2": lambda path: shutil.copy(
        expert_file(shipped_tasks()["hopper"]), path
    ),
}


@pytest.mark.parametrize("problem", UNUSABLE)
def test_a_policy_that_cannot_be_used_is_the_problem_of_its_slice_only(task, trained, tmp_path, problem):
    folder, _ = trained
    for path in folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    UNUSABLE[problem](tmp_path / "a-s1.npz")
    sound, broken = measure(task, tmp_path, BOTH)
    assert sound["fitness"] is not None and broken["fitness"] is None and problem in broken["problem"]


@pytest.fixture
def policy(trained):
    return load_policy(trained[0] / "a-s0.npz")


def test_evaluation_measures_one_whole_episode_per_env(tmp_path, policy):
    task = leaver(tmp_path, "episode.lengths.float()")
    found = evaluate(task, task.make_envs([0], 8), side_by_side([policy]))
    episode = found.recording.episode
    left = [ending == "left" for ending in found.recording.endings]
    assert any(left) and not all(left)
    assert left == found.success.tolist() == (found.fitness < 40).tolist() == episode.terminated.tolist()
    # An episode that ended is followed by another in the same env: what counts is the first.
    assert ((episode.last(episode["x"]).abs() > 0.2) == torch.tensor(left)).all()


def test_fitness_that_fails_for_one_policy_is_the_problem_of_its_slice_only(tmp_path, policy):
    task = leaver(tmp_path, "episode.lengths.float()")
    seeds = [0, 1]
    whole = evaluate(task, task.make_envs(seeds, 8), side_by_side([policy, policy]))
    first_place = float(whole.recording.episode["x"][0, 3])
    picky = f"torch.where(episode['x'][0] == {first_place!r}, torch.nan, 1.0) * episode.lengths.float()"
    choosy = leaver(tmp_path, picky)
    found = evaluate(choosy, choosy.make_envs(seeds, 8), side_by_side([policy, policy]))
    assert found.problems == {0: "`fitness` is not finite"}
    assert found.fitness[:8].isnan().all() and torch.equal(found.fitness[8:], whole.fitness[8:])


def test_the_parts_of_a_metric_are_measured_over_the_episodes_of_both_policies(tmp_path, trained):
    task = leaver(tmp_path, part="x.abs().amax(1).clamp(0.0, 1.0)")
    (found,) = measure(task, trained[0], BOTH[:1])
    assert list(found["parts"]) == ["away", "left"] and 0.0 < found["parts"]["away"] < 1.0
    assert found["fitness"] == pytest.approx(sum(found["parts"].values()))
    assert found["parts"]["left"] == found["success_rate"]


def test_a_metric_that_raises_for_one_policy_is_told_with_its_line_as_that_slices_problem(tmp_path, policy):
    task = leaver(tmp_path, part="x.abs().amax(1).clamp(0.0, 1.0)")
    whole = evaluate(task, task.make_envs([0, 1], 8), side_by_side([policy, policy]))
    first_place = float(whole.recording.episode["x"][0, 3])
    picky = leaver(tmp_path, part=f"1.0 / torch.where((x[:, 0] - {first_place!r}).abs() < 1e-6, 0.0, 1.0)")
    found = evaluate(picky, picky.make_envs([0, 1], 8), side_by_side([policy, policy]))
    assert found.problems.keys() == {0} and "`metric` of leaver.py: component `away` is inf" in found.problems[0]
    assert found.parts["away"][:8].isnan().all() and (found.parts["away"][8:] == 1.0).all()
    broken = leaver(tmp_path, part="x[:, 99]")
    problem = evaluate(broken, broken.make_envs([0], 8), side_by_side([policy])).problems[0]
    line = (tmp_path / "leaver.py").read_text().partition("away = x")[0].count("\n") + 1
    assert problem.startswith(f"`metric` of leaver.py at line {line}: IndexError: ")
    assert "99]" not in problem  # it is told to the designer, who must not see the code


def test_a_full_disk_is_not_the_fault_of_the_policy(tmp_path, small_disk):
    (tmp_path / "a-s1.npz").write_bytes(b"x" * 4_000_000)
    with pytest.raises(RunFolderError, match="disk is full"):
        take_policies(SliceSpec(candidate_id="a", seed=1), [tmp_path / "a-s1.npz"], small_disk / "kept", 8_000_000)
