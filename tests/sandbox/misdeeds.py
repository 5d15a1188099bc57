"""A job that misbehaves, beyond the misdeeds of the package's own self-test."""

import ctypes
import hashlib
import itertools
import mmap
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from rewardgen.sandbox.jobs import register

MISBEHAVE = register("misbehave", "tests.sandbox.misdeeds:misbehave_job")

_BLOCK = 16 << 20


def misbehave_job(payload, report):
    return MISDEEDS[payload["do"]](report)


def _process(report):
    """What a worker has of its own, and what it can see of others."""
    numpy = sys.modules.get("numpy")
    return {
        "pid": os.getpid(),
        "server": os.getppid(),
        "session": os.getsid(0),
        "descriptors": {name: _target(name) for name in os.listdir("/dev/fd")},
        "temporary": tempfile.gettempdir(),
        "home": os.path.expanduser("~"),
        "drawn": [random.random(), numpy.random.random() if numpy else random.random()],
        "imported": sorted({"torch", "numpy", "mujoco"} & set(sys.modules)),
    }


def _target(descriptor):
    try:
        return os.readlink(f"/dev/fd/{descriptor}")
    except OSError:
        return "closed"


def _environment(report):
    return {"names": sorted(os.environ), "folder": os.getcwd(), "path": sys.path}


def _fail(report):
    report({"pid": os.getpid()})
    raise ValueError("failed after a report")


def _hang(report):
    report({"pid": os.getpid()})
    time.sleep(3600.0)
    return {}


def _allocate(report):
    report({"pid": os.getpid()})
    blocks = []
    while True:
        blocks.append(os.urandom(1024) * (_BLOCK // 1024))


def _share(report):
    """Shared memory, which no limit of the system counts: only watching the process does."""
    report({"pid": os.getpid()})
    blocks = []
    while True:
        blocks.append(mmap.mmap(-1, _BLOCK))
        blocks[-1].write(bytes(_BLOCK))
        time.sleep(0.01)


def _abort(report):
    print("about to abort", flush=True)
    os.abort()


def _kill_itself(report):
    os.kill(os.getpid(), signal.SIGKILL)
    return {}


def _close_answers(report):
    os.closerange(3, 64)
    time.sleep(30.0)
    return {}


def _segfault(report):
    ctypes.string_at(0)
    return {}


def _flood(report):
    while True:
        print("x" * 1000)
        report({"noise": "x" * 1000})


def _spin(report):
    report({"pid": os.getpid()})
    while True:
        pass


def _deaf(report):
    signal.signal(signal.SIGXCPU, signal.SIG_IGN)
    waste = bytes(1 << 20)
    for _ in range(4):  # hashing lets other threads run
        threading.Thread(target=lambda: [hashlib.sha256(waste) for _ in itertools.count()], daemon=True).start()
    return _spin(report)


def _crowd(report):
    report({"pid": os.getpid()})
    for _ in range(200):
        threading.Thread(target=time.sleep, args=(3600.0,), daemon=True).start()
    time.sleep(3600.0)
    return {}


def _fill(report):
    report({"pid": os.getpid()})
    for number in itertools.count():
        folder = Path(f"folder{number}")
        folder.mkdir()
        (folder / "file").write_bytes(os.urandom(1024) * (_BLOCK // 1024))
    return {}


def _litter(report):
    report({"pid": os.getpid()})
    for number in itertools.count():
        Path(f"file{number}").touch()
    return {}


def _spawn(report):
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"])
    report({"pid": child.pid})
    time.sleep(3600.0)
    return {}


def _no_room_on_a_gpu(report):
    raise RuntimeError("Failed to allocate 1048576 bytes on device 'cuda:0'")


MISDEEDS = {
    "environment": _environment,
    "fail": _fail,
    "hang": _hang,
    "allocate": _allocate,
    "no-room-on-a-gpu": _no_room_on_a_gpu,
    "process": _process,
    "share": _share,
    "abort": _abort,
    "kill-itself": _kill_itself,
    "close-answers": _close_answers,
    "segfault": _segfault,
    "flood": _flood,
    "spawn": _spawn,
    "spin": _spin,
    "deaf": _deaf,
    "crowd": _crowd,
    "fill": _fill,
    "litter": _litter,
}
