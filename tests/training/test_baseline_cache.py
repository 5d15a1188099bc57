"""Trainings of the task's own rewards are taken from the last run that did the same, and from no other."""

import shutil
from pathlib import Path

import pytest

from rewardgen.store.records import SliceSpec, Training
from rewardgen.tasks.fingerprint import digests
from rewardgen.training.baseline_cache import BaselineCache
from tests.builders import failed_slice, slice_result

POINT = Path(__file__).parents[1] / "tasks" / "point.py"
SOURCE = "def compute_reward(speed):\n    return {'speed': speed}\n"
SETTINGS = {"env_steps": 1000}


@pytest.fixture
def task(tmp_path, monkeypatch):
    """A task file of its own, and an empty cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "task").mkdir()
    return Path(shutil.copy(POINT, tmp_path / "task" / "point.py"))


def cache_of(task, **settings):
    training = Training(trainer="ppo", settings=SETTINGS | settings)
    return BaselineCache(str(task), digests([task]), training)


def keep(task, tmp_path, result=None):
    folder = tmp_path / "first"
    folder.mkdir(exist_ok=True)
    (folder / "human-s3.npz").write_bytes(b"policy")
    result = result or slice_result("human", 3, 0.8).model_copy(update={"policy": "human-s3.npz"})
    cache_of(task).keep(result, SOURCE, folder, stop_hacking=True)
    return result


def bring(cache, tmp_path, id="human", seed=3, source=SOURCE, *, stop_hacking=True):
    spec = SliceSpec(candidate_id=id, seed=seed)
    return cache.bring(spec, source, tmp_path / "second", stop_hacking=stop_hacking)


def test_a_training_comes_back_with_its_policy(task, tmp_path):
    kept = keep(task, tmp_path)
    assert bring(cache_of(task), tmp_path) == kept
    assert (tmp_path / "second" / "human-s3.npz").read_bytes() == b"policy"


def test_whatever_else_it_depends_on_makes_it_another_training(task, tmp_path):
    keep(task, tmp_path)
    assert bring(cache_of(task), tmp_path, seed=4) is None
    assert bring(cache_of(task), tmp_path, id="sparse") is None
    assert bring(cache_of(task), tmp_path, source=SOURCE + "\n") is None
    assert bring(cache_of(task), tmp_path, stop_hacking=False) is None
    assert bring(cache_of(task, env_steps=2000), tmp_path) is None


def test_a_changed_task_file_or_one_beside_it_makes_it_another_training(task, tmp_path):
    keep(task, tmp_path)
    before = cache_of(task)
    (task.parent / "terrain.json").write_text("{}")
    assert bring(cache_of(task), tmp_path), "what was not there when it was measured was not read"
    task.write_text(task.read_text() + "\n# another\n")
    assert bring(before, tmp_path) is None and bring(cache_of(task), tmp_path) is None


def test_a_damaged_or_missing_file_is_no_training(task, tmp_path):
    keep(task, tmp_path)
    (policy,) = (each for each in (tmp_path / "cache" / "rewardgen" / "baselines").iterdir() if not each.suffix)
    policy.write_bytes(b"other")
    assert bring(cache_of(task), tmp_path) is None
    policy.unlink()
    assert bring(cache_of(task), tmp_path) is None


def test_a_failure_is_not_kept(task, tmp_path):
    keep(task, tmp_path, failed_slice("human", 3))
    assert bring(cache_of(task), tmp_path) is None


def test_what_another_version_left_there_is_cleared_away_and_ends_no_run(task, tmp_path, monkeypatch):
    monkeypatch.setattr("rewardgen.training.baseline_cache._KEPT", 2)
    folder = tmp_path / "cache" / "rewardgen" / "baselines"
    folder.mkdir(parents=True)
    for number in range(3):
        (folder / f"{number}.json").write_text("{}")
    keep(task, tmp_path)
    assert bring(cache_of(task), tmp_path) and not list(folder.glob("?.json"))


def test_where_nothing_can_be_kept_a_run_goes_on_without(task, tmp_path, monkeypatch):
    (tmp_path / "full").write_text("no folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "full"))
    keep(task, tmp_path)
    assert bring(cache_of(task), tmp_path) is None
