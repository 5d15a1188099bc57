"""A world to be attacked."""

import tempfile
from pathlib import Path

import pytest

from tests.cli.conftest import rewardgen  # noqa: F401  (a fixture)
from tests.sandbox.confined import World


@pytest.fixture
def world():
    # Its names are short: those of sockets may have 107 letters.
    with tempfile.TemporaryDirectory(prefix="rg-") as folder:
        made = World(Path(folder).resolve())
        yield made
        made.close()
