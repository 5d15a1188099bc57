"""What a user's own task file may do in a worker: read what lies beside it or is named, print, start no thread."""

import os
import sys

import pytest

from rewardgen.core.errors import SandboxError, TaskError
from rewardgen.sandbox import grants
from rewardgen.sandbox.process import run_worker
from rewardgen.tasks.loading import load_task
from rewardgen.tasks.measure import MEASURE_TASK
from rewardgen.tasks.robots import catalogue_of
from rewardgen.training.cache import CHECK_TASK, RECORD_TRANSITIONS
from tests.sandbox.confined import landlock_abi
from tests.sandbox.processes import PATIENT
from tests.training.builders import leaver

ABI, WHY_NOT = landlock_abi()
needs_landlock = pytest.mark.skipif(ABI == 0, reason=WHY_NOT or "-")


def write(folder, first="", reset="", reads=()):
    """The path of a task; `first` is at the top of its file, `reset` at the top of that method."""
    folder.mkdir(exist_ok=True)
    leaver(folder, "episode.lengths.float()")
    file = folder / "leaver.py"
    text = first + file.read_text()
    text = text.replace("    episode_steps", f"    reads = {tuple(reads)!r}\n    episode_steps", 1)
    file.write_text(text.replace("        return torch.zeros", f"        {reset}\n        return torch.zeros", 1))
    return file


def load(file, job=MEASURE_TASK, **payload):
    """Have a worker load a task, with its own folder below the task's, as a run's folder may be."""
    scratch = file.parent / "runs" / "own"
    return run_worker(job, {"task": str(file), **payload}, limits=PATIENT, scratch=scratch)


def simulate(file):
    return load(file, RECORD_TRANSITIONS, path=str(file.parent / "runs" / "own" / "bank.npz"))


def problems(file):
    return [f"{each['what']}; {each['hint']}" for each in load(file, CHECK_TASK)["problems"]]


def test_a_package_elsewhere_has_its_version(tmp_path, monkeypatch):
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "stray-1.2.dist-info").mkdir(parents=True)
    (elsewhere / "stray-1.2.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: stray\nVersion: 1.2\n")
    monkeypatch.syspath_prepend(str(elsewhere))
    # The running fork server keeps the sys.path of its start.
    first = f"import sys\nsys.path.insert(0, {str(elsewhere)!r})\n"
    first += "from importlib.metadata import version\nraise ValueError(f'stray is {version(\"stray\")}')\n"
    with pytest.raises(TaskError, match=r"stray is 1\.2"):
        load(write(tmp_path / "task", first))


@pytest.fixture
def data(tmp_path):
    """A file of data in a folder of its own."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "scale.txt").write_text("2.0")
    return tmp_path / "data" / "scale.txt"


def reading(path):
    return f"float(open({str(path)!r}).read())"


def test_a_task_may_read_folders_beside_it(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "scale.txt").write_text("2.0")
    assert simulate(write(tmp_path, reset=reading(tmp_path / "data" / "scale.txt")))["card"]


@needs_landlock
def test_a_file_elsewhere_is_refused_by_name_and_with_what_to_write(tmp_path, data):
    with pytest.raises(TaskError) as caught:
        simulate(write(tmp_path / "tasks", reset=reading(data)))
    assert caught.value.message.startswith("the sandbox keeps `reset` of leaver.py at line ")
    assert caught.value.message.endswith(f" from {data}")
    assert f"reads = ({str(data)!r},)" in caught.value.hint


@needs_landlock
@pytest.mark.parametrize("named", ["../data", "../data/scale.txt", "DATA"])
def test_what_a_task_names_it_may_read(tmp_path, data, named):
    file = write(tmp_path / "tasks", reset=reading(data), reads=[named.replace("DATA", str(data))])
    assert simulate(file)["card"]


@needs_landlock
def test_hidden_files_in_a_folder_that_is_named_stay_closed(tmp_path, data):
    (data.parent / ".env").write_text("1.0")
    with pytest.raises(TaskError, match=r"the sandbox keeps .* from .*\.env"):
        simulate(write(tmp_path / "tasks", reset=reading(data.parent / ".env"), reads=["../data"]))


def test_a_file_that_its_owner_closed_is_not_blamed_on_the_sandbox(tmp_path):
    with pytest.raises(TaskError, match=r"raised PermissionError at line \d+: \[Errno 13\] no"):
        simulate(write(tmp_path, reset="raise PermissionError(13, 'no', '/nowhere/at/all')"))


@pytest.mark.parametrize("named", ["/", "/proc/self", "/etc", "/etc/passwd", "/usr", "/tmp", "HOME"])
def test_what_may_hold_secrets_is_refused(tmp_path, named):
    home = grants._home()
    if named == "HOME" and not home.exists():
        pytest.skip(f"this user has no home: {home}")
    with pytest.raises(TaskError, match="may hold secrets") as caught:
        load(write(tmp_path / "tasks", reads=[named.replace("HOME", str(home))]))
    assert "`reads` of leaver.py" in caught.value.message and caught.value.hint


def test_keys_in_the_home_are_refused_and_caches_are_not(tmp_path, monkeypatch):
    monkeypatch.setattr(grants, "_home", lambda: tmp_path)
    for folder in (".ssh", ".cache/robots", "work/meshes"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / ".netrc").touch()
    task = leaver(tmp_path, "episode.lengths.float()")
    for named in (".ssh", ".netrc", ".", ".."):
        type(task).reads = (named,)
        with pytest.raises(TaskError, match="may hold secrets"):
            grants.declared_reads(task.path, task.reads)
    type(task).reads = (".cache/robots", "work/meshes")
    assert grants.declared_reads(task.path, task.reads) == [tmp_path / ".cache/robots", tmp_path / "work/meshes"]


def test_links_are_followed_before_judging(tmp_path):
    (tmp_path / "data").symlink_to("/etc")
    with pytest.raises(TaskError, match="may hold secrets"):
        load(write(tmp_path, reads=["data"]))


@pytest.mark.parametrize(
    "asset",
    ['mesh name="m" file="/etc/passwd"', 'hfield name="h" file="link/passwd"', 'model name="m" file="inner.xml"'],
)
def test_a_model_that_includes_what_may_hold_secrets_is_refused(tmp_path, asset):
    (tmp_path / "link").symlink_to("/etc")
    (tmp_path / "inner.xml").write_text(
        '<mujoco><asset><texture name="t" type="2d" file="/etc/hosts"/></asset></mujoco>'
    )
    robot = tmp_path / "robot.xml"
    robot.write_text(f"<mujoco><asset><{asset}/></asset></mujoco>")
    with pytest.raises(TaskError, match=r"robot\.xml includes /etc/\w+, which may hold secrets") as caught:
        catalogue_of(str(robot))
    assert "copy" in caught.value.hint
    task = write(tmp_path)
    robot.rename(tmp_path / "point.xml")
    with pytest.raises(TaskError, match=r"point\.xml includes /etc/\w+, which may hold secrets"):
        load(task)


def test_a_model_may_include_what_lies_beside_it_wherever_that_is(tmp_path, monkeypatch):
    monkeypatch.setattr(grants, "_home", lambda: tmp_path)
    robot, mesh = tmp_path / ".mujoco/robot.xml", tmp_path / ".mujoco/meshes/leg.stl"
    assert grants.included_reads(robot, [robot, mesh]) == [robot, mesh]
    with pytest.raises(TaskError, match="may hold secrets"):
        grants.included_reads(robot, [robot, tmp_path / ".ssh/id_rsa"])


@needs_landlock
def test_a_link_beside_a_task_opens_nothing_that_may_hold_secrets(tmp_path):
    (tmp_path / "notes.txt").symlink_to("/etc/passwd")
    with pytest.raises(TaskError, match=r"the sandbox keeps .* from .*notes\.txt"):
        simulate(write(tmp_path, reset=f"open({str(tmp_path / 'notes.txt')!r}).read()"))


def test_a_text_in_place_of_a_tuple_is_told(tmp_path):
    file = write(tmp_path)
    file.write_text(file.read_text().replace("reads = ()", "reads = '../meshes'"))
    with pytest.raises(TaskError, match=r"`reads` of leaver\.py is '\.\./meshes'"):
        load(file)


def test_a_task_that_has_changed_is_loaded_anew_even_within_the_second(tmp_path, monkeypatch):
    """Python keeps bytecode beside a file by its length and second, and would take the next text for the same."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    leaver(tmp_path, "episode.lengths.float()")
    file = tmp_path / "leaver.py"
    written = file.stat().st_mtime_ns
    file.write_text(file.read_text().replace("episode_steps = 40", "episode_steps = 50"))
    os.utime(file, ns=(written, written))
    assert load_task(str(file)).episode_steps == 50
    assert not (tmp_path / "__pycache__").exists()


@needs_landlock  # which confines one thread; filters confine all
def test_a_task_that_starts_a_thread_at_import_is_told_so(tmp_path):
    started = "import threading, time\nthreading.Thread(target=time.sleep, args=(30,), daemon=True).start()\n"
    with pytest.raises(SandboxError, match="starts a thread before") as caught:
        load(write(tmp_path, first=started))
    assert "first step" in caught.value.hint
