"""What a user's own task file may do in a worker: read what lies beside it, print, but not start threads at import."""

import sys

import pytest

from rewardgen.errors import SandboxError
from rewardgen.sandbox.process import run_worker
from tests.sandbox.processes import PATIENT
from tests.training.builders import leaver

linux = pytest.mark.skipif(sys.platform != "linux", reason="confinement is Linux's")


def load(folder, first):
    """Have a worker load the task, with its own folder below the task's, as a run's folder may be."""
    leaver(folder, "episode.lengths.float()")
    file = folder / "leaver.py"
    file.write_text(first + file.read_text())
    return run_worker("baselines", {"task": str(file)}, limits=PATIENT, scratch=folder / "runs" / "own")


def test_a_task_may_read_folders_beside_it(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "scale.txt").write_text("2.0")
    assert "training" in load(tmp_path, first=f"open({str(tmp_path / 'data' / 'scale.txt')!r}).read()\n")


def test_what_a_task_prints_is_in_the_workers_log(tmp_path):
    load(tmp_path, first="print('hello from the task')\n")
    assert "hello from the task" in (tmp_path / "runs" / "own" / "worker.log").read_text()


@linux
def test_a_task_that_starts_a_thread_at_import_is_told_so(tmp_path):
    started = "import threading, time\nthreading.Thread(target=time.sleep, args=(30,), daemon=True).start()\n"
    with pytest.raises(SandboxError, match="starts a thread while it is imported") as caught:
        load(tmp_path, first=started)
    assert "first use" in caught.value.hint
