import os
import signal
import subprocess
import sys

import pytest

from tests.sandbox.confined import layers_here

os.environ.setdefault("OMP_NUM_THREADS", "1")

# A shell starts background jobs with SIGINT ignored, and their children inherit that; here interrupts are tested.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_terminal_summary(terminalreporter):
    """Which layers of the sandbox there were: where one is missing, its tests skip and others show less."""
    told = layers_here() if sys.platform == "linux" else f"{sys.platform} has no layers of the kernel"
    terminalreporter.section(f"the sandbox here, as uid {os.getuid()}", "-")
    terminalreporter.write_line(told)


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory):
    """Nothing is taken from the user's cache folder, and nothing left there."""
    before = os.environ.get("XDG_CACHE_HOME")
    os.environ["XDG_CACHE_HOME"] = str(tmp_path_factory.mktemp("cache"))
    yield
    os.environ.pop("XDG_CACHE_HOME")
    if before is not None:
        os.environ["XDG_CACHE_HOME"] = before


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
