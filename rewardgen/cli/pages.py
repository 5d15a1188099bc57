"""`rewardgen report` and `rewardgen serve`: runs in the browser."""

from __future__ import annotations

import html
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from rewardgen.cli.output import Json, Reference, RunsDir, flag, print_json
from rewardgen.report.page import write_report
from rewardgen.sandbox.folders import scratch_folder
from rewardgen.serve.server import RunHandler, Server
from rewardgen.serve.site import RunSite
from rewardgen.store.history import History
from rewardgen.store.run_folder import DEFAULT_RUNS_DIR, EVENTS, find_run
from rewardgen.ui.console import messages, results

Open = Annotated[bool, flag("Open it in the browser.", "--open")]
Port = Annotated[int, Parameter(help="Port; 0 for any free one.", validator=Number(gte=0, lte=65535))]
Where = Annotated[str | None, Parameter(help="A run or a folder of runs; default: all runs.")]


def report(
    ref: Reference = "latest", /, *, open: Open = False, runs_dir: RunsDir = DEFAULT_RUNS_DIR, json: Json = False
) -> int:
    """Write a run's report as one HTML file and print its path."""
    folder = find_run(ref, runs_dir)
    history = History.load(folder)
    path = write_report(folder, history).resolve()
    if json:
        print_json({"run_id": folder.id, "path": str(path)})
    else:
        results().print_data(str(path))
    if open and not webbrowser.open(path.as_uri()):
        messages().print("no browser was found; open the file by hand", soft_wrap=True)
    return 0


def serve(
    where: Where = None,
    /,
    *,
    port: Port = 0,
    open: Open = False,
    runs_dir: RunsDir = DEFAULT_RUNS_DIR,
    json: Json = False,
) -> int:
    """Show runs in the browser while they go on, until Ctrl-C."""
    server = Server(partial(RunHandler, _site(where, runs_dir)), port)
    with server, _way_in(server.url) if open else nullcontext() as way_in:
        if json:
            print_json({"url": server.url})
        else:
            results().print_data(server.url)
            messages().print("works on this machine, for anybody who has this link; Ctrl-C stops it", soft_wrap=True)
        try:
            if way_in:
                webbrowser.open(way_in.as_uri())
            server.serve_forever(poll_interval=0.2)
        except KeyboardInterrupt:
            server.ended.set()
    return 0


@contextmanager
def _way_in(url: str) -> Iterator[Path]:
    """Write a private page that redirects to the link, because every user here can read a browser's command line."""
    with scratch_folder() as folder:
        page = folder / "open.html"
        page.touch(0o600)
        page.write_text(f'<!doctype html><meta http-equiv="refresh" content="0; url={html.escape(url)}">')
        yield page


def _site(where: str | None, runs_dir: Path) -> RunSite:
    if where is None:
        return RunSite(runs_dir)
    if Path(where).is_dir() and not (Path(where) / EVENTS).is_file():
        return RunSite(Path(where))
    folder = find_run(where, runs_dir)
    return RunSite(folder.path.parent, folder)
