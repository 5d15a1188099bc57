import os
import subprocess
import sys

import pytest

from tests.ui.story import RUN_ID, events


def _environment(**changes):
    kept = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    return kept | {"COLUMNS": "100", "OMP_NUM_THREADS": "1"} | changes


@pytest.fixture
def rewardgen(tmp_path):
    """Runs the command line in an empty folder, with no API keys; returns the finished process."""

    def call(*arguments, **environment):
        command = [sys.executable, "-m", "rewardgen", *map(str, arguments)]
        return subprocess.run(
            command, cwd=tmp_path, env=_environment(**environment), capture_output=True, text=True, timeout=300
        )

    return call


def write_run(runs_dir, told=None, run_id=RUN_ID):
    """A run folder that holds only its event log, which is all that reading a run needs."""
    folder = runs_dir / run_id
    folder.mkdir(parents=True)
    lines = [event.model_dump_json() for event in (told if told is not None else events())]
    (folder / "events.jsonl").write_text("\n".join(lines) + "\n")
    return folder


@pytest.fixture
def finished_run(tmp_path):
    """The story's run in the default runs folder."""
    return write_run(tmp_path / "runs")
