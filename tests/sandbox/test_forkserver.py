"""Workers are forked from one warm process, and share nothing else: no descriptor, session, secret or random number."""

import os
import signal
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rewardgen.core.errors import MachineError, RewardgenError, WorkerError
from rewardgen.sandbox import launcher
from rewardgen.sandbox.process import Limits, WorkerCancelled
from tests.sandbox.confined import landlock_abi
from tests.sandbox.processes import FREE, PATIENT, dies, is_alive, misbehave, orchestrator, state

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc"),
    pytest.mark.usefixtures("light_server"),
]

TELL_SERVER = "print(run('process')['server'], flush=True)"


def look(scratch):
    return misbehave("process", scratch)


def children(pid):
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


class Hanging:
    """A worker that hangs in a thread of its own, until it is cancelled."""

    def __init__(self, scratch, job="hang", limits=PATIENT, **options):
        self.cancel, self._begun, self.error = threading.Event(), threading.Event(), None
        self._thread = threading.Thread(target=self._run, args=(scratch, job, limits), kwargs=options)
        self._thread.start()
        assert self._begun.wait(30.0)

    def _run(self, scratch, job, limits, **options):
        try:
            misbehave(job, scratch, limits, on_message=self._note, cancel=self.cancel, **options)
        except RewardgenError as error:
            self.error = error

    def _note(self, message):
        self.pid = message["pid"]
        self._begun.set()

    def end(self):
        self.cancel.set()
        return self.join()

    def join(self):
        self._thread.join(10.0)
        assert not self._thread.is_alive()
        return self.error


def test_jobs_share_a_server_but_neither_process_nor_session(tmp_path):
    one, two = look(tmp_path), look(tmp_path)
    assert one["server"] == two["server"] and one["pid"] != two["pid"]
    assert one["session"] == one["pid"] and two["session"] == two["pid"]
    assert os.getsid(one["server"]) == one["server"] != os.getsid(0)
    assert len(os.listdir(f"/proc/{one['server']}/task")) == 1 and not children(one["server"])


def test_neither_the_server_nor_a_worker_ever_holds_a_secret(tmp_path):
    first = f"{TELL_SERVER}; os.environ['GEMINI_API_KEY'] = 'late-secret'"
    keys = {"OPENAI_API_KEY": "early-secret", "PATH": os.environ["PATH"]}
    # The sandbox would not let us see what it holds.
    process = orchestrator(tmp_path, first=first, sandbox="off", **keys)
    try:
        server, worker = (int(process.stdout.readline()) for _ in range(2))
        kept = {pid: Path(f"/proc/{pid}/environ").read_bytes() for pid in (server, worker)}
        if landlock_abi()[0]:  # without it, nobody sees what the orchestrator holds
            assert b"early-secret" in Path(f"/proc/{process.pid}/environ").read_bytes()
        assert b"secret" not in kept[server] + kept[worker]
        assert b"PATH=" in kept[server] and b"PATH=" in kept[worker]
    finally:
        process.kill()
        process.communicate()


def test_a_worker_has_the_environment_of_its_own_job(tmp_path, monkeypatch):
    launcher._stop()
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    assert "LC_ALL" in misbehave("environment", tmp_path)["names"]
    monkeypatch.delenv("LC_ALL")
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    monkeypatch.setenv("MY_OWN_TOKEN", "secret")
    names = misbehave("environment", tmp_path)["names"]
    assert "TZ" in names and "MY_OWN_TOKEN" not in names and "LC_ALL" not in names
    for scratch in (tmp_path / "one", tmp_path / "two"):
        seen = look(scratch)
        assert seen["home"] == seen["temporary"] == str(scratch)


def test_a_worker_holds_no_descriptor_but_its_own(tmp_path):
    # The sandbox would not let us see what they hold.
    others = [Hanging(tmp_path / name, limits=FREE) for name in ("one", "two")]
    try:
        seen = look(tmp_path / "three")["descriptors"]
        listing = {name for name, target in seen.items() if target == "closed" or target.endswith("/fd")}
        held = {name: target for name, target in seen.items() if name not in listing}
        assert len(listing) <= 1
        assert held["0"] == os.devnull and held["1"] == held["2"]
        (answer,) = set(held) - {"0", "1", "2"}
        assert held[answer].startswith("pipe:") and held["1"].startswith("pipe:")
        kept = [
            os.readlink(f"/proc/{other.pid}/fd/{fd}") for other in others for fd in os.listdir(f"/proc/{other.pid}/fd")
        ]
        assert not {held["1"], held[answer]} & set(kept)
        assert not any(target.startswith("socket:") for target in (*held.values(), *kept))
    finally:
        for other in others:
            other.end()


def test_workers_do_not_draw_the_same_random_numbers(tmp_path):
    one, two = look(tmp_path)["drawn"], look(tmp_path)["drawn"]
    assert one[0] != two[0] and one[1] != two[1]


def test_a_crash_leaves_the_server_usable(tmp_path):
    server = look(tmp_path)["server"]
    for _ in range(2):
        with pytest.raises(WorkerError, match="SIGSEGV"):
            misbehave("segfault", tmp_path)
    assert look(tmp_path)["server"] == server


def test_jobs_run_side_by_side_and_one_that_is_cancelled_ends_alone(tmp_path):
    with ThreadPoolExecutor(4) as pool:
        seen = list(pool.map(lambda number: look(tmp_path / str(number)), range(16)))
    assert len({each["pid"] for each in seen}) == 16 and len({each["server"] for each in seen}) == 1
    one, two = Hanging(tmp_path / "one"), Hanging(tmp_path / "two")
    assert isinstance(one.end(), WorkerCancelled)
    assert not is_alive(one.pid) and is_alive(two.pid)
    two.end()


def test_jobs_that_were_lost_with_the_server_are_done_again_once(tmp_path):
    hung = Hanging(tmp_path / "hung")
    lost, server = hung.pid, look(tmp_path)["server"]
    os.kill(server, signal.SIGKILL)
    assert dies(lost)
    second = look(tmp_path)["server"]
    assert second != server and state(server) == ""
    _wait_for(lambda: hung.pid != lost)
    os.kill(second, signal.SIGKILL)
    error = hung.join()
    assert isinstance(error, MachineError) and "lost with the process that starts workers" in error.message
    assert dies(hung.pid)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_worker_that_is_killed_from_outside_is_started_anew_once(tmp_path, how):
    hung = Hanging(tmp_path)
    first = hung.pid
    os.kill(first, how)
    _wait_for(lambda: hung.pid != first)
    os.kill(hung.pid, how)
    error = hung.join()
    assert isinstance(error, MachineError) and how.name in error.message and "memory" in error.hint


def test_a_worker_that_is_deaf_to_the_end_of_its_cpu_time_has_used_it_up(tmp_path):
    with pytest.raises(WorkerError, match="1 s of CPU time") as caught:
        misbehave("deaf", tmp_path, Limits(wall_s=60.0, cpu_s=1.0))
    assert caught.value.kind == "timeout"


@pytest.mark.parametrize("misdeed, told", [("kill-itself", "PermissionError"), ("close-answers", "closed the pipe")])
def test_a_worker_cannot_pass_for_one_that_was_killed_from_outside(tmp_path, misdeed, told):
    with pytest.raises(WorkerError, match=told):
        misbehave(misdeed, tmp_path)


def _wait_for(condition, patience_s=20.0):
    latest = time.monotonic() + patience_s
    while not condition():
        assert time.monotonic() < latest
        time.sleep(0.02)


def test_a_server_that_cannot_start_is_told_with_its_last_words(tmp_path, monkeypatch):
    launcher._stop()
    (tmp_path / "rewardgen").mkdir()
    (tmp_path / "rewardgen" / "__init__.py").write_text("raise SystemExit('this one is broken')\n")
    monkeypatch.setattr("rewardgen.sandbox.environment._import_path", lambda: str(tmp_path))
    with pytest.raises(MachineError, match=r"died twice \(exit status 1\n  this one is broken") as caught:
        look(tmp_path / "scratch")
    assert "rewardgen doctor" in caught.value.hint
    monkeypatch.undo()
    assert look(tmp_path / "scratch")["pid"]


def test_a_fork_of_the_orchestrator_has_a_server_of_its_own(tmp_path):
    server = look(tmp_path)["server"]
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write_end, str(look(tmp_path / "fork")["server"]).encode())
        os._exit(0)
    os.close(write_end)
    with open(read_end) as told:
        other = int(told.read())
    os.waitpid(child, 0)
    assert other != server and dies(other)
    assert look(tmp_path)["server"] == server


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_server_workers_and_their_children_end_with_the_orchestrator(tmp_path, how):
    process = orchestrator(tmp_path, job="spawn", sandbox="off", first=TELL_SERVER)
    server, grandchild = (int(process.stdout.readline()) for _ in range(2))
    (worker,) = children(server)
    process.send_signal(how)
    process.communicate()
    assert dies(grandchild) and dies(worker) and dies(server)


def test_the_server_outlives_the_thread_that_started_it(tmp_path):
    early = "thread = threading.Thread(target=run, args=('process',)); thread.start(); thread.join()"
    process = orchestrator(tmp_path, job="process", first=f"{early}; {TELL_SERVER}; time.sleep(0.3); {TELL_SERVER}")
    one, two = process.communicate()[0].split()
    assert one == two


def test_nothing_is_left_after_a_normal_end(tmp_path):
    process = orchestrator(tmp_path / "scratch", first=TELL_SERVER, job="process", TMPDIR=str(tmp_path))
    server = int(process.communicate()[0])
    assert process.returncode == 0 and state(server) == ""
    assert [file.name for file in tmp_path.rglob("*")] == ["scratch", "worker.log"]


@pytest.mark.parametrize(("abi", "readable"), [("os.stat('/not/here')", 0), ("1", 1)])
def test_without_landlock_the_orchestrators_memory_is_closed_to_its_workers(tmp_path, abi, readable):
    first = f"import ctypes; from rewardgen.sandbox import landlock; landlock.abi = lambda: {abi}; run('process')"
    process = orchestrator(tmp_path, job="process", first=f"{first}; print(ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))")
    assert int(process.communicate()[0]) == readable
