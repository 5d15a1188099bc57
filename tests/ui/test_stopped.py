"""A candidate whose training was stopped early: it has its fitness, and every view says that it was stopped and why."""

import io

import pytest
from rich.console import Console

from rewardgen.report.run_files import write_readme
from rewardgen.store.history import History
from rewardgen.store.measurements import EarlyStop
from rewardgen.store.run_folder import RunFolder
from rewardgen.ui.plain import describe
from rewardgen.ui.show import candidate_page
from rewardgen.view.rows import search_rows
from tests.ui.story import events

STOP = EarlyStop(
    env_steps=150_000, of_env_steps=300_000, return_from=80.0, return_to=200.0, fitness_from=900.0, fitness_to=301.0
)


@pytest.fixture
def told():
    """The events up to the last training of g00-k1, one seed of which was stopped."""
    trained = [number for number, each in enumerate(events()) if _is_of_k1(each)]
    first, last = events()[trained[0]], events()[trained[-1]]
    result = {**first.data["slice"], "env_steps": 150_000, "stopped": STOP.model_dump(mode="json")}
    stopped = first.model_copy(update={"data": {**first.data, "slice": result}})
    return [*events()[: trained[0]], stopped, *events()[trained[0] + 1 : trained[-1]], last]


def _is_of_k1(event):
    return event.kind == "trained" and event.data["slice"]["candidate_id"] == "g00-k1"


def page(renderable):
    console = Console(width=120, file=io.StringIO(), markup=False, highlight=False)
    console.print(renderable)
    return " ".join(console.file.getvalue().split())  # type: ignore[attr-defined]


def test_its_row_is_that_of_a_trained_candidate_with_the_stop_as_its_reason(told):
    (row,) = search_rows(History(told), ["g00-k1"], {})
    assert (row.status, row.fitness, row.stopped) == ("trained", 580.0, True)
    assert row.reason == STOP.message


def test_the_line_of_its_training_says_so(told):
    assert describe(told[-1], History(told)).endswith(f"({STOP.message})")


def test_its_page_tells_the_seed_with_the_steps_it_had(told):
    history = History(told)
    record = history.record("g00-k1")
    assert record is not None
    text = page(candidate_page(history, record))
    assert "failure or stop" in text and "150000" in text and "reward rose from 80 to 200" in text


def test_the_readme_of_the_run_says_what_became_of_it(told, tmp_path):
    folder = RunFolder(tmp_path)
    write_readme(folder, History(told))
    assert STOP.message in folder.readme.read_text()
