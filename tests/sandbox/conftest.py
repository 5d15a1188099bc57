"""A world to be attacked, and a fork server that starts at once."""

import tempfile
from pathlib import Path

import pytest

from rewardgen.sandbox import launcher
from tests.sandbox.confined import World
from tests.sandbox.processes import LIGHT


@pytest.fixture(scope="module")
def light_server():
    """For tests that start many."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rewardgen.sandbox.jobs.modules", lambda: LIGHT)
        launcher._stop()
        yield
        launcher._stop()


@pytest.fixture
def world():
    # Its names are short: those of sockets may have 107 letters.
    with tempfile.TemporaryDirectory(prefix="rg-") as folder:
        made = World(Path(folder).resolve())
        yield made
        made.close()
