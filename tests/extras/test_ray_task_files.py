"""A task's files on their way to another machine."""

import shutil
from pathlib import Path

import pytest

from rewardgen.core.errors import TaskError
from rewardgen.core.files import cache_folder
from rewardgen.extras.ray.task_files import packed, unpacked

CONTENT = {"tasks/mine.py": b"code", "robots/arm.xml": b"model", "robots/meshes/hand.obj": b"mesh"}


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name, data in {**CONTENT, "robots/meshes/.env": b"key", "tasks/other.py": b"not named"}.items():
        path = tmp_path / "work" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return tmp_path / "work"


def pack(files):
    named = ("tasks/mine.py", "tasks/mine.expert.npz", "tasks/../robots/arm.xml", "robots/meshes")
    return packed(str(files / "tasks" / "mine.py"), [str(files / each) for each in named])


def test_files_lie_to_each_other_as_they_did_and_what_is_hidden_stays(files):
    task, content = pack(files)
    assert content == CONTENT
    shutil.rmtree(files)
    there = Path(unpacked(task, lambda: content))
    assert {each: (there.parents[1] / each).read_bytes() for each in CONTENT} == CONTENT
    assert there.relative_to(there.parents[1]) == Path("tasks/mine.py")


def test_files_that_are_there_already_are_not_sent_again(files):
    task, content = pack(files)
    assert unpacked(task, lambda: content) == unpacked(task, lambda: pytest.fail("they were fetched"))
    (files / "robots" / "arm.xml").write_bytes(b"another")
    assert pack(files)[0].digest != task.digest


def test_processes_that_unpack_at_the_same_time_do_not_mind(files):
    task, content = pack(files)

    def while_another_unpacks():
        unpacked(task, lambda: content)
        return content

    assert Path(unpacked(task, while_another_unpacks)).read_bytes() == b"code"
    assert len(list(cache_folder("tasks").iterdir())) == 1


def test_a_shipped_task_travels_by_its_name():
    task, content = packed("cartpole", ["/somewhere/cartpole.py"])
    assert content == {} and unpacked(task, dict) == "cartpole"


def test_files_that_are_too_large_are_refused(files):
    with (files / "robots" / "meshes" / "huge.bin").open("wb") as file:
        file.truncate((1 << 30) + 1)
    with pytest.raises(TaskError, match="1 GiB"):
        pack(files)
