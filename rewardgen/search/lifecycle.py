"""Starting and resuming a run: measures the task, keeps the run folder, and turns a Ctrl-C into a saved run."""

from __future__ import annotations

import json
import shutil
import signal
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import tomli_w

from rewardgen.core.config import RunConfig
from rewardgen.core.errors import RewardgenError, RunFolderError
from rewardgen.core.files import sweep_unfinished, write_atomic
from rewardgen.core.provenance import provenance
from rewardgen.llm.factory import lasting_model
from rewardgen.llm.prompts import template_versions
from rewardgen.sandbox.folders import discard, scratch_folder, sweep_scratch
from rewardgen.sandbox.layers import LayerReport
from rewardgen.sandbox.selftest import layers_in_force
from rewardgen.search.assembly import check_names, make_parts, measuring
from rewardgen.search.search import run_search
from rewardgen.store import run_files
from rewardgen.store.events import FORMAT, Event, EventLog
from rewardgen.store.history import History
from rewardgen.store.journal import Journal, Listener
from rewardgen.store.run_folder import RunFolder, create_run, sweep_runs
from rewardgen.tasks.fingerprint import changed
from rewardgen.tasks.loading import lasting_reference
from rewardgen.training.setup import card_for, settings_for
from rewardgen.training.transition_cache import get_or_measure

SEEDS_PER_RUN = 10_000
"""Each run seed owns this many training seeds: the first half for the search, the second for the finals."""


class Outcome(NamedTuple):
    """How a run ended."""

    folder: RunFolder
    history: History

    @property
    def exit_code(self) -> int:
        """0: a reward was chosen; 1: the search ran, but no candidate could be trained."""
        return 0 if self.history.summary and self.history.summary.chosen else 1


def start(config: RunConfig, runs_dir: Path, listener: Listener) -> Outcome:
    """Start a run and see it to its end.

    Args:
        config: What to do.
        runs_dir: Folder in which the run's own folder is made.
        listener: Watches the run.

    Raises:
        RewardgenError: The task, model or folder cannot be used, or a call failed for good.
        KeyboardInterrupt: The run was interrupted; it is saved and can be resumed.
    """
    sweep_scratch()
    sweep_runs(runs_dir)
    named = {"model": config.model, "critic_model": config.critic_model}
    models = {name: lasting_model(model, runs_dir) for name, model in named.items() if model}
    config = config.model_copy(update={"task": lasting_reference(config.task), **models})
    folder = create_run(runs_dir, config.task)
    try:
        with folder.locked(), _termination_as_interrupt():
            return _work(folder, _begin(folder, config, listener))
    except BaseException:
        if not folder.events.exists() or not folder.events.stat().st_size:
            shutil.rmtree(folder.path, ignore_errors=True)
        raise


def resume(folder: RunFolder, listener: Listener) -> Outcome:
    """Take up a run where it was left. Nothing that was finished is done again; a finished run is only read.

    Raises:
        RunFolderError: The run is damaged, held by another process, or its task has changed.
        KeyboardInterrupt: The run was interrupted again.
    """
    with folder.locked(), _termination_as_interrupt():
        sweep_scratch()
        sweep_unfinished(folder.path)
        history = History.load(folder)
        if history.config is None:
            raise RunFolderError(f"run {folder.id} has not begun", f"start it anew and delete {folder.path}")
        if history.summary is not None:
            # It may have been killed, or the disk full, before they were all written.
            run_files.write_readme(folder, history)
            run_files.write_best(folder, history)
            return Outcome(folder, history)
        if files := changed(history.task_files):
            raise RunFolderError(
                f"the task {history.config.task} has changed since the run began: {', '.join(map(str, files))}",
                "restore what has changed, or start a new run",
            )
        journal = Journal(EventLog(folder.events), history, _Reporter(listener, folder))
        journal.record("run-resumed")
        if history.config.sandbox == "off":
            listener.note("the sandbox is off, as it was when the run began")
        return _work(folder, journal)


def _begin(folder: RunFolder, config: RunConfig, listener: Listener) -> Journal:
    """Measure the task, and record what the run rests on."""
    check_names(folder, config)  # a wrong name or a missing key must show before anything is measured
    listener.note(f"measuring the task {Path(config.task).stem}")
    with _layers(config) as asked:
        task = get_or_measure(config.task, measuring(config), with_transitions=True)
        known = provenance() | {"prompts": template_versions()}
        layers = asked.result()
    for layer in layers.missing:
        listener.note(f"sandbox without {layer.name}: {layer.detail}")
    settings, card = settings_for(config.trainer, task, config.env_steps), card_for(config.trainer, task)
    write_atomic(folder.config, tomli_w.dumps(config.model_dump(mode="json", exclude_none=True)))
    write_atomic(folder.provenance, json.dumps(known | {"sandbox": layers.model_dump(mode="json")}, indent=1))
    write_atomic(folder.card, card.model_dump_json(indent=1))
    first = config.seed * SEEDS_PER_RUN
    journal = Journal(EventLog(folder.events), History(), _Reporter(listener, folder))
    journal.record(
        "run-started",
        format=FORMAT,
        run_id=folder.id,
        config=config.model_dump(mode="json"),
        card=card.model_dump(mode="json"),
        training={"trainer": config.trainer, "settings": settings.model_dump(mode="json")},
        baselines=task.baselines,
        task_files=task.files,
        search_seeds=[first + number for number in range(config.seeds)],
        final_seeds=[first + SEEDS_PER_RUN // 2 + number for number in range(config.final_seeds)],
    )
    return journal


@contextmanager
def _layers(config: RunConfig) -> Iterator[Future[LayerReport]]:
    """What keeps generated code in here, as the run's first worker tells it; its start takes seconds, so go on."""
    with scratch_folder() as scratch, ThreadPoolExecutor(1) as pool:
        yield pool.submit(layers_in_force, scratch, measuring(config))


def _work(folder: RunFolder, journal: Journal) -> Outcome:
    config, card, training = journal.history.config, journal.history.card, journal.history.training
    assert config is not None and card is not None and training is not None
    try:
        run_search(config, card, make_parts(folder, config, card, training), journal)
    except KeyboardInterrupt:
        journal.record("interrupted")
        raise
    except RewardgenError as error:
        with suppress(RunFolderError):  # a full disk cannot be recorded; the log ends with the last finished step
            journal.record("failed", message=error.message, hint=error.hint)
        raise
    discard(folder.scratch)
    return Outcome(folder, journal.history)


class _Reporter:
    """Passes everything on, and keeps the run's README and `best/` up to date.

    Args:
        listener: The one that watches the run.
        folder: The run's folder.
    """

    def __init__(self, listener: Listener, folder: RunFolder) -> None:
        self._listener = listener
        self._folder = folder
        self.progress = listener.progress
        self.note = listener.note

    def event(self, event: Event, history: History) -> None:
        if event.kind in ("generation-finished", "interrupted", "failed", "finished"):
            run_files.write_readme(self._folder, history)
        if event.kind == "finished":
            run_files.write_best(self._folder, history)
        self._listener.event(event, history)


@contextmanager
def _termination_as_interrupt() -> Iterator[None]:
    """Handle SIGTERM like Ctrl-C, so that a run is also saved when a scheduler ends it."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    try:
        before = signal.signal(signal.SIGTERM, interrupt)
    except ValueError:  # not in the main thread: signals are the embedding program's business
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
