"""A run in the output of a notebook's cell."""

from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

from rewardgen.store.history import History
from rewardgen.ui.screen import Notebook
from tests.ui.story import events


def test_a_cell_shows_the_run_as_the_screen_does_and_is_drawn_anew_with_each_event(monkeypatch):
    shell = InteractiveShell.instance()
    monkeypatch.setattr("builtins.get_ipython", lambda: shell, raising=False)
    monkeypatch.setenv("DATABRICKS_RUNTIME_VERSION", "1")  # a notebook, to rich, which prints into its cells by itself
    notebook, history = Notebook(), History()
    with capture_output() as captured:
        for event in events():
            history.apply(event)
            notebook.event(event, history)
        notebook.note("<script>alert(1)</script>")
    pages = [each.data["text/html"] for each in captured.outputs]
    assert 1 < len(pages) <= len(events()) + 1
    assert any(history.ids()[0] in page for page in pages)
    assert "<script>" not in pages[-1]
    assert "&lt;script&gt;" in pages[-1]
