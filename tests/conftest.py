import os
import signal
import subprocess
import sys

import pytest

from tests.report.browser import chromium, launched_chromium  # noqa: F401
from tests.sandbox.confined import layers_here

os.environ.setdefault("OMP_NUM_THREADS", "1")

# A shell starts background jobs with SIGINT ignored, and their children inherit that; here interrupts are tested.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Nothing here cuts the power, and what a killed process wrote is there without it; each event of a run asks for it.
os.fsync = lambda descriptor: None


LEFT_OUT = pytest.StashKey[int]()
OPTIONAL = ("matrix", "slow")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    """The exhaustive attack matrix and long trainings run only where they are asked for."""
    if any(marker in config.option.markexpr for marker in OPTIONAL):
        return
    kept, left_out = [], []
    for item in items:
        (left_out if any(map(item.get_closest_marker, OPTIONAL)) else kept).append(item)
    items[:] = kept
    config.hook.pytest_deselected(items=left_out)
    config.stash[LEFT_OUT] = len(left_out)


def pytest_sessionfinish(session):
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["left_out"] = session.config.stash.get(LEFT_OUT, 0)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    """Each process of pytest-xdist collects all tests by itself."""
    node.config.stash[LEFT_OUT] = getattr(node, "workeroutput", {}).get("left_out", 0)


def pytest_terminal_summary(terminalreporter, config):
    """What was not tested: what runs only where it is asked for, and what needs layers that this machine lacks."""
    if left_out := config.stash.get(LEFT_OUT, 0):
        terminalreporter.section("the attack matrix and long trainings", "-")
        command = "python -m pytest -n 3 -m 'matrix or slow'"
        terminalreporter.write_line(f"{left_out} tests were left out: `{command}` runs them")
    told = layers_here() if sys.platform == "linux" else f"{sys.platform} has no layers of the kernel"
    terminalreporter.section(f"the sandbox here, as uid {os.getuid()}", "-")
    terminalreporter.write_line(told)


@pytest.fixture(scope="session", autouse=True)
def own_folders(tmp_path_factory):
    """Nothing is taken from the user's cache and state, and nothing left there; pytest-xdist's processes share both."""
    base = tmp_path_factory.getbasetemp()
    base = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    own = {"XDG_CACHE_HOME": str(base / "cache"), "XDG_STATE_HOME": str(base / "state")}
    before = {name: os.environ.get(name) for name in own}
    os.environ |= own
    yield
    for name, value in before.items():
        os.environ.pop(name)
        if value is not None:
            os.environ[name] = value


@pytest.fixture
def small_disk(tmp_path):
    """A file system of two megabytes, twice what a short run takes."""
    place = tmp_path / "disk"
    place.mkdir()
    if os.geteuid() != 0:
        pytest.skip("mounting a small file system needs root")
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(place)], capture_output=True, text=True
    )
    if done.returncode:
        pytest.skip(f"cannot mount a small file system: {done.stderr.strip()}")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)
