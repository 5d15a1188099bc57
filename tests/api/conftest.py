import asyncio

import pytest

import rewardgen
from tests.e2e.command import FEW, POINT

SHORTEST = FEW | {"generations": 1, "films": False}


@pytest.fixture(scope="session")
def run(tmp_path_factory):
    """A finished run on the point task, searched for as a notebook does it: where an event loop is running."""

    async def cell():
        place = tmp_path_factory.mktemp("api") / "runs"
        return rewardgen.run(POINT, runs_dir=place, progress=False, track=["tensorboard"], **SHORTEST)

    return asyncio.run(cell())
