"""Measured tasks, transitions and trainings of a task's own rewards come from the cache only if nothing changed."""

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
    """The one file beside the entries of a cache."""
    (path,) = (path for path in (place / "cache" / "rewardgen" / folder).iterdir() if not path.suffix)
    return path


def bring(task, place):
    target = place / "run" / "bank.npz"
    target.parent.mkdir(exist_ok=True)
    get_or_record_transitions(task, target, LIMITS)
    return target


def test_a_bank_is_recorded_once_and_then_copied(place):
    task = point(place / "task")
    first = bring(task, place).read_bytes()
    recorded = stored(place).stat().st_ino
    assert bring(task, place).read_bytes() == first
    assert stored(place).stat().st_ino == recorded


def test_a_damaged_bank_is_recorded_again(place):
    task = point(place / "task")
    first = bring(task, place).read_bytes()
    stored(place).write_bytes(first[:500] + b"?" + first[501:])
    assert bring(task, place).read_bytes() == first == stored(place).read_bytes()


def test_a_changed_model_or_task_makes_another_bank(place):
    task = point(place / "task")
    first = bring(task, place).read_bytes()
    model = place / "task" / "point.xml"
    model.write_text(replaced(model.read_text(), ('damping="0.5"', 'damping="0.9"')))
    second = bring(task, place).read_bytes()
    assert second != first
    point(place / "task", ("episode_steps = 60", "episode_steps = 50"))
    assert load_transitions(bring(task, place)).facts.episode_steps == 50


def test_a_file_that_the_task_reads_has_the_transitions_recorded_again_when_it_changes(place):
    task = point(place / "task")
    data = place / "task" / "offset.json"
    data.write_text("1")
    bring(task, place)
    recorded = stored(place).stat().st_mtime_ns
    data.write_text("2")
    bring(task, place)
    assert stored(place).stat().st_mtime_ns != recorded


def test_what_was_measured_is_kept_with_the_bank(place, monkeypatch):
    task = point(place / "task")
    bring(task, place)
    known = get_or_measure(task, LIMITS)
    monkeypatch.setattr(cache, "measure", None)
    assert get_or_measure(task, LIMITS) == known and known.card.name == "point"
    assert bring(task, place).exists()


def test_what_was_measured_is_measured_again_when_the_file_is_damaged_or_the_task_changed(place):
    task = point(place / "task")
    known = get_or_measure(task, LIMITS)
    (path,) = (place / "cache" / "rewardgen" / "transitions").glob("*.json")
    path.write_text("{}")
    assert get_or_measure(task, LIMITS) == known
    point(place / "task", ("episode_steps = 60", "episode_steps = 50"))
    assert get_or_measure(task, LIMITS).card.episode_steps == 50


def test_a_card_that_was_measured_alone_is_measured_again_with_the_bank(place):
    task = point(place / "task")
    known = get_or_measure(task, LIMITS)
    target = place / "bank.npz"
    assert get_or_record_transitions(task, target, LIMITS) == known
    assert len(load_transitions(target)) >= 512


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


def test_entries_of_another_version_are_removed(place, monkeypatch):
    monkeypatch.setattr(cache, "_BASELINES", cache._BASELINES._replace(most=2))
    task, folder = Path(point(place / "task")), place / "cache" / "rewardgen" / "baselines"
    folder.mkdir(parents=True)
    for number in range(3):
        (folder / f"{number}.json").write_text("{}")
    keep(task, place)
    assert brought(baselines(task), place) and not list(folder.glob("?.json"))


def test_a_run_goes_on_without_a_cache_folder(place):
    (place / "cache").write_text("in the way")
    task = Path(point(place / "task"))
    assert len(load_transitions(bring(str(task), place))) >= 512
    keep(task, place)
    assert brought(baselines(task), place) is None
