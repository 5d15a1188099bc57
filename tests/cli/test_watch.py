"""How `run` and `resume` end, with the story told to them instead of a search."""

from pathlib import Path

import pytest

from rewardgen.cli.watching import watch
from rewardgen.core.errors import CredentialsError
from rewardgen.store.history import History
from tests.ui.story import RUN_ID, events


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def ending_with(error):
    def work(listener):
        history = History()
        for event in events()[:12]:
            history.apply(event)
            listener.event(event, history)
        raise error

    return work


def test_an_interrupted_run_prints_the_line_that_resumes_it(capsys):
    assert watch(ending_with(KeyboardInterrupt()), Path("elsewhere")) is None
    assert f"next: rewardgen resume elsewhere/{RUN_ID}  " in capsys.readouterr().err


def test_an_error_within_a_run_is_passed_on_after_the_line_that_resumes_it(capsys):
    with pytest.raises(CredentialsError):
        watch(ending_with(CredentialsError("the key was refused", "set another")), Path("runs"))
    assert (
        f"`rewardgen resume {RUN_ID}` continues once this is fixed, also with another `--model`"
        in capsys.readouterr().err
    )


def test_an_interruption_before_the_run_began_promises_nothing(capsys):
    def work(listener):
        listener.note("measuring the task")
        raise KeyboardInterrupt

    assert watch(work, Path("runs")) is None
    said = capsys.readouterr()
    assert "nothing was kept" in said.err
    assert "resume" not in said.err
    assert said.out == ""
