"""`rewardgen run` and `rewardgen resume`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

from cyclopts import Group, Parameter
from cyclopts.validators import Number
from pydantic import ConfigDict

from rewardgen.api.drafting import task_name
from rewardgen.api.tracking import tracked
from rewardgen.cli.consent import confirm_price, foreign_run_text, require_consent, require_consent_to_file
from rewardgen.cli.output import TASK_HELP, Agree, Json, Reference, RunsDir, config_options, flag, print_json
from rewardgen.cli.robots import ROBOT, draft
from rewardgen.cli.watching import Memory, confirm, ended, watch
from rewardgen.core.config import EXAMPLE, RunConfig, checked_config
from rewardgen.core.errors import UsageError
from rewardgen.core.schema import read_toml
from rewardgen.search import lifecycle
from rewardgen.search.forecast import forecast, forecast_rows
from rewardgen.search.lifecycle import EndedRun
from rewardgen.store.history import Changeable, History
from rewardgen.store.run_folder import DEFAULT_RUNS_DIR, find_run
from rewardgen.ui.console import messages, results
from rewardgen.ui.tables import plain_table

GROUPS = {
    "Task": ("goal", "init"),
    "Model": ("model", "effort", "critic_model", "api_base", "prompts", "max_cost", "max_tokens"),
    "Search": ("generations", "candidates", "seeds", "final_seeds", "strategy", "seed", "max_minutes"),
    "Training": ("trainer", "env_steps", "bonus", "randomise", "levels", "device", "workers", "executor"),
    "Safety": ("sandbox",),
    "Output": ("films",),
}
"""Options that `run --help` shows, by group. It accepts the other fields too; docs/commands.md has them all."""


class _Text(RunConfig):
    """The configuration from a command line, where every value is text."""

    model_config = ConfigDict(strict=False)
    task: Annotated[str, Parameter(parse=False)] = ""


_GROUPS = {name: Group(name, sort_key=place) for place, name in enumerate(GROUPS)}
_OPTIONS = dict.fromkeys(RunConfig.model_fields, Parameter(show=False))
_OPTIONS |= {name: Parameter(group=_GROUPS[group]) for group, names in GROUPS.items() for name in names}
_CHANGES = dict.fromkeys(get_args(Changeable), Parameter()) | {"ablate": Parameter(show=False)}
for _name in ("critic_model", "api_base", "cluster"):
    _CHANGES[_name] = Parameter(help=f"{RunConfig.model_fields[_name].description} Empty for none.")
if TYPE_CHECKING:
    Options = Changes = _Text
else:
    del _OPTIONS["task"]
    Options = config_options("Options", _OPTIONS, base=_Text)
    Changes = config_options("Changes", _CHANGES, unset=True)

ConfigFile = Annotated[
    Path | None,
    Parameter(
        name="--config",
        group=_GROUPS["Output"],
        help="TOML file with fields of the configuration (docs/commands.md), such as the `run.toml` of an earlier run;"
        " options win over it.",
    ),
]
_DRY_RUN = "Print the run's needs and stop: trainings, minutes, calls, price, and what the finals can detect."
DryRun = Annotated[bool, flag(_DRY_RUN, "--dry-run", group=_GROUPS["Output"])]
_YES = (
    "Do not ask: before a run with `--sandbox off`, one that may cost 1 USD or train for a day without a limit, a goal"
    " that the task does not measure, or a file that names code, a model or an address. With `--robot`, accept a draft"
    " whose metric passes its trial."
)
Yes = Annotated[bool, flag(_YES, group=_GROUPS["Safety"])]
_TRACK = (
    "Send the run's numbers to an experiment tracker of an optional package, such as `tensorboard` (docs/python.md)."
)
Track = Annotated[tuple[str, ...], flag(_TRACK, group=_GROUPS["Output"])]
Robot = Annotated[str | None, Parameter(group=_GROUPS["Task"], help=f"Draft the task for this robot. {ROBOT}")]
Task = Annotated[str | None, Parameter(help=f"{TASK_HELP[:-1]}; with `--robot`, the words to draft from.")]
Generations = Annotated[
    int | None,
    Parameter(
        help="Number of further generations. A finished run continues after its last one and repeats its finals on"
        " other fresh seeds; `--max-minutes` is then for these.",
        validator=Number(gte=1),
    ),
]


def run(
    task: Task = None,
    /,
    *,
    config: ConfigFile = None,
    robot: Robot = None,
    options: Annotated[Options, Parameter(name="*")] = Options(),  # noqa: B008
    dry_run: DryRun = False,
    track: Track = (),
    yes: Yes = False,
    runs_dir: RunsDir = DEFAULT_RUNS_DIR,
    json: Json = False,
) -> int:
    """Search for a reward."""
    settings = _configuration(task, options, config)
    if config is not None and not yes:
        typed = (options.model_fields_set - {"task"}) | ({"task"} if task else set())
        require_consent_to_file(config, [settings], settings.model_fields_set - typed)
    if dry_run:
        if robot is not None:
            raise UsageError("a dry run needs a task file", "draft the task first, with `rewardgen new`")
        return _print_forecast(lifecycle.lasting(settings, runs_dir), json)
    if robot is not None:
        file = Path(task_name(robot, settings.task))
        settings = draft(settings.task, robot, file, settings, yes=yes).run_config(settings)
    require_consent([settings], yes)
    if not yes:
        confirm_price([lifecycle.lasting(settings, runs_dir)])

    def search(memory: Memory) -> EndedRun:
        with tracked(memory, track, runs_dir) as listener:
            return lifecycle.start(settings, runs_dir, listener, memory.confirm(yes))

    return ended(watch(search, runs_dir), json, agreed=True)


def _configuration(task: str | None, options: RunConfig, file: Path | None) -> RunConfig:
    """Merge the command line over the file over the defaults."""
    fields = read_toml(file, EXAMPLE) if file is not None else {}
    fields |= {name: getattr(options, name) for name in options.model_fields_set - {"task"}}
    if task is not None:
        fields["task"] = task
    if not fields.get("task"):
        raise UsageError("no TASK is named", "as in `rewardgen run hopper`; see `rewardgen run --help`")
    return checked_config(fields, file)


def _print_forecast(config: RunConfig, json: bool) -> int:
    messages().print("measuring the task, and timing a short training on it")
    estimate = forecast(config)
    if json:
        print_json(estimate.model_dump(mode="json"))
        return 0
    table = plain_table("this run takes", "")
    for row in forecast_rows(estimate, config):
        table.add_row(*row)
    results().print(table)
    return 0


def resume(
    ref: Reference = "latest",
    /,
    *,
    generations: Generations = None,
    options: Annotated[Changes, Parameter(name="*")] = Changes(),  # noqa: B008
    track: Track = (),
    yes: Agree = False,
    runs_dir: RunsDir = DEFAULT_RUNS_DIR,
    json: Json = False,
) -> int:
    """Continue an interrupted run or a finished one."""
    folder = find_run(ref, runs_dir)
    runs_dir = folder.path.parent  # the run may have been named by its path
    changes = {name: None if value == "" else value for name, value in options.model_dump(exclude_none=True).items()}
    if options.executor and options.cluster is None:  # the address of one executor means nothing to another
        changes["cluster"] = None
    how = lifecycle.Resume(lifecycle.lasting_changes(changes, runs_dir), generations=generations or 0)
    foreign = lifecycle.foreign_config(folder, how)
    if foreign is not None and not yes:
        confirm(foreign_run_text(folder.id, foreign), "read what the run names, and its files, before you agree")
    history = History.load(folder)
    was_finished = history.summary is not None and not generations
    more = generations or {"model", "critic_model", "judge"} & changes.keys()
    if more and not (yes or was_finished):
        resumed = lifecycle.changed_config(history, how.changes)
        planned = {"generations": generations or resumed.generations, "prompts": None}  # may be gone
        confirm_price([lifecycle.lasting(resumed.model_copy(update=planned), runs_dir)])

    def search(memory: Memory) -> EndedRun:
        with tracked(memory, track, runs_dir) as listener:
            return lifecycle.resume(folder, listener, how._replace(agreed=foreign))

    outcome = watch(search, runs_dir)
    if outcome and was_finished:
        messages().print("the run was finished already; `--generations N` continues it", soft_wrap=True)
    return ended(outcome, json, agreed=not was_finished)
