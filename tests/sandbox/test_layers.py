"""All layers of a worker together: no attempt has an effect, jobs work as before, and what is missing is said."""

import os
import re
import resource
import sys
import time
from pathlib import Path

import glfw  # noqa: F401  # It starts a program as it is imported; templates have it, with mujoco, before workers are confined.
import pytest

from rewardgen.sandbox import landlock, layers
from rewardgen.sandbox.grants import worker_grants
from rewardgen.sandbox.layers import Confinement
from rewardgen.sandbox.limits import Limits, die_with
from rewardgen.sandbox.selftest import SELFTEST
from rewardgen.sandbox.worker import _policy
from rewardgen.store.records import SliceSpec
from rewardgen.training.artifacts import policy_names
from tests.sandbox.attacks import ATTACKS, sampled, start_threads
from tests.sandbox.confined import by_all, in_child, landlock_abi, left_behind, no_seccomp, was_refused, without
from tests.sandbox.processes import dies
from tests.sandbox.test_landlock import attempt
from tests.training.builders import UPRIGHT, job

linux = pytest.mark.skipif(sys.platform != "linux", reason=f"Linux has these layers, this is {sys.platform}")
MISSING = "; ".join(why for why in (landlock_abi()[1], no_seccomp()) if why)
needs_all_layers = pytest.mark.skipif(bool(MISSING), reason=MISSING or "-")


@needs_all_layers
@sampled(ATTACKS)
def test_all_layers_together_stop(name, world):
    succeeded, outcome = attempt(world, name, by_all)
    assert not succeeded, outcome


@linux
@sampled(ATTACKS)
def test_without_any_layer_nothing_stops(name, world):
    """Otherwise the tests of the layers show nothing."""
    succeeded, outcome = attempt(world, name, without)
    left_behind(outcome.session)
    if not succeeded:
        assert was_refused(outcome.answer), outcome
        pytest.skip(f"this host allows it to nobody of uid {os.getuid()}: {outcome.answer}")


# Honest work.


def confined(policy):
    return lambda: layers.apply(policy)


def test_training_and_measuring_work_when_confined(world):
    from rewardgen.training.evaluation import evaluate_job
    from rewardgen.training.ppo.train_job import train_job

    asked = job(world.scratch, {"a": UPRIGHT})
    policy = Confinement(folder=world.scratch)
    trained = in_child(confined(policy), lambda: train_job(asked.model_dump(mode="json"), lambda _: None)).answer
    assert not was_refused(trained) and trained["slices"][0]["failure"] is None
    final, _ = policy_names(SliceSpec(candidate_id="a", seed=0))
    assert (world.scratch / final).stat().st_mode & 0o077 == 0
    (world.outside / "folder").mkdir()
    measuring = {"task": "cartpole", "folder": str(world.scratch), "slices": [{"candidate_id": "a", "seed": 0}]}
    measuring |= {"seed": 0, "episodes": 2}
    elsewhere = Confinement(folder=world.outside / "folder", reads=(world.scratch,))
    measured = in_child(confined(elsewhere), lambda: evaluate_job(measuring, lambda _: None)).answer
    assert measured["slices"][0]["fitness"] is not None


def test_what_was_not_imported_before_can_be_imported_when_confined(world):
    def import_late():
        for name in [each for each in sys.modules if each.split(".")[0] in ("mujoco", "wave", "plistlib")]:
            del sys.modules[name]
        import plistlib
        import wave

        import mujoco

        return [wave.__name__, plistlib.__name__, mujoco.MjModel.from_xml_string("<mujoco/>").nq]

    assert in_child(confined(Confinement(folder=world.scratch)), import_late).answer == ["wave", "plistlib", 0]


@needs_all_layers
def test_threads_are_bounded_by_the_memory_of_their_stacks(world):
    data_kib = int(re.search(r"VmData:\s*(\d+)", Path("/proc/self/status").read_text())[1])  # the child has it too
    policy = Confinement(folder=world.scratch, limits=Limits(memory_bytes=(data_kib << 10) + (1 << 30)))
    outcome = in_child(confined(policy), lambda: start_threads(400))
    assert 8 < outcome.answer < 400
    assert in_child(confined(Confinement(folder=world.scratch)), lambda: start_threads(16)).answer == 16


# What it may read.


def readable(paths, *reads, folder):
    """Which of these files a confined child can read."""

    def look():
        return [path.name for path in paths if os.access(path, os.R_OK) and not _is_refused(path)]

    return in_child(confined(Confinement(folder=folder, reads=reads)), look).answer


def _is_refused(path):
    try:
        path.read_bytes()
    except PermissionError:
        return True
    return False


@needs_all_layers
def test_of_a_folder_that_is_given_hidden_files_stay_closed(world):
    (world.outside / ".git").mkdir()
    (world.outside / "meshes").mkdir()
    files = [world.outside / name for name in (".env", "task.py", ".git/config", "meshes/foot.stl")]
    for each in files:
        each.write_text("x")
    assert readable(files, world.outside, folder=world.scratch) == ["task.py", "foot.stl"]
    assert readable(files, files[1], folder=world.scratch) == ["task.py"]
    assert readable(files, folder=world.scratch) == []


def test_a_home_that_is_given_is_not_given_whole(world, monkeypatch):
    monkeypatch.setattr("rewardgen.sandbox.grants._home", lambda: world.outside)
    (world.outside / "task.py").write_text("x")
    granted = {grant.path for grant in worker_grants(world.scratch, [world.outside], (), False)}
    assert str(world.outside / "task.py") in granted
    assert not {str(world.outside), str(world.outside / "empty")} & granted


def test_of_a_folder_with_code_only_what_can_be_imported_is_given(world, monkeypatch):
    (world.outside / "package").mkdir()
    (world.outside / "package" / "__init__.py").touch()
    (world.outside / "module.py").touch()
    (world.outside / "runs").mkdir()
    (world.outside / ".env").touch()
    monkeypatch.syspath_prepend(world.outside)
    granted = {grant.path: grant.rights for grant in worker_grants(world.scratch, (), (), False)}
    inside = {Path(path).name for path in granted if Path(path).parent == world.outside}
    assert inside == {"package", "module.py"}
    assert granted[str(world.outside)] == landlock.Right.READ_DIR


def test_only_a_job_on_a_gpu_is_given_its_driver_and_the_descriptors_that_that_opens():
    def policy(device):
        return _policy(SELFTEST, {"payload": {"device": device}, "folder": "/", "limits": {}})

    assert policy("cuda").gpu and policy("cuda").limits.open_files == 256
    assert not policy("warp-cpu").gpu and policy("warp-cpu").limits == Limits()


# What is told.


@needs_all_layers
def test_the_worker_tells_what_is_in_force(world):
    report = in_child(
        lambda: None,
        lambda: layers.apply(Confinement(folder=world.scratch, limits=Limits(sandbox="strict"))).model_dump(),
    ).answer
    names = [each["name"] for each in report["layers"]]
    assert names == ["limits", "privileges", "landlock", "memory", "seccomp"]
    assert all(each["active"] and each["detail"] for each in report["layers"])
    assert layers.applied() is None


@linux
def test_switched_off_the_limits_stay(world):
    def look():
        report = layers.apply(Confinement(folder=world.scratch, limits=Limits(sandbox="off")))
        return [world.key.read_text(), resource.getrlimit(resource.RLIMIT_CORE)[0], report.in_words()]

    read, core, told = in_child(lambda: None, look).answer
    assert read and core == 0
    assert "landlock: NOT in force: switched off" in told and "seccomp: NOT in force: switched off" in told


@linux
def test_nothing_of_root_is_left_and_nothing_can_be_gained(world):
    def ask():
        layers.apply(Confinement(folder=world.scratch))
        status = Path("/proc/self/status").read_text()
        return dict(line.split(":\t") for line in status.splitlines() if line.startswith(("Cap", "NoNewPrivs")))

    status = in_child(lambda: None, ask).answer
    opening_files = 0b110
    assert {int(status[name], 16) & ~opening_files for name in ("CapPrm", "CapEff", "CapInh")} == {0}
    assert status["NoNewPrivs"] == "1"


@linux
def test_it_still_dies_with_its_parent(world):
    """What is given up with root's capabilities must not take back the signal at the parent's death."""

    def be_a_parent():
        parent = os.getpid()
        told, tell = os.pipe()
        pid = os.fork()
        if pid == 0:
            die_with(parent)
            layers.apply(Confinement(folder=world.scratch))
            os.write(tell, b"x")
            time.sleep(60)
        return [pid, os.read(told, 1).decode()]

    pid, ready = in_child(lambda: None, be_a_parent).answer
    assert ready == "x" and dies(pid)
