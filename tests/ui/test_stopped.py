"""A candidate with a training that was stopped early: it has a fitness, and every view says why it stopped."""

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
def stopped_events():
    """The events up to the last training of g00-k1, one seed of which was stopped."""
    trained = [number for number, event in enumerate(events()) if _is_of_k1(event)]
    first, last = events()[trained[0]], events()[trained[-1]]
    result = {**first.data["slice"], "env_steps": 150_000, "stopped": STOP.model_dump(mode="json")}
    stopped = first.model_copy(update={"data": {**first.data, "slice": result}})
    return [*events()[: trained[0]], stopped, *events()[trained[0] + 1 : trained[-1]], last]


def _is_of_k1(event):
    return event.kind == "trained" and event.data["slice"]["candidate_id"] == "g00-k1"


def test_row_line_page_and_readme_show_the_stop(stopped_events, tmp_path):
    history = History(stopped_events)
    (row,) = search_rows(history, ["g00-k1"], {})
    assert (row.status, row.merit, row.stopped, row.reason) == ("trained", 580.0, True, STOP.message)
    assert describe(stopped_events[-1], history).endswith(f"({STOP.message})")
    record = history.record("g00-k1")
    assert record is not None
    console = Console(width=120, file=io.StringIO(), markup=False, highlight=False)
    console.print(candidate_page(history, record))
    text = " ".join(console.file.getvalue().split())  # type: ignore[attr-defined]
    assert "failure or stop" in text and "150000" in text and "reward rose from 80 to 200" in text
    folder = RunFolder(tmp_path)
    write_readme(folder, history)
    assert STOP.message in folder.readme.read_text()
