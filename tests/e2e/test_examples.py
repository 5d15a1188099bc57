"""A run keeps the examples of its beginning, over a real HTTP server."""

import shutil

import pytest

from rewardgen.core.config import RunConfig
from rewardgen.report.ledger import origins
from rewardgen.search.lifecycle import resume, start
from rewardgen.store.run_folder import list_runs
from rewardgen.testing.server import Answer, ChatServer
from rewardgen.view.facts import read_facts
from tests.e2e.command import FEW, POINT
from tests.e2e.test_resuming import REPLY
from tests.search.parts import Listener
from tests.search.test_library import a_library

SHOWN = "### Example 1: `carriage`"


class Stops(Listener):
    """Interrupts the run at its first design, and keeps its notes."""

    def __init__(self):
        super().__init__()
        self.notes = []

    def note(self, text):
        self.notes.append(text)

    def event(self, event, history):
        if event.kind == "designed":
            raise KeyboardInterrupt


def test_a_resumed_run_shows_the_examples_of_its_beginning(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    library, entry = a_library(tmp_path, task="carriage", description="Push a carriage along a rail to the origin.")
    with ChatServer(lambda number, body: Answer(REPLY)) as server:
        models = {"model": "openai/any", "api_base": server.api_base, "examples": 1, "library": library}
        settings = FEW | {"generations": 1, "candidates": 2, "concurrency": 1} | models
        with pytest.raises(KeyboardInterrupt):
            start(RunConfig(task=str(POINT), **settings), tmp_path / "runs", listener := Stops())
        (folder,) = list_runs(tmp_path / "runs")
        shutil.rmtree(library)
        history = resume(folder, Listener()).history
    assert "examples for the designer: mine" in listener.notes
    assert [example.name for example in history.examples] == ["mine"] and history.examples[0].source == entry.source
    drafts = [body for body in server.bodies if "from scratch" in body["messages"][1]["content"]]
    assert len(drafts) >= 2 and all(SHOWN in body["messages"][1]["content"] for body in drafts)
    facts = read_facts(folder)
    assert facts.examples == "mine" and "--examples 1" in facts.options
    assert ("Examples for the designer", "mine") in origins(folder, history, "finished")
