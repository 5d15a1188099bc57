"""Starting and resuming a run: measures the task, keeps the run folder, and turns a Ctrl-C into a saved run."""

from __future__ import annotations

import json
import shutil
import signal
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import tomli_w

from rewardgen.core.config import BUILTIN, RunConfig
from rewardgen.core.errors import RewardgenError, RunFolderError, UsageError
from rewardgen.core.files import sweep_unfinished, write_atomic
from rewardgen.core.provenance import provenance
from rewardgen.critic.critic import check_form
from rewardgen.llm.archive import archived_usage, outdate_refusals
from rewardgen.llm.factory import lasting_model
from rewardgen.llm.prompts import using_prompts
from rewardgen.sandbox.folders import discard, scratch_folder, sweep_scratch
from rewardgen.sandbox.layers import LayerReport
from rewardgen.sandbox.selftest import layers_in_force
from rewardgen.search.assembly import check_names, checked_goal, make_parts, measuring
from rewardgen.search.changed_task import measured_anew
from rewardgen.search.inspect_rewards import read_reward
from rewardgen.search.run_prompts import changed_prompts, keep_prompts, kept_prompts, own_prompts_of
from rewardgen.search.search import run_search
from rewardgen.store.events import FORMAT, Event, EventLog
from rewardgen.store.history import ChangedTask, History, Resumption
from rewardgen.store.journal import Journal, Listener
from rewardgen.store.origin import Terms, signature, terms
from rewardgen.store.progress import ProgressFile
from rewardgen.store.records import Candidate
from rewardgen.store.run_folder import RunFolder, create_run, sweep_runs
from rewardgen.tasks.fingerprint import changed
from rewardgen.tasks.loading import lasting_reference
from rewardgen.training.cache import get_or_measure
from rewardgen.training.setup import card_for, settings_for, trainer_of

Confirm = Callable[[str, str], None]

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


def agreed(what: str, otherwise: str) -> None:
    """Nobody is asked: what calls this decides for itself."""


def start(config: RunConfig, runs_dir: Path, listener: Listener, confirm: Confirm = agreed) -> Outcome:
    """Start a run and see it to its end.

    Args:
        config: What to do.
        runs_dir: Folder in which the run's own folder is made.
        listener: Watches the run.
        confirm: Is told what speaks against the run before it begins, and what to do otherwise; raises to forbid it.

    Raises:
        RewardgenError: The task, model or folder cannot be used, or a call failed for good.
        KeyboardInterrupt: The run was interrupted; it is saved and can be resumed.
    """
    sweep_scratch()
    sweep_runs(runs_dir)
    config = lasting(config, runs_dir)
    folder = create_run(runs_dir, config.task)
    try:
        with folder.locked(), _termination_as_interrupt(), using_prompts(own_prompts_of(config)):
            return _work(folder, _begin(folder, config, listener, confirm))
    except BaseException:
        if not folder.events.exists() or not folder.events.stat().st_size:
            shutil.rmtree(folder.path, ignore_errors=True)
        raise


def lasting(config: RunConfig, runs_dir: Path) -> RunConfig:
    """A configuration whose task and models mean the same later and elsewhere.

    Args:
        config: What a user named.
        runs_dir: Where the runs are.

    Raises:
        TaskError: There is no such task or file.
        RunFolderError: There is no such run to replay.
    """
    named = {"model": config.model, "critic_model": config.critic_model}
    models = {name: lasting_model(model, runs_dir) for name, model in named.items() if model}
    prompts = str(found.resolve()) if (found := own_prompts_of(config)) else None
    return config.model_copy(update={"task": lasting_reference(config.task), "prompts": prompts, **models})


class Resume(NamedTuple):
    """How a run is to go on."""

    changes: Mapping[str, Any] = {}
    """Fields of its configuration that are set anew: see `Resumption`; `ablate` adds to them."""
    agreed: Terms | None = None
    """What the user was asked and agreed to: see `unsigned_terms`."""
    changed_task: bool = False
    """Whether the task file may have changed in how it judges."""
    generations: int = 0
    """So many more: after the last one if the search is over, else than it was to have."""


def unsigned_terms(folder: RunFolder, how: Resume) -> Terms | None:
    """What a run would do in the user's name who did not start it here as it is; None if there is nothing to ask.

    Args:
        folder: The run's.
        how: What is set anew; the user says so by it, and agrees to that.

    Raises:
        RunFolderError: The run is damaged.
    """
    history = History.load(folder)
    if history.config is None or (history.summary is not None and not how.generations):  # it does nothing more
        return None
    return None if history.is_own else terms(history.run_id, _changed(history, how.changes))


def resume(folder: RunFolder, listener: Listener, how: Resume = Resume()) -> Outcome:  # noqa: B008
    """Take up a run where it was left. Nothing that was finished is done again.

    A finished run is only read, unless it is to have more generations: then the search goes on after the last one, with
    all candidates there are, and the finals are made anew on seeds that were never used.

    Raises:
        RunFolderError: The run is damaged, held by another process, its task has changed, or files of it are missing.
        UsageError: The user did not start it here as it is, and did not agree to what it does; or it is finished, and
            was to go on otherwise.
        KeyboardInterrupt: The run was interrupted again.
    """
    with folder.locked(), _termination_as_interrupt():
        sweep_scratch()
        sweep_unfinished(folder.path)
        history = History.load(folder)
        if history.config is None:
            raise RunFolderError(f"run {folder.id} has not begun", f"start it anew and delete {folder.path}")
        if history.summary is not None and not how.generations:
            _refuse_options(folder, how)
            return Outcome(folder, history)
        asked = unsigned_terms(folder, how)
        if asked is not None and asked != how.agreed:
            raise UsageError(
                f"run {folder.id} was not started here as it is",
                "look at what it does, then add `--yes`",
            )
        _require_room(history, how)
        discard(folder.scratch)  # workers that were killed may have left anything there
        config = _changed(history, how.changes)
        kept = kept_prompts(folder, config)
        task = _task_as_it_is(folder, history, config, how.changed_task)
        check_names(folder, config)  # before the log says that it goes on
        if {"model", "critic_model", "api_base"} & how.changes.keys():
            outdate_refusals(folder.calls)
        journal = Journal(EventLog(folder.events), history, _Reporter(listener, folder))
        journal.record("run-resumed", **_resumption(history, config, how, task))
        assert history.config is not None
        write_atomic(folder.config, _toml(history.config))
        if config.sandbox == "off":
            listener.note("the sandbox is off, as it was when the run began")
        with using_prompts(kept):
            for each in changed_prompts(folder, config):
                listener.note(each)
            return _work(folder, journal)


def _refuse_options(folder: RunFolder, how: Resume) -> None:
    """Of a finished run, nothing would come of them."""
    given = [*how.changes, *(["changed_task"] if how.changed_task else [])]
    if given:
        options = ", ".join(f"`--{name.replace('_', '-')}`" for name in given)
        raise UsageError(
            f"run {folder.id} is finished: no call, training or measurement is left that {options} could change",
            "start a new run with `rewardgen run`, have this one go on with"
            f" `rewardgen resume {folder.word} --generations 1` and these options, or leave them out to have its files"
            " written again",
        )


def _resumption(history: History, config: RunConfig, how: Resume, task: ChangedTask | None) -> dict[str, Any]:
    """What the log says of it."""
    told: dict[str, Any] = {
        "changes": {name: getattr(config, name) for name in how.changes},
        "task": task,
        "signature": signature(terms(history.run_id, config)),
    }
    if how.generations:
        over = history.stop_reason or history.summary
        told["generations"] = how.generations + (len(history.generations) if over else config.generations)
    if how.generations and history.finalists:
        used = [history.final_seeds, *(seeds for seeds, _ in history.opened)]
        first = 1 + max(seed for seeds in used for seed in seeds)
        told["final_seeds"] = [first + number for number in range(config.final_seeds)]
    return Resumption.model_validate(told).model_dump(mode="json", exclude_defaults=True)


def _require_room(history: History, how: Resume) -> None:
    """A run whose model calls are used up has nothing to go on with."""
    if (
        how.generations
        and history.exhausted.startswith("the limit")
        and not {"max_cost", "max_tokens"} & {*how.changes}
    ):
        raise UsageError(
            f"run {history.run_id} has no room for more: {history.exhausted}",
            "raise the limit with `--max-cost` or `--max-tokens`; it counts all calls of the run",
        )


def _changed(history: History, changes: Mapping[str, Any]) -> RunConfig:
    assert history.config is not None
    left_out = (*history.config.ablate, *changes.get("ablate", ()))
    return RunConfig.model_validate(history.config.model_dump() | {**changes, "ablate": tuple(dict.fromkeys(left_out))})


def _task_as_it_is(folder: RunFolder, history: History, config: RunConfig, may_differ: bool) -> ChangedTask | None:
    """The task if it has changed and the run can go on with it; None if it has not."""
    files = changed(history.task_files)
    if not files:
        return None
    if not may_differ:
        raise RunFolderError(
            f"the task {config.task} has changed since the run began: {', '.join(map(str, files))}",
            "restore what has changed, or start a new run; if only its fitness, success or words changed, and you want"
            f" to go on with that: `rewardgen resume {folder.word} --changed-task`",
        )
    assert history.card is not None and history.training is not None
    return measured_anew(folder, config, history.card, history.training, history.baselines)


def _require_episodes(folder: RunFolder, history: History) -> None:
    """Later rewards are ranked by the episodes of earlier ones: without them, the search would go another way."""
    names = [each.episodes_file for (phase, _, _), each in history.trained.items() if phase == "search"]
    missing = [name for name in names if name and not (folder.policies / "search" / name).is_file()]
    if missing:
        raise RunFolderError(
            f"episodes of earlier candidates are missing in {folder.policies / 'search'}: {', '.join(missing)}",
            "put them back, or go on without the ranking of episodes, which may choose another reward:"
            f" `rewardgen resume {folder.word} --ablate tpe`",
        )


def _toml(config: RunConfig) -> str:
    return tomli_w.dumps(config.model_dump(mode="json", exclude_none=True))


def _begin(folder: RunFolder, config: RunConfig, listener: Listener, confirm: Confirm) -> Journal:
    """Measure the task, and record what the run rests on."""
    check_names(folder, config)  # a wrong name or a missing key must show before anything is measured
    given = read_reward(Path(config.init)) if config.init else ""
    if config.init and not given.strip():
        raise UsageError(f"{config.init} is empty", "give a Python file with a `compute_reward`, or leave out `--init`")
    if config.goal and config.model == BUILTIN:
        listener.note(
            "the goal changes nothing here: the built-in designer reads no words; `--model` names one that does"
        )
    if config.model == BUILTIN and not config.critic_model:
        for option in (name for name in ("prompts", "api_base") if getattr(config, name)):
            told = f"`--{option.replace('_', '-')}` changes nothing here: the built-in designer asks no model"
            listener.note(f"{told}; `--model` names one")
    listener.note(f"measuring the task {Path(config.task).stem}")
    with _layers(config) as asked:
        task = get_or_measure(config.task, measuring(config), with_transitions=True)
        known = provenance() | keep_prompts(folder)
        layers = asked.result()
    for layer in layers.missing:
        listener.note(f"sandbox without {layer.name}: {layer.detail}")
    if config.target_fitness == "human" and "human" not in task.baselines:
        raise UsageError(
            f"{task.card.name} has no human reward, so `--target-fitness human` is never reached",
            "give a number, or write a `human_reward` in the task file",
        )
    settings = settings_for(config.trainer, task, config.env_steps, config.device)
    card = card_for(config.trainer, task, config.env_steps, config.seeds, config.device)
    if settings.origin:
        listener.note(f"{settings.origin} Here it is {settings.env_steps:,}: `--env-steps`")
    own = Candidate(id="g00-k0", generation=0, operator="draft", source=given)
    if given and (wrong := [each for each in check_form(own, card) if each.severity == "reject"]):
        told = f"{config.init} cannot be trained on {card.name}: {wrong[0].message}"
        confirm(told, f"mend it: `rewardgen check {config.task} {config.init}` has all that is wrong with it")
    check = checked_goal(folder, config, card)
    if check and check.speaks_against:
        confirm(check.text, "give the goal to a task that measures it: `rewardgen new` writes one")
    write_atomic(folder.config, _toml(config))
    write_atomic(folder.provenance, json.dumps(known | {"sandbox": layers.model_dump(mode="json")}, indent=1))
    first = config.seed * SEEDS_PER_RUN
    journal = Journal(EventLog(folder.events), History(), _Reporter(listener, folder))
    journal.record(
        "run-started",
        format=FORMAT,
        run_id=folder.id,
        config=config.model_dump(mode="json"),
        card=card.model_dump(mode="json"),
        training={"trainer": config.trainer or trainer_of(task), "settings": settings.model_dump(mode="json")},
        baselines=task.baselines,
        given=given,
        task_files=task.files,
        search_seeds=[first + number for number in range(config.seeds)],
        final_seeds=[first + SEEDS_PER_RUN // 2 + number for number in range(config.final_seeds)],
        signature=signature(terms(folder.id, config)),
    )
    if check:
        journal.record("goal-checked", check=check.model_dump(mode="json"))
        journal.record("usage", usage=archived_usage(folder.calls).model_dump(mode="json"))
    return journal


@contextmanager
def _layers(config: RunConfig) -> Iterator[Future[LayerReport]]:
    """What keeps generated code in here, as the run's first worker tells it; its start takes seconds, so go on."""
    with scratch_folder() as scratch, ThreadPoolExecutor(1) as pool:
        yield pool.submit(layers_in_force, scratch, measuring(config))


def _work(folder: RunFolder, journal: Journal) -> Outcome:
    config, card = journal.history.config, journal.history.card
    assert config is not None and card is not None
    try:
        write_atomic(folder.card, card.model_dump_json(indent=1))
        parts = make_parts(folder, journal.history)
        if parts.strategy.learns and "tpe" not in config.ablate and not journal.history.finalists:
            _require_episodes(folder, journal.history)
        while run_search(config, card, parts, journal) is None:
            assert journal.history.card is not None
            parts, card = make_parts(folder, journal.history), journal.history.card
    except KeyboardInterrupt:
        journal.record("interrupted")
        raise
    except RewardgenError as error:
        with suppress(RunFolderError):  # a full disk cannot be recorded; the log ends with the last finished step
            journal.record("failed", message=error.message, hint=error.hint)
        raise
    finally:
        ProgressFile(folder.progress).remove()
    discard(folder.scratch)
    return Outcome(folder, journal.history)


class _Reporter:
    """Passes everything on, and reports progress to other processes.

    Args:
        listener: The one that watches the run.
        folder: The run's folder.
    """

    def __init__(self, listener: Listener, folder: RunFolder) -> None:
        self._listener = listener
        self._file = ProgressFile(folder.progress)
        self.note = listener.note

    def progress(self, message: dict[str, Any]) -> None:
        self._file.progress(message)
        self._listener.progress(message)

    def event(self, event: Event, history: History) -> None:
        self._file.event(event)
        self._listener.event(event, history)


@contextmanager
def _termination_as_interrupt() -> Iterator[None]:
    """Handle SIGTERM like Ctrl-C, so that a run is also saved when a scheduler ends it.

    And Ctrl-C itself as Python does, if the event loop of the caller has it otherwise, and would not hear of it before
    the run ends. Where it is ignored, as in background jobs, it stays so.
    """

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    wanted = {signal.SIGTERM: interrupt, signal.SIGINT: signal.default_int_handler}
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        del wanted[signal.SIGINT]
    try:
        before = {each: signal.signal(each, handler) for each, handler in wanted.items()}
    except ValueError:  # not in the main thread: signals are the embedding program's business
        yield
        return
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
