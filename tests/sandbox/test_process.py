"""A worker ends with an answer or with an error that says why, and never outlives its limits or its parent."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from rewardgen.core.errors import UsageError, WorkerError
from rewardgen.critic.sandboxed import REVIEW
from rewardgen.sandbox.jobs import Job, modules, register
from rewardgen.sandbox.process import Limits, WorkerCancelled, run_worker
from rewardgen.sandbox.selftest import escapes, layers_in_force
from rewardgen.training.cache import RECORD_TRANSITIONS
from tests.sandbox.processes import FREE, dies, misbehave, orchestrator
from tests.training.builders import leaver

linux = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc and prctl")
PATIENT = Limits(wall_s=60.0)
MEMORY = 600 << 20
"""Well above what a worker begins with."""


def failure(how, scratch, **options):
    with pytest.raises(WorkerError) as caught:
        misbehave(how, scratch, **options)
    return caught.value


def test_a_warm_worker_has_imported_everything_and_starts_at_once(tmp_path):
    assert misbehave("process", tmp_path)["imported"] == ["mujoco", "numpy", "torch"]
    start = time.monotonic()
    misbehave("process", tmp_path)
    assert time.monotonic() - start < 2.0


def test_the_package_is_found_from_any_folder_and_nothing_in_that_folder_is_imported(tmp_path, monkeypatch):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    for folder in (tmp_path, scratch):
        for name in ("json", "rewardgen", "pydantic"):
            (folder / f"{name}.py").write_text("raise SystemExit('imported from the current folder')\n")
    monkeypatch.chdir(tmp_path)
    result = misbehave("environment", Path("scratch"))
    assert not {str(tmp_path), str(scratch), ""} & set(result["path"])
    assert Path(result["folder"]).resolve() == scratch.resolve()


def test_a_worker_that_hangs_is_ended_at_its_time_limit(tmp_path):
    start = time.monotonic()
    error = failure("hang", tmp_path, limits=Limits(wall_s=0.5))
    assert error.kind == "timeout" and "0.5 s" in error.message
    assert time.monotonic() - start < 5.0


def test_a_worker_that_takes_too_much_memory_is_ended(tmp_path):
    begun = []
    error = failure("allocate", tmp_path, limits=Limits(wall_s=60.0, memory_bytes=MEMORY), on_message=begun.append)
    assert error.kind == "memory" and begun


def test_memory_that_a_gpu_has_not_is_memory_too(tmp_path):
    assert failure("no-room-on-a-gpu", tmp_path).kind == "memory"


@linux
def test_memory_that_only_watching_sees_counts_too(tmp_path):
    begun = []
    error = failure("share", tmp_path, limits=FREE.model_copy(update={"memory_bytes": MEMORY}), on_message=begun.append)
    assert error.kind == "memory" and "its limit is 600 MiB" in error.message and begun


def test_a_worker_that_uses_up_its_cpu_time_is_ended_though_nobody_watches_the_clock(tmp_path):
    error = failure("spin", tmp_path, limits=Limits(wall_s=60.0, cpu_s=1.0))
    assert error.kind == "timeout" and "1 s of CPU time" in error.message


@linux
def test_a_worker_that_starts_many_threads_is_ended(tmp_path):
    begun = []
    error = failure("crowd", tmp_path, limits=Limits(wall_s=60.0, threads=64), on_message=begun.append)
    assert "threads, its limit is 64" in error.message and dies(begun[0]["pid"])


def test_a_worker_that_fills_its_folder_is_ended(tmp_path):
    begun = []
    limits = Limits(wall_s=60.0, folder_bytes=100 << 20)
    error = failure("fill", tmp_path, limits=limits, on_message=begun.append)
    assert "MiB, its limit is 100 MiB" in error.message and dies(begun[0]["pid"])


def test_a_crash_is_told_with_its_signal_and_the_last_words(tmp_path):
    error = failure("abort", tmp_path)
    assert error.kind == "crash"
    assert "SIGABRT" in error.message and "about to abort" in error.message
    assert str(tmp_path / "worker.log") in error.hint
    assert "about to abort" in (tmp_path / "worker.log").read_text()


def test_an_exception_in_a_job_is_told_in_one_line_and_its_traceback_is_in_the_log(tmp_path):
    error = failure("no such misdeed", tmp_path)
    assert error.kind == "crash" and "KeyError" in error.message
    assert "Traceback" not in error.message and "Traceback" in (tmp_path / "worker.log").read_text()


def test_the_log_holds_what_a_job_printed_though_its_answer_is_read_first(tmp_path):
    failure("fail", tmp_path, on_message=lambda message: time.sleep(0.5))  # both wait by then
    assert "failed after a report" in (tmp_path / "worker.log").read_text()


def test_a_job_whose_function_cannot_be_imported_is_told(tmp_path):
    with pytest.raises(WorkerError, match="nowhere"):
        run_worker(Job(name="lost", function="nowhere:job"), {}, limits=PATIENT, scratch=tmp_path)


def test_a_job_may_come_from_outside_the_package_and_is_confined_like_any_other(tmp_path):
    double = register("double", "tests.sandbox.doubling:double_job", reads=("file",))
    assert double.function.partition(":")[0] in modules()
    (tmp_path / "in").mkdir()
    for name in ("given.txt", "other.txt"):
        (tmp_path / "in" / name).write_text("21")
    payload = {"file": str(tmp_path / "in" / "given.txt"), "other": str(tmp_path / "in" / "other.txt")}
    found = run_worker(double, payload, limits=PATIENT, scratch=tmp_path / "scratch")
    assert found["double"] == 42
    if sys.platform == "linux":
        assert found["other"] == "PermissionError"


def test_an_answer_without_end_is_cut_off(tmp_path):
    error = failure("flood", tmp_path, limits=Limits(wall_s=60.0, answer_bytes=1 << 20))
    assert error.kind == "crash" and "1048576" in error.message
    assert (tmp_path / "worker.log").stat().st_size <= 1 << 20


def test_a_users_error_comes_back_as_itself_with_its_hint(tmp_path):
    with pytest.raises(UsageError, match="cannot read the recorded transitions") as caught:
        payload = {"transitions": str(tmp_path / "none.npz"), "rewards": []}
        run_worker(REVIEW, payload, limits=PATIENT, scratch=tmp_path)
    assert type(caught.value) is UsageError and "recorded again" in caught.value.hint


def test_a_cancelled_worker_is_ended_at_once(tmp_path):
    cancel, seen = threading.Event(), []

    def note(message):
        seen.append(message["pid"])
        cancel.set()

    start = time.monotonic()
    with pytest.raises(WorkerCancelled):
        misbehave("hang", tmp_path, on_message=note, cancel=cancel)
    assert time.monotonic() - start < 5.0
    assert dies(seen[0])


@linux
def test_an_error_in_the_callers_own_code_leaves_no_worker_behind(tmp_path):
    seen = []

    def fail(message):
        seen.append(message["pid"])
        raise RuntimeError("in the caller")

    with pytest.raises(RuntimeError, match="in the caller"):
        misbehave("hang", tmp_path, on_message=fail)
    assert dies(seen[0])


@linux
def test_an_interrupt_from_the_terminal_reaches_the_orchestrator_only(tmp_path):
    process = orchestrator(tmp_path)
    worker = int(process.stdout.readline())
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate()
    assert "KeyboardInterrupt" in errors
    assert "KeyboardInterrupt" not in (tmp_path / "worker.log").read_text()
    assert dies(worker)


def test_the_orchestrators_side_loads_nothing_heavy():
    code = (
        "import sys, json, rewardgen.sandbox.process, rewardgen.critic.sandboxed, rewardgen.sandbox.selftest, "
        "rewardgen.critic.critic, rewardgen.reward.extraction, rewardgen.reward.identity; "
        "print(json.dumps([name for name in ('torch', 'numpy', 'mujoco', 'litellm') if name in sys.modules]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == []


def test_a_users_task_may_include_files_from_elsewhere(tmp_path):
    (tmp_path / "robots").mkdir()
    (tmp_path / "tasks").mkdir()
    leaver(tmp_path / "tasks", "episode.terminated.float()")
    (tmp_path / "tasks" / "point.xml").rename(tmp_path / "robots" / "point.xml")
    text = '<mujoco><include file="../robots/point.xml"/></mujoco>'
    (tmp_path / "tasks" / "point.xml").write_text(text)
    task = {"task": str(tmp_path / "tasks" / "leaver.py"), "path": str(tmp_path / "run" / "bank.npz")}
    (tmp_path / "run").mkdir()
    assert run_worker(RECORD_TRANSITIONS, task, limits=PATIENT, scratch=tmp_path / "scratch")["card"]
    assert (tmp_path / "run" / "bank.npz").exists()


@linux
def test_what_is_in_force_is_told_and_what_gets_through_is_seen(tmp_path):
    report = layers_in_force(tmp_path)
    found = escapes(tmp_path)
    active = {each.name for each in report.layers if each.active}
    assert {"limits", "privileges", "memory"} <= active
    if report.missing:
        pytest.skip(f"this host lacks {', '.join(each.name for each in report.missing)}: {found} get through")
    assert found == ()


@linux
def test_without_the_sandbox_everything_gets_through(tmp_path, monkeypatch):
    monkeypatch.setattr("rewardgen.sandbox.selftest.Limits", lambda **limits: Limits(**limits, sandbox="off"))
    assert escapes(tmp_path) == ("read a file", "write a file", "open a connection", "start a process")
    assert "REWARDGEN_SELFTEST_API_KEY" not in os.environ
