"""Starting and resuming a run: measured task, run folder, and saving on Ctrl-C."""

from __future__ import annotations

import json
import shlex
import shutil
import signal
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, get_args

import tomli_w

from rewardgen.core.config import BUILTIN, PROCESSES, RunConfig, checked_config
from rewardgen.core.errors import RewardgenError, RunFolderError, TaskError, UsageError
from rewardgen.core.files import sweep_unfinished, write_atomic
from rewardgen.core.provenance import provenance
from rewardgen.critic.critic import check_form
from rewardgen.designer.builtin.terms import parse
from rewardgen.film.shooting import require_films
from rewardgen.llm.archive import archived_usage, outdate_refusals
from rewardgen.llm.factory import judging_model, lasting_model
from rewardgen.llm.prompts import using_prompts
from rewardgen.llm.protocol import Note, silent
from rewardgen.sandbox.folders import discard, scratch_folder, sweep_scratch
from rewardgen.sandbox.layers import LayerReport
from rewardgen.sandbox.selftest import layers_in_force
from rewardgen.search.assembly import (
    Roles,
    checked_goal,
    keep_prompts,
    kept_prompts,
    make_parts,
    make_roles,
    make_trainer,
    measuring,
    own_prompts_of,
    planned,
    setup_of,
)
from rewardgen.search.context import Context, finals_s, no_room
from rewardgen.search.forecast import forecast, time_span
from rewardgen.search.inspect_rewards import read_reward
from rewardgen.search.judge import make_judge, make_teacher
from rewardgen.search.racing import race, races_drafts
from rewardgen.search.search import first_drafts, run_search
from rewardgen.store.events import FORMAT, Event, EventLog
from rewardgen.store.history import Changeable, History, Resumption
from rewardgen.store.journal import Journal, Listener
from rewardgen.store.origin import signature
from rewardgen.store.progress import ProgressFile
from rewardgen.store.records import Candidate, TaskCard, TrainerSettings
from rewardgen.store.run_folder import RunFolder, create_run
from rewardgen.tasks.fingerprint import changed
from rewardgen.tasks.loading import lasting_reference, shipped_tasks
from rewardgen.training.cache import check_task, get_or_measure
from rewardgen.training.setup import raced_settings

Confirm = Callable[[str, str], None]

SEEDS_PER_RUN = 10_000
"""Training seeds of each run seed: the first half for the search, the second for the finals."""
_UNTIMED_STEPS, _ASK_ABOVE_MINUTES = 3e8, 24 * 60.0
"""Control steps up to which a run is not timed beforehand; minutes of training above which it asks."""


class EndedRun(NamedTuple):
    """Folder and history of a run that ended."""

    folder: RunFolder
    history: History

    @property
    def exit_code(self) -> int:
        """0 if a reward was chosen, 1 if no candidate could be trained."""
        return 0 if self.history.summary and self.history.summary.chosen else 1


def agreed(warning: str, remedy: str) -> None:
    """Accept without asking: the default `confirm`."""


def start(config: RunConfig, runs_dir: Path, listener: Listener, confirm: Confirm = agreed) -> EndedRun:
    """Start a run and finish it; `confirm` is called with a warning and its remedy before, and raises to stop."""
    sweep_scratch()
    config = lasting(config, runs_dir)
    folder = create_run(runs_dir, config.task)
    try:
        with folder.locked(), _termination_as_interrupt(), using_prompts(own_prompts_of(config)):
            journal, roles = _begin(folder, config, listener, confirm)
            return _work(folder, journal, roles)
    except BaseException:
        if not folder.events.exists() or not folder.events.stat().st_size:
            shutil.rmtree(folder.path, ignore_errors=True)
        raise


def lasting(config: RunConfig, runs_dir: Path) -> RunConfig:
    """Return a configuration with absolute paths, valid later and in another folder."""
    named = {"model": config.model, "critic_model": config.critic_model, "judge": config.judge}
    prompts = own_prompts_of(config)
    paths = {"task": lasting_reference(config.task), "prompts": str(prompts.resolve()) if prompts else None}
    return config.model_copy(update={**paths, **lasting_changes(named, runs_dir)})


def lasting_changes(changes: Mapping[str, Any], runs_dir: Path) -> Mapping[str, Any]:
    """Return fields of a configuration with absolute paths of models; see `lasting`."""
    models = {name: lasting_model(changes[name], runs_dir) for name in ("model", "critic_model") if changes.get(name)}
    judge = str(changes.get("judge") or "")
    if asked := judging_model(judge):
        models["judge"] = judge.removesuffix(asked) + lasting_model(asked, runs_dir)
    return {**changes, **models}


class Resume(NamedTuple):
    """Options of `resume`."""

    changes: Mapping[str, Any] = {}
    """Changed fields of the configuration, see `Resumption`; `ablate` adds to the present ones."""
    agreed: RunConfig | None = None
    """The configuration that the user agreed to; see `foreign_config`."""
    generations: int = 0
    """Additional generations: after the last one if the search is over, else beyond the planned ones."""


def foreign_config(folder: RunFolder, how: Resume) -> RunConfig | None:
    """Return the configuration that the user must agree to, if they did not start the run here with it; else None."""
    history = History.load(folder)
    if history.is_own or (history.summary is not None and not how.generations):
        return None
    return changed_config(history, how.changes)


def resume(folder: RunFolder, listener: Listener, how: Resume = Resume()) -> EndedRun:  # noqa: B008
    """Resume a run without repeating finished work.

    A finished run is only read. With more generations, its search continues with all candidates, and new finals use
    unused seeds.
    """
    with folder.locked(), _termination_as_interrupt():
        sweep_scratch()
        sweep_unfinished(folder.path)
        history = History.load(folder)
        if history.summary is not None and not how.generations:
            if how.changes:
                hint = "add `--generations 1`, for a further generation with them"
                raise UsageError(f"run {folder.id} is finished: new options cannot change it", hint)
            return EndedRun(folder, history)
        if folder.id != history.run_id:  # files would be written where the run says that it is
            hint = f"call the folder {history.run_id} again; a copy needs another folder of runs around it"
            raise RunFolderError(f"{folder.path} holds run {history.run_id} under another name", hint)
        foreign = foreign_config(folder, how)
        if foreign is not None and foreign != how.agreed:
            message = f"run {folder.id} was not started here with this configuration"
            raise UsageError(message, f"`rewardgen resume {folder.word}` shows it and asks")
        discard(folder.scratch)  # killed workers may have left anything there
        _require_room(history, how)
        _require_same_task(history)
        config = changed_config(history, how.changes)
        prompts = kept_prompts(folder, config)
        # Roles and judges that cannot be made fail before the log has them; a person's page opens its port later.
        roles = make_roles(folder, config, listener.note)
        if not how.changes.get("judge", "human").startswith("human"):
            make_teacher(config, folder, history, listener.note, roles.judge)
        if {"model", "critic_model", "judge", "api_base"} & how.changes.keys():
            outdate_refusals(folder.calls)
        journal = Journal(EventLog(folder.events), history, _Reporter(listener, folder))
        journal.record("run-resumed", **_resumption(history, config, how))
        write_atomic(folder.config, _toml(history.config))
        if config.sandbox == "off":
            listener.note("the sandbox is off, as in the run so far")
        with using_prompts(prompts):
            if prompts:
                listener.note(f"the run goes on with its copies of the prompts, in {prompts}")
            return _work(folder, journal, roles)


def _resumption(history: History, config: RunConfig, how: Resume) -> dict[str, Any]:
    generations, final_seeds = None, ()
    if how.generations:
        over = history.stop_reason or history.summary
        generations = how.generations + (len(history.generations) if over else config.generations)
    if how.generations and history.finalists:
        used = [history.final_seeds, *(seeds for seeds, _ in history.earlier_finals)]
        first = 1 + max(seed for seeds in used for seed in seeds)
        final_seeds = tuple(range(first, first + config.final_seeds))
    signed = config.model_copy(update={"generations": generations}) if generations else config
    resumption = Resumption(
        changes={name: getattr(config, name) for name in how.changes},  # type: ignore[misc]
        generations=generations,
        final_seeds=final_seeds,
        signature=signature(history.run_id, signed),
    )
    return resumption.model_dump(mode="json", exclude_defaults=True)


def _require_room(history: History, how: Resume) -> None:
    """Reject more generations for a run without room for another model call, or for another training."""
    raised = {"max_cost", "max_tokens"} & {*how.changes}
    if how.generations and history.exhausted.startswith("the limit") and not raised:
        hint = "raise the limit with `--max-cost` or `--max-tokens`; it counts all calls of the run"
        raise UsageError(f"run {history.run_id} cannot make another model call: {history.exhausted}", hint)
    if how.generations:
        config = changed_config(history, how.changes)
        if limit := no_room(config, history):
            raise UsageError(f"run {history.run_id}: {limit}", "raise it with `--max-steps`")
        if config.max_minutes is not None and 60.0 * config.max_minutes <= (needed_s := finals_s(config, history)):
            message = f"run {history.run_id} has no time to search: its finals may take {needed_s / 60.0:.0f} min"
            raise UsageError(message, f"raise the limit of {config.max_minutes:g} min with `--max-minutes`")


def changed_config(history: History, changes: Mapping[str, Any]) -> RunConfig:
    """Return the configuration of a run that has one with changed fields.

    Raises:
        UsageError: A field cannot be changed, or not to this value.
    """
    if fixed := sorted(changes.keys() - {*get_args(Changeable)}):
        hint = f"change {', '.join(get_args(Changeable))}, or start a new run"
        raise UsageError(f"`{fixed[0]}` of a run that has begun cannot be changed", hint)
    if (judge := changes.get("judge")) and make_judge(history.config).by_fitness:
        message = f"run {history.run_id} is judged by fitness, and cannot be judged by `{judge}` from now on"
        raise UsageError(message, f"start a new run with `--judge {judge}`")
    ablate = dict.fromkeys((*history.config.ablate, *changes.get("ablate", ())))
    config = checked_config(history.config.model_dump() | {**changes, "ablate": tuple(ablate)}, None)
    if judge and make_judge(config).by_fitness:
        raise UsageError(f"run {history.run_id} is judged by comparisons", "name another judge that compares episodes")
    return config


def _require_same_task(history: History) -> None:
    if files := changed(history.task_files):
        message = f"the task {history.config.task} has changed since the run began: {', '.join(map(str, files))}"
        raise RunFolderError(message, "restore the files, or start a new run")


def _toml(config: RunConfig) -> str:
    return tomli_w.dumps(config.model_dump(mode="json", exclude_none=True))


def _begin(folder: RunFolder, config: RunConfig, listener: Listener, confirm: Confirm) -> tuple[Journal, Roles]:
    roles = make_roles(folder, config, listener.note)  # fails before the slow measurements
    source = read_reward(Path(config.init)) if config.init else ""
    if config.model == BUILTIN and not (config.critic_model or judging_model(config.judge)):
        for option in (name for name in ("goal", "prompts", "api_base") if getattr(config, name)):
            reason = "the built-in designer asks no language model; name one with `--model`"
            listener.note(f"`--{option.replace('_', '-')}` has no effect: {reason}")
    if config.task not in shipped_tasks():
        _require_sound(config, listener.note)
    listener.note(f"measuring the task {Path(config.task).stem}")
    with _layers(config) as report:
        task = get_or_measure(config.task, measuring(config), with_transitions=True)
        origin = provenance() | keep_prompts(folder)
        layers = report.result()
    for layer in layers.missing:
        listener.note(f"sandbox without {layer.name}: {layer.detail}")
    trainer, settings, card = setup_of(config, task)
    if settings.origin:
        listener.note(f"{settings.origin} Steps per training here: {settings.env_steps:,}; change with `--env-steps`")
    if config.task not in shipped_tasks():
        for doubt in filter(None, (probe.doubt for probe in card.probes)):
            listener.note(f"{doubt}: `success` of the task may ask too little")
    shows_more = planned(config, card, trainer).evolve_observation is None and config.model != BUILTIN
    if shows_more and config.strategy != "best-of-n":
        missed = f"the fitness reads {' and '.join(card.missed)}, which the observation may not tell"
        option = "(`--no-evolve-observation` keeps to the observation)"
        listener.note(f"{missed}: once the search stalls, a reward may show more to policies {option}")
    if not config.judge.startswith("human"):  # fails before there is a run; a person's page opens its port later
        asked = History()
        asked.config, asked.card = config, card
        make_teacher(config, folder, asked, llm=roles.judge)
    if source:
        _check_init(config, source, card, listener, confirm)
    _confirm_time(config, listener, confirm)
    check = checked_goal(roles, config, card, listener.note)
    if check and check.is_objection:
        confirm(check.text, "use a task that measures the goal: `rewardgen new` drafts one")
    write_atomic(folder.config, _toml(config))
    write_atomic(folder.provenance, json.dumps(origin | {"sandbox": layers.model_dump(mode="json")}, indent=1))
    journal = Journal(EventLog(folder.events), History(), _Reporter(listener, folder))
    first = config.seed * SEEDS_PER_RUN
    journal.record(
        "run-started",
        format=FORMAT,
        run_id=folder.id,
        config=config.model_dump(mode="json"),
        card=card.model_dump(mode="json"),
        training=_training(trainer, settings),
        raced={name: _training(*each) for name, each in raced_settings(config, task, settings).items()},
        baselines=task.baselines,
        given=source,
        task_files=task.files,
        search_seeds=[first + number for number in range(config.seeds)],
        final_seeds=[first + SEEDS_PER_RUN // 2 + number for number in range(config.final_seeds)],
        signature=signature(folder.id, config),
    )
    if check:
        journal.record("goal-checked", check=check.model_dump(mode="json"))
        journal.record("usage", usage=archived_usage(folder.calls).model_dump(mode="json"))
    return journal, roles


def _training(trainer: str, settings: TrainerSettings) -> dict[str, Any]:
    return {"trainer": trainer, "settings": settings.model_dump(mode="json")}


def _require_sound(config: RunConfig, note: Note) -> None:
    """Refuse a task in which a check without episodes finds problems; tell what else the check notes."""
    report = check_task(config.task, config.sandbox, silent, quick=True)
    for item in report["notes"]:
        note(f"{item['what']}; hint: {item['hint']}")
    name = Path(config.task).name
    for problem in report["problems"][:1]:
        hint = f"`rewardgen tasks check {shlex.quote(config.task)}` lists all problems"
        message = problem["what"] if problem["what"].startswith(name) else f"{name}: {problem['what']}"
        raise TaskError(message, f"{problem['hint']}; {hint}".lstrip("; "))


def _check_init(config: RunConfig, source: str, card: TaskCard, listener: Listener, confirm: Confirm) -> None:
    candidate = Candidate(id="g00-k0", generation=0, operator="draft", source=source)
    if problems := [finding for finding in check_form(candidate, card) if finding.severity == "reject"]:
        message = f"{config.init} cannot be trained on {card.name}: {problems[0].message}"
        remedy = f"fix it: `rewardgen check {config.task} {config.init}` lists all problems"
        confirm(message, remedy)
        listener.note(f"{message}; the search begins all the same; {remedy}")
    elif config.model == BUILTIN and parse(source, card) is None:
        name, why = Path(config.init or "").name, "it changes rewards of its own form only"
        listener.note(f"the built-in designer trains {name} and cannot change it: {why}")


def _confirm_time(config: RunConfig, listener: Listener, confirm: Confirm) -> None:
    """Ask before a run that has no limit of time or steps and may train for more than a day on this machine."""
    limited = config.max_minutes is not None or config.max_steps is not None
    if confirm is agreed or config.executor != PROCESSES or limited:
        return
    if forecast(config, measured=False).env_steps.high <= _UNTIMED_STEPS:
        return
    listener.note("timing a short training: this run may take long")
    minutes = forecast(config).minutes
    if minutes and minutes.high > _ASK_ABOVE_MINUTES:
        hint = "limit the time with `--max-minutes`, or train less with `--env-steps`, `--candidates` or `--seeds`"
        confirm(f"the trainings of this run may take {time_span(minutes)}", hint)


@contextmanager
def _layers(config: RunConfig) -> Iterator[Future[LayerReport]]:
    """Yield the sandbox report of a first worker; its start takes seconds, so it runs beside the caller."""
    with scratch_folder() as scratch, ThreadPoolExecutor(1) as pool:
        yield pool.submit(layers_in_force, scratch, measuring(config))


def _work(folder: RunFolder, journal: Journal, roles: Roles) -> EndedRun:
    history = journal.history
    try:
        write_atomic(folder.card, history.card.model_dump_json(indent=1))
        parts = make_parts(folder, history, roles, journal.listener.note)
        if parts.teacher and parts.teacher.needs_films:
            require_films(folder, history)
        if history.raced:
            run = Context(parts, journal)
            drafts = first_drafts(run) if races_drafts(history.baselines) else {}
            if drafts or history.baselines:
                race(run, drafts, partial(make_trainer, folder, history), folder.scratch / "race")
                parts = make_parts(folder, history, roles, journal.listener.note)
        run_search(Context(parts, journal))
    except KeyboardInterrupt:
        journal.record("interrupted")
        raise
    except RewardgenError as error:
        with suppress(RunFolderError):  # a full disk: the log ends with the last finished step
            journal.record("failed", message=error.message, hint=error.hint)
        raise
    finally:
        ProgressFile(folder.progress).remove()
    discard(folder.scratch)
    return EndedRun(folder, history)


class _Reporter:
    """Passes everything to a listener, and progress also to other processes."""

    def __init__(self, listener: Listener, folder: RunFolder) -> None:
        self._listener = listener
        self._file = ProgressFile(folder.progress)
        self.note, self.aside = listener.note, listener.aside

    def progress(self, message: dict[str, Any]) -> None:
        self._file.progress(message)
        self._listener.progress(message)

    def event(self, event: Event, history: History) -> None:
        self._file.event(event)
        self._listener.event(event, history)


@contextmanager
def _termination_as_interrupt() -> Iterator[None]:
    """Handle SIGTERM and SIGHUP like Ctrl-C: a scheduler's signal, or a lost terminal, saves the run.

    Ctrl-C raises at once, even if an event loop of the caller would delay it. A signal that is ignored, as Ctrl-C in
    background jobs or SIGHUP under `nohup`, stays ignored.
    """

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    handlers = {signal.SIGTERM: interrupt, signal.SIGHUP: interrupt, signal.SIGINT: signal.default_int_handler}
    handlers = {number: each for number, each in handlers.items() if signal.getsignal(number) is not signal.SIG_IGN}
    try:
        before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    except ValueError:  # not in the main thread: signals belong to the embedding program
        yield
        return
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
