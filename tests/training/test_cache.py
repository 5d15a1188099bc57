"""Measured tasks, transitions and trainings of a task's own rewards come from the cache only if nothing changed."""

import os
from pathlib import Path

import pytest

from rewardgen.sandbox.limits import Limits
from rewardgen.sim.transitions import load_transitions
from rewardgen.store.records import SliceSpec, Training
from rewardgen.tasks.fingerprint import digests
from rewardgen.training import cache
from rewardgen.training.cache import BaselineCache, get_or_measure, get_or_record_transitions
from tests.builders import failed_slice, slice_result
from tests.tasks.files import point, replaced

LIMITS = Limits(wall_s=300.0)
SOURCE = "def compute_reward(speed):\n    return {'speed': speed}\n"


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "task").mkdir()
    return tmp_path


def stored(place, folder="transitions"):
    """The one entry of a cache."""
    (path,) = (place / "cache" / "rewardgen" / folder).iterdir()
    return path


def bring(task, place):
    target = place / "run" / "bank.npz"
    target.parent.mkdir(exist_ok=True)
    get_or_record_transitions(task, target, LIMITS)
    return target


def test_a_task_is_measured_and_its_transitions_recorded_once(place, monkeypatch):
    task = point(place / "task")
    alone = get_or_measure(task, LIMITS)
    first = bring(task, place).read_bytes()
    assert len(load_transitions(place / "run" / "bank.npz")) >= 512
    monkeypatch.setattr(cache, "measure", None)
    assert bring(task, place).read_bytes() == first
    assert get_or_measure(task, LIMITS) == alone and alone.card.name == "point"


@pytest.fixture
def measurings(place, monkeypatch):
    """The jobs by which a task was measured, each with the same outcome and the files as they are."""
    task, jobs = point(place / "task"), []
    content = get_or_measure(task, LIMITS).model_dump(mode="json")

    def measure(job, payload, limits):
        jobs.append(job.name)
        if "path" in payload:
            Path(payload["path"]).write_bytes(b"transitions")
        return {**content, "files": digests([Path(task), place / "task" / "point.xml"])}

    monkeypatch.setattr(cache, "measure", measure)
    return task, jobs


def test_a_damaged_entry_is_measured_again(place, measurings):
    task, jobs = measurings
    bring(task, place)
    sound = stored(place).read_bytes()
    deflated = sound.replace(b"PK\1\2\x14\3\x14\0\0\0\0\0", b"PK\1\2\x14\3\x14\0\0\0\x08\0")
    for damaged in (sound.replace(b"transitions", b"transitionz"), sound[:500], b"{}", deflated):
        assert damaged != sound
        stored(place).write_bytes(damaged)
        assert bring(task, place).read_bytes() == b"transitions"
    assert jobs == ["transitions"] * 5


def test_a_change_of_the_task_its_model_or_a_file_beside_it_has_it_measured_again(place, measurings):
    task, jobs = measurings
    folder = place / "task"
    (folder / "offset.json").write_text("1")
    for name, old, new in (
        ("point.xml", 'damping="0.5"', 'damping="0.9"'),
        ("offset.json", "1", "2"),
        ("point.py", "episode_steps = 60", "episode_steps = 50"),
    ):
        bring(task, place)
        before = len(jobs)
        (folder / name).write_text(replaced((folder / name).read_text(), (old, new)))
        bring(task, place)
        bring(task, place)
        assert len(jobs) == before + 1, name


def test_huge_files_and_folders_beside_a_task_do_not_keep_it_from_the_cache(place, measurings):
    task, jobs = measurings
    (place / "task" / "recorded.csv").write_bytes(b"")
    os.truncate(place / "task" / "recorded.csv", (1 << 30) + 1)
    (place / "task" / "runs.json").mkdir()
    bring(task, place)
    (place / "task" / "runs.json" / "other").write_text("1")
    bring(task, place)
    assert len(jobs) == 1


def test_an_entry_too_large_to_be_read_is_not_written(place, monkeypatch):
    monkeypatch.setattr(cache, "_MOST_BYTES", 200)
    keep(Path(point(place / "task")), place)
    assert not list(place.glob("cache/rewardgen/baselines/*.zip"))


def baselines(task, **settings):
    training = Training(trainer="ppo", settings={"env_steps": 1000} | settings)
    return BaselineCache(str(task), digests([task]), training)


def keep(task, place, result=None):
    (place / "first").mkdir(exist_ok=True)
    (place / "first" / "human-s3.npz").write_bytes(b"policy")
    result = result or slice_result("human", 3, 0.8).model_copy(update={"policy": "human-s3.npz"})
    baselines(task).keep(result, SOURCE, place / "first")
    return result


def brought(kept, place, id="human", seed=3, source=SOURCE):
    spec = SliceSpec(candidate_id=id, seed=seed)
    return kept.bring(spec, source, place / "second")


def test_a_training_comes_back_with_its_policy_if_nothing_it_depends_on_differs(place):
    task = Path(point(place / "task"))
    assert brought(baselines(task), place) is None
    result = keep(task, place)
    assert brought(baselines(task), place) == result
    assert (place / "second" / "human-s3.npz").read_bytes() == b"policy"
    assert brought(baselines(task), place, seed=4) is None
    assert brought(baselines(task), place, id="sparse") is None
    assert brought(baselines(task), place, source=SOURCE + "\n") is None
    assert brought(baselines(task, env_steps=2000), place) is None
    before = baselines(task)
    task.write_text(task.read_text() + "\n# another\n")
    assert brought(before, place) is None and brought(baselines(task), place) is None


def test_no_damaged_file_and_no_failure_is_a_training(place):
    task = Path(point(place / "task"))
    keep(task, place)
    stored(place, "baselines").write_bytes(b"other")
    assert brought(baselines(task), place) is None
    keep(task, place, failed_slice("human", 3))
    assert brought(baselines(task), place) is None


def test_entries_that_were_used_longest_ago_are_removed(place, monkeypatch):
    monkeypatch.setattr(cache, "_BASELINES", cache._BASELINES._replace(most=2))
    task, folder = Path(point(place / "task")), place / "cache" / "rewardgen" / "baselines"
    folder.mkdir(parents=True)
    for number in range(3):
        (folder / f"{number}.zip").write_bytes(b"")
        os.utime(folder / f"{number}.zip", (number, number))
    keep(task, place)
    assert brought(baselines(task), place) and [path.name for path in folder.glob("?.zip")] == ["2.zip"]


def test_a_run_goes_on_without_a_cache_folder(place):
    (place / "cache").write_text("in the way")
    task = Path(point(place / "task"))
    assert bring(str(task), place).exists()
    keep(task, place)
    assert brought(baselines(task), place) is None
