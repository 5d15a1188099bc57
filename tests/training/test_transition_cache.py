"""Banks are kept between runs, and recorded again whenever what is kept cannot be right."""

import pytest

from rewardgen.sandbox.limits import Limits
from rewardgen.sim.transitions import load_transitions
from rewardgen.training import transition_cache
from rewardgen.training.transition_cache import get_or_measure, get_or_record_transitions
from tests.tasks.files import point, replaced

LIMITS = Limits(wall_s=300.0)


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "task").mkdir()
    return tmp_path


def kept(place):
    (path,) = (place / "cache" / "rewardgen" / "transitions").glob("*.npz")
    return path


def bring(task, place):
    target = place / "run" / "bank.npz"
    target.parent.mkdir(exist_ok=True)
    get_or_record_transitions(task, target, LIMITS)
    return target


def test_a_bank_is_recorded_once_and_then_copied(place):
    task = point(place / "task")
    first = bring(task, place).read_bytes()
    recorded = kept(place).stat().st_ino
    assert bring(task, place).read_bytes() == first
    assert kept(place).stat().st_ino == recorded


@pytest.mark.parametrize("damage", [lambda data: data[:-100], lambda data: data[:500] + b"?" + data[501:]])
def test_a_damaged_bank_is_recorded_again(place, damage):
    task = point(place / "task")
    first = bring(task, place).read_bytes()
    kept(place).write_bytes(damage(first))
    assert bring(task, place).read_bytes() == first == kept(place).read_bytes()


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
    recorded = kept(place).stat().st_mtime_ns
    data.write_text("2")
    bring(task, place)
    assert kept(place).stat().st_mtime_ns != recorded


def test_a_folder_that_cannot_be_made_is_no_obstacle(place):
    (place / "cache").write_text("in the way")
    assert len(load_transitions(bring(point(place / "task"), place))) >= 512


def test_what_was_measured_is_kept_with_the_bank(place, monkeypatch):
    task = point(place / "task")
    bring(task, place)
    known = get_or_measure(task, LIMITS)
    monkeypatch.setattr(transition_cache, "measure", None)
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
