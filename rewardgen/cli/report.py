"""`rewardgen report`."""

from __future__ import annotations

import webbrowser
from typing import Annotated

from cyclopts import Parameter

from rewardgen.cli.output import Json, Reference, RunsDir, print_json
from rewardgen.core.errors import RunFolderError
from rewardgen.report.page import write_report
from rewardgen.store.history import History
from rewardgen.store.run_folder import DEFAULT_RUNS_DIR, find_run
from rewardgen.ui.console import messages, results

Open = Annotated[bool, Parameter(name="--open", negative="", help="Open it in the browser.", show_default=False)]


def report(
    ref: Reference = "latest", /, *, open: Open = False, runs_dir: RunsDir = DEFAULT_RUNS_DIR, json: Json = False
) -> int:
    """Write a run's report as one HTML file and print its path."""
    folder = find_run(ref, runs_dir)
    history = History.load(folder)
    if history.config is None:
        raise RunFolderError(f"run {folder.id} has not begun", f"start the run again and delete {folder.path}")
    path = write_report(folder, history).resolve()
    if json:
        print_json({"run_id": folder.id, "path": str(path)})
    else:
        results().print_data(str(path))
    if open and not webbrowser.open(path.as_uri()):
        messages().print("no browser was found; open the file by hand", soft_wrap=True)
    return 0
