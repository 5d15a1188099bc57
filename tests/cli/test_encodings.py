"""Output whose encoding lacks characters of the run."""

import subprocess
import sys

import pytest

from tests.cli.conftest import environment, write_run
from tests.tasks.files import point
from tests.ui.story import events

ASCII = {"PYTHONIOENCODING": "ascii", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


@pytest.mark.parametrize(
    "words", [("runs", "show", "latest"), pytest.param(("tasks", "show", "point.py"), marks=pytest.mark.slow)]
)
def test_a_character_that_the_output_cannot_show_ends_no_command(tmp_path, words):
    point(tmp_path, ("Push a point along a rail", "Push a point 3° — naïvely — along a rail"))
    began, *more = events()
    config = began.data["config"] | {"goal": "go 3° — naïvely"}
    write_run(tmp_path / "runs", [began.model_copy(update={"data": began.data | {"config": config}}), *more])
    done = subprocess.run(
        [sys.executable, "-m", "rewardgen", *words], cwd=tmp_path, env=environment() | ASCII, capture_output=True
    )
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.decode("ascii").strip()
