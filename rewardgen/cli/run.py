"""`rewardgen run` and `rewardgen resume`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter
from cyclopts.validators import Number
from pydantic import ConfigDict

from rewardgen.api.drafting import task_name
from rewardgen.api.tracking import require_trackers, tracked
from rewardgen.api.watching import watching
from rewardgen.cli.drafting import ROBOT, draft
from rewardgen.cli.failures import INTERRUPTED
from rewardgen.cli.output import (
    TASK_HELP,
    Agree,
    Json,
    Reference,
    RunsDir,
    home_of,
    next_steps,
    print_json,
    with_runs_dir,
)
from rewardgen.core.config import BUILTIN, PROCESSES, Ablation, RunConfig, checked_config, read_config
from rewardgen.core.errors import CredentialsError, ModelError, RewardgenError, UsageError
from rewardgen.llm.factory import SCHEMES, lasting_model
from rewardgen.llm.replay import differing
from rewardgen.report.closing import close_run
from rewardgen.report.run_files import RunFiles
from rewardgen.search import lifecycle
from rewardgen.search.forecast import forecast, told
from rewardgen.search.lifecycle import Outcome
from rewardgen.store.history import History
from rewardgen.store.journal import Listener
from rewardgen.store.origin import Terms, can_sign
from rewardgen.store.run_folder import DEFAULT_RUNS_DIR, find_run
from rewardgen.ui.console import messages, results
from rewardgen.ui.plain import Plain
from rewardgen.ui.tables import closing_table, judgement_text, plain_table

_UNCONFINED = "with `--sandbox off`, only the reward language keeps generated code from your files and the network"

_UNSIGNED = (
    "no key can be kept in ~/.local/state/rewardgen or $XDG_STATE_HOME/rewardgen, so this run is not signed as yours:"
    " `resume` will ask about it"
)

_NAMED = {
    "task": "its file is run as your own code",
    "model": "is asked, with your key for it",
    "critic_model": "is asked too",
    "api_base": "gets the key, and all that is asked",
    "sandbox": "what keeps generated code from your files and the network",
    "cluster": "gets the task's files and trains; what it answers is taken as it is",
}

_UNASKED_USD = 1.0
"""What a run may cost without being asked about."""

ConfigFile = Annotated[
    Path | None,
    Parameter(
        name="--config",
        help="A TOML file with any of these options, `_` for `-`, and the `task`, such as the `run.toml` of an earlier"
        " run; options given here win over it.",
    ),
]
DryRun = Annotated[
    bool,
    Parameter(
        name="--dry-run",
        negative="",
        help="Only say what the run would take: trainings, minutes (by a short training), calls, tokens, price, and"
        " what the finals can detect.",
        show_default=False,
    ),
]
Yes = Annotated[
    bool,
    Parameter(
        negative="",
        help="Do not ask before a run with `--sandbox off`, for more than 1 USD without `--max-cost`, or for a goal"
        " that the task does not measure; with `--robot`, take a draft whose metric holds unread.",
        show_default=False,
    ),
]
Track = Annotated[
    tuple[str, ...],
    Parameter(
        negative="",
        help="Send the run's numbers to an experiment tracker of an extra, such as `tensorboard` (docs/python.md).",
        show_default=False,
    ),
]
ChangedTask = Annotated[
    bool,
    Parameter(
        name="--changed-task",
        negative="",
        help="Go on though the task file has changed, if only its fitness, success or words did: the task is measured"
        " anew, and its variables, episodes and transitions have to be what they were. All rewards are kept, and are"
        " trained anew.",
        show_default=False,
    ),
]
Generations = Annotated[
    int | None,
    Parameter(
        help="So many more generations. A finished run goes on after its last one; its finals are made anew, on other"
        " fresh seeds.",
        validator=Number(gte=1),
    ),
]
MaxCost = Annotated[
    float | None, Parameter(help="Limit on the price of all calls from now on.", validator=Number(gte=0))
]
MaxTokens = Annotated[
    int | None, Parameter(help="Limit on the tokens of all calls from now on.", validator=Number(gte=0))
]
Model = Annotated[str | None, Parameter(help="Model to go on with, and to ask again what was refused.")]
CriticModel = Annotated[str | None, Parameter(help="Model that reads candidates from now on; empty for none.")]
Executing = Annotated[
    str | None,
    Parameter(name="--executor", help="Where to train from now on: `processes`, or that of an extra."),
]
Cluster = Annotated[str | None, Parameter(help="Address of the executor's cluster; empty for the one here.")]
ApiBase = Annotated[str | None, Parameter(help="Address of the server to go on with; empty for the model's own.")]
Ablate = Annotated[
    tuple[Ablation, ...] | None,
    Parameter(help="Part to leave out too from now on.", negative=""),
]


class Options(RunConfig):
    """The fields of a run's configuration as options; the task is an argument."""

    model_config = ConfigDict(strict=False)  # a command line is text
    task: Annotated[str, Parameter(parse=False)] = ""


def run(
    task: Annotated[str | None, Parameter(help=f"{TASK_HELP[:-1]}; with `--robot`, what it should do.")] = None,
    /,
    *,
    config: ConfigFile = None,
    robot: Annotated[str | None, Parameter(help=f"Draft the task for this robot. {ROBOT}")] = None,
    options: Annotated[Options, Parameter(name="*")] = Options(),  # noqa: B008
    dry_run: DryRun = False,
    track: Track = (),
    yes: Yes = False,
    runs_dir: RunsDir = DEFAULT_RUNS_DIR,
    json: Json = False,
) -> int:
    """Search for a reward."""
    asked = _asked(task, options, config)
    if dry_run:
        if robot is not None:
            raise UsageError("there is no task yet to foresee a run of", "draft it first, with `rewardgen new`")
        return _tell_forecast(lifecycle.lasting(asked, runs_dir), json)
    words, searched = asked.task, asked
    if robot is not None:
        searched = draft(words, robot, Path(task_name(robot, words)), asked, yes=yes).run_config(asked)
    require_consent([asked], yes)
    require_trackers(track)

    def search(config: RunConfig, listener: Memory) -> Outcome:
        with tracked(listener, track, runs_dir) as told:
            return lifecycle.start(config, runs_dir, told, listener.confirm(yes))

    if not yes:
        _confirm_price(searched, runs_dir)
    return _ended(watch(partial(search, searched), runs_dir), runs_dir, json)


def _asked(task: str | None, options: Options, file: Path | None) -> RunConfig:
    """The configuration: what the command line says, then what a file says, then the defaults."""
    given = {name: getattr(options, name) for name in options.model_fields_set}
    if task is not None:
        given["task"] = task
    told = read_config(file) if file is not None else {}
    if not (told | given).get("task"):
        raise UsageError("no TASK is named", "as in `rewardgen run hopper`; see `rewardgen run --help`")
    return checked_config(told | given, file)


def _tell_forecast(config: RunConfig, json: bool) -> int:
    messages().print("measuring the task, and timing a short training on it")
    found = forecast(config)
    if json:
        print_json(found.model_dump(mode="json"))
        return 0
    table = plain_table("this run takes", "")
    for what, how_much in told(found, config):
        table.add_row(what, how_much)
    results().print(table)
    return 0


def _confirm_price(config: RunConfig, runs_dir: Path) -> None:
    """Ask before a run that may cost more than a dollar, if nothing limits it."""
    models = [name for name in (config.model, config.critic_model) if name and name != BUILTIN]
    if config.max_cost is not None or all(name.split(":")[0] in SCHEMES for name in models):
        return
    cost = forecast(lifecycle.lasting(config, runs_dir), measured=False).cost_usd
    if cost and cost.high > _UNASKED_USD:
        price = f"the calls of this run may cost {cost.low:.2f} to {cost.high:.2f} USD"
        _confirm(price, "limit it with `--max-cost`")


def require_consent(configs: Sequence[RunConfig], yes: bool) -> None:
    """Ask before a run without a sandbox, and say if runs cannot be signed.

    Args:
        configs: Of the runs that are to start.
        yes: Whether the user has agreed already.
    """
    if not yes and any(config.sandbox == "off" for config in configs):
        _confirm(_UNCONFINED, "leave out `--sandbox off`")
    if not can_sign():
        messages().print(_UNSIGNED, soft_wrap=True)


def resume(
    ref: Reference = "latest",
    /,
    *,
    generations: Generations = None,
    model: Model = None,
    critic_model: CriticModel = None,
    api_base: ApiBase = None,
    max_cost: MaxCost = None,
    max_tokens: MaxTokens = None,
    ablate: Ablate = None,
    executor: Executing = None,
    cluster: Cluster = None,
    changed_task: ChangedTask = False,
    track: Track = (),
    yes: Agree = False,
    runs_dir: RunsDir = DEFAULT_RUNS_DIR,
    json: Json = False,
) -> int:
    """Go on with an interrupted run, or with a finished one."""
    folder = find_run(ref, runs_dir)
    runs_dir = home_of(folder, runs_dir)
    given = {"model": model, "critic_model": critic_model, "api_base": api_base, "ablate": ablate}
    given |= {"max_cost": max_cost, "max_tokens": max_tokens, "executor": executor, "cluster": cluster}
    if executor == PROCESSES:
        given["cluster"] = ""
    changes: dict[str, Any] = {
        name: None if value == "" else value for name, value in given.items() if value is not None
    }
    for name in ("model", "critic_model"):
        if changes.get(name):
            changes[name] = lasting_model(changes[name], runs_dir)
    how = lifecycle.Resume(changes, changed_task=changed_task, generations=generations or 0)
    asked = lifecycle.unsigned_terms(folder, how)
    if asked is not None and not yes:
        _confirm(_terms_text(asked), "look at what it names, and at its files, before you agree")
    require_trackers(track)
    was_finished = History.load(folder).summary is not None and not generations

    def go_on(listener: Memory) -> Outcome:
        with tracked(listener, track, runs_dir) as told:
            return lifecycle.resume(folder, told, how._replace(agreed=asked))

    outcome = watch(go_on, runs_dir)
    if outcome and was_finished:
        messages().print("the run was finished, and nothing left to do; `--generations N` has it go on", soft_wrap=True)
    return _ended(outcome, runs_dir, json)


def _terms_text(asked: Terms) -> str:
    """What the user is asked about a run that they did not start here as it is."""
    named = {name.replace("_", " "): (getattr(asked, name), what) for name, what in _NAMED.items()}
    lines = [f"  {name} {value}: {what}" for name, (value, what) in named.items() if value]
    unknown = "was not started here by you, or was changed since"
    if not can_sign():
        unknown = "may be anybody's, for no key of yours can be kept here to tell by"
    head = f"run {asked.run_id} {unknown}; if it goes on,"
    return "\n".join([head, *lines])


def _confirm(what: str, otherwise: str) -> None:
    """Ask on a terminal; without one nobody can be asked, and only `--yes` will do."""
    console = messages()
    if not (sys.stdin.isatty() and console.is_terminal):
        raise UsageError(what, f"add `--yes` if that is what you want, or {otherwise}")
    try:
        answer = console.input(f"{what}\ngo on? [y/N] ", markup=False)
    except EOFError:
        answer = ""
    if answer.strip().lower() not in ("y", "yes"):
        raise UsageError("nothing was started", f"{otherwise}, or answer `y`")


class Memory:
    """Remembers which run is watched, for the lines after an interruption.

    Args:
        listener: The one that shows it.
    """

    def __init__(self, listener: Listener) -> None:
        self.run_id = ""
        self._listener = listener
        self.progress = listener.progress
        self.note = listener.note
        self.aside = getattr(listener, "aside", nullcontext)

    def confirm(self, yes: bool) -> lifecycle.Confirm:
        """Asks the user beside what is shown; about nothing if they have agreed to all."""

        def ask(what: str, otherwise: str) -> None:
            if not yes:
                with self.aside():
                    _confirm(what, otherwise)

        return ask

    def event(self, event: Any, history: History) -> None:
        """See `Listener.event`."""
        self.run_id = history.run_id
        self._listener.event(event, history)


def watch(work: Callable[[Memory], Outcome], runs_dir: Path, suite: str = "") -> Outcome | None:
    """Do the work with a live screen on a terminal, or with plain lines; None if it was interrupted, which is told.

    Args:
        work: A run, from here to its end.
        runs_dir: Where it is.
        suite: The command that goes on, if it is not the run's `resume`.
    """
    console = messages()
    memory = Memory(Plain(console))
    try:
        with watching(True) as listener:
            memory = Memory(RunFiles(listener, runs_dir))
            return work(memory)
    except KeyboardInterrupt:
        if not memory.run_id:
            console.print("interrupted before the run began; nothing was kept")
            return None
        saved = runs_dir / memory.run_id
        console.print(f"interrupted; everything that was finished is saved in {saved}", soft_wrap=True)
        next_steps((suite or with_runs_dir(f"resume {memory.run_id}", runs_dir), "goes on from here"))
        return None
    except RewardgenError as error:
        if memory.run_id:
            resume_line = suite or with_runs_dir(f"resume {memory.run_id}", runs_dir)
            refused = isinstance(error, ModelError | CredentialsError)
            other = ", with `--model` also by another model" if refused and not suite else ""
            console.print(f"stopped; `rewardgen {resume_line}` goes on once this is fixed{other}\n", soft_wrap=True)
        raise


def _ended(outcome: Outcome | None, runs_dir: Path, json: bool) -> int:
    return INTERRUPTED if outcome is None else conclude(outcome, runs_dir, json)


def conclude(outcome: Outcome, runs_dir: Path, json: bool) -> int:
    """Print how a run ended, and what can be done next; the exit code."""
    folder, summary = outcome.folder, outcome.history.summary
    goal_check, judgement = outcome.history.goal_check, outcome.history.judgement
    reward = folder.best / "reward.py" if summary and summary.chosen else None
    close = partial(close_run, folder, outcome.history, partial(messages().print, soft_wrap=True))
    if json:
        report = close()
        print_json(
            {
                "run_id": folder.id,
                "path": str(folder.path),
                "exit_code": outcome.exit_code,
                "reward": str(reward) if reward else None,
                "report": str(report) if report else None,
                "goal_check": goal_check.model_dump(mode="json") if goal_check else None,
                "judgement": judgement.model_dump(mode="json") if judgement else None,
                "summary": summary.model_dump(mode="json") if summary else None,
                "usage": outcome.history.usage.model_dump(mode="json"),
                "elapsed_s": outcome.history.elapsed_s,
            }
        )
        return outcome.exit_code
    steps = [(with_runs_dir(f"runs show {folder.word}", runs_dir), "every candidate, and why some failed")]
    if summary:
        results().print()
        if judgement:
            results().print(judgement_text(judgement))
            results().print()
        results().print(closing_table(summary))
    if summary and not reward:
        hint = "what the variables say is all that a reward can be made of: see `tasks show`, and name more in the task"
        if outcome.history.own_fault:
            hint = "mend what the task itself does there, whatever the reward"
        elif (designed := outcome.history.designed) and not any(each.source for each in designed.values()):
            hint = "no reply held a reward: `runs show` has the reasons; mend the limits or the server, or name another"
            hint += f" `--model`, then `resume {folder.word} --generations 1`"
        messages().print(f"\nhint: {hint}", soft_wrap=True)
    if summary and reward:
        show = with_runs_dir(f"runs show {folder.word} {summary.chosen}", runs_dir)
        steps.append((show, "the chosen reward and its origin"))
        messages().print(f"\nreward: {reward}", soft_wrap=True)
    if report := close():
        messages().print(f"report: {report}", soft_wrap=True)
    if others := differing(folder.calls):
        told = f"of the replies of the replay, {others} were recorded for requests that differ: llm/ says where"
        messages().print(told, soft_wrap=True)
    if outcome.history.config and outcome.history.config.model != BUILTIN:
        say = with_runs_dir(f'feedback {folder.word} "your words"', runs_dir)
        steps.append((say, "for the designer of further generations"))
    next_steps(*steps)
    return outcome.exit_code
