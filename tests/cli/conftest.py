import os
from subprocess import CompletedProcess

import pytest

from rewardgen.cli.app import main
from rewardgen.core.config import RunConfig
from rewardgen.store.origin import signature
from tests.ui.story import RUN_ID, events


def environment():
    """This process's, without API keys, and with room for lines of 100 characters."""
    kept = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    return kept | {"COLUMNS": "100"}


@pytest.fixture
def rewardgen(tmp_path, monkeypatch, capfd):
    """Runs the command line in an empty folder, with no API keys; returns what a finished process would.

    It runs in this process, whose workers are warm already: a command of its own would import torch for each.
    """

    def call(*arguments, **changes):
        with monkeypatch.context() as patch:
            patch.chdir(tmp_path)
            for name in os.environ.keys() - environment().keys():
                patch.delenv(name)
            for name, value in (environment() | changes).items():
                patch.setenv(name, value)
            capfd.readouterr()
            code = main([*map(str, arguments)])
        return CompletedProcess(arguments, code, *capfd.readouterr())

    return call


def write_run(runs_dir, told=None, run_id=RUN_ID, own=False):
    """A run folder that holds only its event log, which is all that reading a run needs; signed if it is own."""
    folder = runs_dir / run_id
    folder.mkdir(parents=True)
    first, *rest = told if told is not None else events()
    if own:
        signed = signature(first.data["run_id"], RunConfig.model_validate(first.data["config"]))
        first = first.model_copy(update={"data": first.data | {"signature": signed}})
    lines = [event.model_dump_json() for event in (first, *rest)]
    (folder / "events.jsonl").write_text("\n".join(lines) + "\n")
    return folder


@pytest.fixture
def finished_run(tmp_path):
    """The story's run in the default runs folder."""
    return write_run(tmp_path / "runs", own=True)
