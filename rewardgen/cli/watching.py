"""`rewardgen runs watch`."""

from __future__ import annotations

from rewardgen.api.watching import watching
from rewardgen.cli.failures import INTERRUPTED
from rewardgen.cli.output import Json, Reference, RunsDir, home_of, next_steps, with_runs_dir
from rewardgen.cli.run import conclude
from rewardgen.core.errors import RunFolderError
from rewardgen.search.lifecycle import Outcome
from rewardgen.store.following import follow
from rewardgen.store.history import History
from rewardgen.store.run_folder import DEFAULT_RUNS_DIR, RunFolder, find_run
from rewardgen.ui.console import messages
from rewardgen.view.progress_view import Watcher


def watch(ref: Reference = "latest", /, *, runs_dir: RunsDir = DEFAULT_RUNS_DIR, json: Json = False) -> int:
    """Watch a run that another process works on."""
    folder = find_run(ref, runs_dir)
    runs_dir = home_of(folder, runs_dir)
    resume = (with_runs_dir(f"resume {folder.word}", runs_dir), "goes on with it")
    try:
        history = _followed(folder) if folder.is_locked() else History.load(folder)
    except KeyboardInterrupt:
        messages().print("no longer watched; the run goes on", soft_wrap=True)
        return INTERRUPTED
    if history.summary is not None:
        return conclude(Outcome(folder, history), runs_dir, json)
    if history.status == "failed":
        raise RunFolderError(f"run {folder.id} failed: {history.error}", history.hint)
    messages().print(f"run {folder.id} was interrupted; nobody works on it", soft_wrap=True)
    next_steps(resume)
    return 1


def _followed(folder: RunFolder) -> History:
    messages().print(f"watching run {folder.id}; Ctrl-C leaves it running", soft_wrap=True)
    with watching(True) as listener:
        assert isinstance(listener, Watcher)
        return follow(folder, listener)
