"""Starting and resuming a run: puts the parts together, keeps the run folder, and turns a Ctrl-C into a saved run."""

from __future__ import annotations

import hashlib
import json
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import tomli_w

from rewardgen.analyzer.analyzer import Analyzer
from rewardgen.core.config import BUILTIN, RunConfig, SandboxMode
from rewardgen.core.errors import RewardgenError, RunFolderError, UsageError
from rewardgen.core.files import write_atomic
from rewardgen.core.provenance import provenance, usable_cores
from rewardgen.critic.gates import Critic, Review
from rewardgen.critic.llm_review import Reader
from rewardgen.critic.review import Comparison, SandboxedReviewer
from rewardgen.designer.builtin.designer import BuiltinDesigner
from rewardgen.designer.llm_designer import LLMDesigner
from rewardgen.designer.protocol import Designer
from rewardgen.llm.factory import lasting_model, make_llm
from rewardgen.llm.prompts import template_versions
from rewardgen.sandbox.folders import discard
from rewardgen.sandbox.process import Limits
from rewardgen.sandbox.selftest import layers_in_force
from rewardgen.search import best_of_n, evolve  # noqa: F401  (they register themselves)
from rewardgen.search.context import Parts
from rewardgen.search.judge import JUDGES
from rewardgen.search.search import run_search
from rewardgen.search.strategy import STRATEGIES
from rewardgen.store import run_files as report
from rewardgen.store.events import FORMAT, Event, EventLog
from rewardgen.store.history import History
from rewardgen.store.journal import Journal, Listener
from rewardgen.store.messages import Usage
from rewardgen.store.records import Candidate, RewardSpec, TaskCard, TrainSettings
from rewardgen.store.run_folder import RunFolder, create_run
from rewardgen.tasks.loading import resolve_task, shipped_tasks
from rewardgen.tasks.measure import BASELINES, CARD, MEASURING, measure
from rewardgen.training import experts
from rewardgen.training.process_trainer import ProcessTrainer
from rewardgen.training.result_validation import TaskNames
from rewardgen.training.transition_cache import CHECK_TASK, get_or_measure_card, get_or_record_transitions

SEEDS_PER_RUN = 10_000
"""Each run seed owns this many training seeds: the first half for the search, the second for the finals."""


class Outcome(NamedTuple):
    """How a run ended."""

    folder: RunFolder
    history: History
    exit_code: int
    """0: a reward was chosen; 1: the search ran, but no candidate could be trained."""


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
    named = {"model": config.model, "critic_model": config.critic_model}
    models = {name: lasting_model(model, runs_dir) for name, model in named.items() if model}
    lasting = {"task": _lasting_reference(config.task), **models}
    config = config.model_copy(update=lasting)
    folder = create_run(runs_dir, config.task)
    try:
        with folder.locked(), _termination_as_interrupt():
            journal = _begin(folder, config, listener)
            return _work(folder, journal)
    except BaseException:
        if not folder.events.exists() or not folder.events.stat().st_size:
            shutil.rmtree(folder.path, ignore_errors=True)
        raise


def resume(folder: RunFolder, listener: Listener) -> Outcome:
    """Take up a run where it was left. Nothing that was finished is done again; a finished run is only read.

    Raises:
        RunFolderError: The run is damaged, held by another process, or its task file has changed.
        KeyboardInterrupt: The run was interrupted again.
    """
    with folder.locked(), _termination_as_interrupt():
        history = History.load(folder)
        if history.config is None:
            raise RunFolderError(f"run {folder.id} has not begun", f"start it anew and delete {folder.path}")
        if history.summary is not None:
            _write_results(folder, history)  # it may have been killed, or the disk full, before they were all written
            return _outcome(folder, history)
        if _task_hash(history.config.task) != history.task_hash:
            raise RunFolderError(
                f"the task {history.config.task} or a model beside it has changed since the run began",
                "restore the files, or start a new run",
            )
        journal = Journal(EventLog(folder.events), history, _Reporter(listener, folder))
        journal.record("run-resumed")
        if history.config.sandbox == "off":
            listener.note("the sandbox is off, as it was when the run began")
        return _work(folder, journal)


def describe_task(reference: str, sandbox: SandboxMode = "auto") -> TaskCard:
    """Measure a task's card in a worker.

    Args:
        reference: Name or path of the task.
        sandbox: What to do about a layer of the sandbox that is missing.

    Raises:
        TaskError: The task cannot be loaded or simulated.
    """
    return TaskCard.model_validate(measure(CARD, {"task": _lasting_reference(reference)}, _measuring(sandbox))["card"])


def check_task(reference: str) -> dict[str, Any]:
    """Check a task file: `problems` is a list of {what, hint}, `measured` what was seen on the way."""
    return measure(CHECK_TASK, {"task": _lasting_reference(reference)})


def make_expert(
    task: str, seeds: int, *, env_steps: int | None, workers: int | None, on_progress: experts.OnProgress
) -> experts.Expert:
    """Train an expert policy for a task and keep it beside its file; see `rewardgen.training.experts.make_expert`."""
    return experts.make_expert(
        _lasting_reference(task), seeds, env_steps=env_steps, workers=workers or usable_cores(), on_progress=on_progress
    )


def check_rewards(task: str, files: Sequence[Path]) -> Review:
    """Put reward files through the critic's gates, without a run.

    Args:
        task: Task reference.
        files: Python files with a `compute_reward`.

    Returns:
        Verdicts by the files' paths as given.
    """
    candidates = [Candidate(id=str(each), generation=0, operator="draft", source=_read(each)) for each in files]
    lasting = _lasting_reference(task)
    with tempfile.TemporaryDirectory(prefix="rewardgen-") as name:
        bank = Path(name) / "bank.npz"
        get_or_record_transitions(lasting, bank, MEASURING)
        card = get_or_measure_card(lasting, MEASURING)
        return Critic(SandboxedReviewer(bank, MEASURING, Path(name)), compares=False).review(candidates, card)


def compare_rewards(folder: RunFolder, history: History, one: RewardSpec, other: RewardSpec) -> Comparison:
    """Compare two rewards on a run's bank of transitions; on one recorded anew if the run has none.

    Args:
        folder: The run.
        history: What is known of it.
        one: A reward for its task.
        other: Another, with another id.

    Raises:
        UsageError: One of the rewards cannot be computed on the bank, or the bank cannot be read.
        RunFolderError: The run has not begun.
    """
    config, card = history.config, history.card
    if config is None or card is None:
        raise RunFolderError(f"run {folder.id} has not begun", f"start it anew and delete {folder.path}")
    limits = _measuring(config.sandbox)
    with tempfile.TemporaryDirectory(prefix="rewardgen-") as name:
        bank = folder.bank
        if not bank.exists():
            bank = Path(name) / bank.name
            get_or_record_transitions(config.task, bank, limits)
        return SandboxedReviewer(bank, limits, Path(name)).compare(one, other, card)


# The beginning of a run.


def _begin(folder: RunFolder, config: RunConfig, listener: Listener) -> Journal:
    # A wrong name or a missing key must show before anything is measured.
    JUDGES.get(config.judge)
    STRATEGIES.get(config.strategy)
    _make_roles(folder, config)
    listener.note(f"measuring the task {Path(config.task).stem}")
    sandbox = _layers(config.sandbox, listener)
    card = describe_task(config.task, config.sandbox)
    found = measure(BASELINES, {"task": config.task}, _measuring(config.sandbox))
    settings = TrainSettings.model_validate(found["training"])
    if config.env_steps is not None:
        settings = settings.model_copy(update={"env_steps": config.env_steps})
    write_atomic(folder.config, tomli_w.dumps(config.model_dump(mode="json", exclude_none=True)))
    write_atomic(
        folder.provenance, json.dumps(provenance() | {"prompts": template_versions(), "sandbox": sandbox}, indent=1)
    )
    write_atomic(folder.card, card.model_dump_json(indent=1))
    first = config.seed * SEEDS_PER_RUN
    journal = Journal(EventLog(folder.events), History(), _Reporter(listener, folder))
    journal.record(
        "run-started",
        format=FORMAT,
        run_id=folder.id,
        config=config.model_dump(mode="json"),
        card=card.model_dump(mode="json"),
        training=settings.model_dump(mode="json"),
        baselines={name: found[name] for name in ("human", "sparse") if found[name]},
        task_hash=_task_hash(config.task),
        search_seeds=[first + number for number in range(config.seeds)],
        final_seeds=[first + SEEDS_PER_RUN // 2 + number for number in range(config.final_seeds)],
    )
    return journal


def _lasting_reference(reference: str) -> str:
    """A shipped task by name, any other by absolute path, so that a run can be resumed from elsewhere."""
    return reference if reference in shipped_tasks() else str(resolve_task(reference))


def _task_hash(reference: str) -> str:
    """Hash of the task file and the MJCF files beside it: a run must not go on with another task."""
    path = resolve_task(reference)
    digest = hashlib.sha256(path.read_bytes())
    for model in sorted(path.parent.glob("*.xml")):
        digest.update(model.read_bytes())
    return digest.hexdigest()


def _layers(sandbox: SandboxMode, listener: Listener) -> dict[str, Any]:
    """What keeps generated code in on this machine, for the record; what is missing is also said."""
    with tempfile.TemporaryDirectory(prefix="rewardgen-") as scratch:
        found = layers_in_force(Path(scratch), _measuring(sandbox))
    for layer in found.missing:
        listener.note(f"sandbox without {layer.name}: {layer.detail}")
    return found.model_dump(mode="json")


def _measuring(sandbox: SandboxMode) -> Limits:
    return MEASURING.model_copy(update={"sandbox": sandbox})


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 text", "save it as UTF-8") from error
    except OSError as error:
        raise UsageError(
            f"cannot read {path}: {error.strerror}", "give the path of a Python file with a reward"
        ) from error


# The work.


def _work(folder: RunFolder, journal: Journal) -> Outcome:
    config, card, settings = journal.history.config, journal.history.card, journal.history.training
    assert config is not None and card is not None and settings is not None
    try:
        run_search(config, card, _parts(folder, config, card, settings), journal)
    except KeyboardInterrupt:
        journal.record("interrupted")
        raise
    except RewardgenError as error:
        _record_failure(journal, error)
        raise
    discard(folder.scratch)
    return _outcome(folder, journal.history)


def _record_failure(journal: Journal, error: RewardgenError) -> None:
    with suppress(RunFolderError):  # a full disk cannot be recorded; the log still ends with the last finished step
        journal.record("failed", message=error.message, hint=error.hint)


def _outcome(folder: RunFolder, history: History) -> Outcome:
    return Outcome(folder, history, 0 if history.summary and history.summary.chosen else 1)


def _parts(folder: RunFolder, config: RunConfig, card: TaskCard, settings: TrainSettings) -> Parts:
    roles = _make_roles(folder, config)
    if not folder.bank.exists():
        get_or_record_transitions(config.task, folder.bank, _measuring(config.sandbox))
    limits = Limits(wall_s=config.slice_timeout_s, sandbox=config.sandbox)
    judge = JUDGES.get(config.judge)(config)
    return Parts(
        designer=roles.designer,
        critic=_critic(folder, config),
        analyzer=roles.analyzer,
        trainer=ProcessTrainer(
            config.task,
            settings,
            config.workers or usable_cores(),
            folder.scratch.resolve(),
            limits,
            isolate=config.isolate,
            names=TaskNames([*(each.name for each in card.variables), "action"], card.termination_causes),
        ),
        strategy=STRATEGIES.get(config.strategy)(config, judge),
        judge=judge,
        usage=roles.usage,
        policies=folder.policies,
        on_study=lambda record: report.write_candidate(folder, record),
        reader=roles.reader,
    )


def _critic(folder: RunFolder, config: RunConfig) -> Critic:
    if "critic" in config.ablate:
        return Critic(None)
    limits, episodes = _measuring(config.sandbox), folder.policies / "search"
    return Critic(SandboxedReviewer(folder.bank, limits, folder.scratch, episodes))


class _Roles(NamedTuple):
    """The roles that may ask a language model."""

    designer: Designer
    analyzer: Analyzer
    reader: Reader | None
    usage: Callable[[], Usage]
    """What their calls took so far."""


def _make_roles(folder: RunFolder, config: RunConfig) -> _Roles:
    if config.model == BUILTIN and not config.critic_model:
        return _Roles(BuiltinDesigner(), Analyzer(None), None, Usage)
    llm = make_llm(config, folder)
    reader = Reader(llm) if config.critic_model else None
    if config.model == BUILTIN:
        return _Roles(BuiltinDesigner(), Analyzer(None), reader, llm.usage)
    analyzer = Analyzer(None if "analyzer" in config.ablate else llm)
    return _Roles(LLMDesigner(llm, config), analyzer, reader, llm.usage)


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
            report.write_readme(self._folder, history)
        if event.kind == "finished":
            report.write_best(self._folder, history)
        self._listener.event(event, history)


def _write_results(folder: RunFolder, history: History) -> None:
    report.write_readme(folder, history)
    report.write_best(folder, history)


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
