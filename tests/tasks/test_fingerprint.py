"""One answer to whether a task has changed, for the card, a run and the cache."""

import os
import shutil

import pytest

from rewardgen.tasks import fingerprint as bounded
from rewardgen.tasks.fingerprint import changed, digests, fingerprint, made_of
from rewardgen.tasks.loading import expert_file, load_task
from tests.tasks.files import point


@pytest.fixture
def task(tmp_path):
    """A task whose model includes a file from elsewhere, and that reads a folder of data."""
    (tmp_path / "robots").mkdir()
    (tmp_path / "data").mkdir()
    (tmp_path / "tasks").mkdir()
    (tmp_path / "data" / "scale.txt").write_text("2.0")
    path = point(tmp_path / "tasks", ("episode_steps = 60", 'episode_steps = 60\n    reads = ("../data",)'))
    (tmp_path / "tasks" / "point.xml").rename(tmp_path / "robots" / "point.xml")
    text = '<mujoco><include file="../robots/point.xml"/></mujoco>'
    (tmp_path / "tasks" / "point.xml").write_text(text)
    return load_task(path)


def test_nothing_has_changed_at_first_and_what_does_is_named(task, tmp_path):
    before = digests(made_of(task))
    assert changed(before) == []
    for path in (task.path, tmp_path / "tasks" / "point.xml", tmp_path / "robots" / "point.xml"):
        text = path.read_text()
        path.write_text(text + "\n")
        assert [each.name for each in changed(before)] == [path.name]
        path.write_text(text)
    (tmp_path / "data" / "more.txt").write_text("1.0")
    assert [each.name for each in changed(before)] == ["data"]


def test_an_expert_that_comes_or_goes_is_a_change(task):
    before = digests(made_of(task))
    expert_file(task.path).write_bytes(b"a policy")
    assert changed(before) == [expert_file(task.path)]
    assert fingerprint(digests(made_of(task))) != fingerprint(before)
    expert_file(task.path).unlink()
    assert changed(before) == []


def test_another_task_in_the_same_folder_is_none_of_its_own(task):
    before = digests(made_of(task))
    task.path.with_name("other.py").write_text("class Other: ...")
    assert changed(before) == []


def test_the_same_task_elsewhere_has_the_same_fingerprint(task, tmp_path):
    shutil.copytree(tmp_path / "tasks", tmp_path / "elsewhere")
    moved = load_task(str(tmp_path / "elsewhere" / task.path.name))
    assert fingerprint(digests(made_of(moved))) == fingerprint(digests(made_of(task)))


def huge(place):
    with open(place / "huge", "wb") as file:
        file.truncate((1 << 30) + 1)
    return place / "huge"


def folder_of_huge(place):
    (place / "folder").mkdir()
    return huge(place / "folder").parent


@pytest.mark.slow
@pytest.mark.parametrize("make", [huge, folder_of_huge])
def test_more_than_can_be_read_at_once_is_not_read_and_counts_as_changed(tmp_path, make):
    path = make(tmp_path)
    before = digests([path])
    assert before == {str(path): ""}
    assert changed(before) == [path]


@pytest.mark.parametrize(("limit", "most"), [("_MOST_BYTES", 10), ("_MOST_FILES", 2)])
def test_the_bounds_hold_for_all_files_together(tmp_path, monkeypatch, limit, most):
    for name in "abc":
        (tmp_path / name).write_text("12345")
    single = digests(sorted(tmp_path.iterdir()))
    whole = digests([tmp_path])
    assert changed(single) == changed(whole) == []
    monkeypatch.setattr(bounded, limit, most)
    assert changed(single) == [tmp_path / "c"]
    assert changed(whole) == [tmp_path]


def test_a_pipe_in_a_folder_is_not_waited_for_and_names_may_be_any(tmp_path):
    (tmp_path / "data").write_text("1")
    os.mkfifo(tmp_path / "pipe")
    before = digests([tmp_path, tmp_path / "pipe"])
    assert before[str(tmp_path / "pipe")] == ""
    (tmp_path / os.fsdecode(b"caf\xe9")).write_text("2")
    assert changed(before) == [tmp_path]
    assert changed(digests([tmp_path])) == []
