"""`rewardgen check`, `train` and `eval`: try rewards, and the policies trained on them."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from cyclopts.validators import Number
from pydantic_core import to_jsonable_python
from rich.text import Text

from rewardgen.api.measuring import MOST_EPISODES, Evaluated, evaluate
from rewardgen.api.training import LEAST_STEPS, TrainedReward
from rewardgen.api.training import train as train_reward
from rewardgen.cli.output import (
    Agree,
    Json,
    RunsDir,
    TaskName,
    Workers,
    config_options,
    flag,
    next_steps,
    print_json,
    with_runs_dir,
)
from rewardgen.cli.robots import CallOptions, Calls
from rewardgen.core.config import BUILTIN
from rewardgen.core.errors import UsageError
from rewardgen.core.formatting import count, number, percent, percent_interval, tokens, with_interval
from rewardgen.core.physics import conditions, parse_ranges
from rewardgen.core.schema import Frozen
from rewardgen.core.text import one_line
from rewardgen.llm.factory import lasting_model, make_llm
from rewardgen.search.inspect_rewards import check_rewards, read_reward
from rewardgen.store.records import BASELINES, Verdict
from rewardgen.store.run_folder import DEFAULT_RUNS_DIR, RunFolder
from rewardgen.store.transfer import STILL_EARNS
from rewardgen.training.retraining import read_training
from rewardgen.ui.console import messages, results
from rewardgen.ui.show import findings_text
from rewardgen.ui.tables import plain_table
from rewardgen.view.transfers import transfer_cells

Seeds = Annotated[int, Parameter(help="Number of seeds.", validator=Number(gte=1))]
FirstSeed = Annotated[int | None, Parameter(help="First seed; default: one that the run has not used.")]
Target = Annotated[str, Parameter(help="A task, a run, or `RUN:CANDIDATE`; a run's settings are used.")]
Policies = Annotated[str, Parameter(help="A run, for its chosen reward; `RUN:CANDIDATE`; or a folder of `train`.")]
Files = Annotated[Path, Parameter(help="Python files, each with a `compute_reward`.")]
RewardName = Annotated[
    str | None, Parameter(help="A Python file, `human` or `sparse`; default: `human` for a task, else the run's.")
]
Steps = Annotated[
    int | None,
    Parameter(help="Control steps per seed; default: as the task or run.", validator=Number(gte=LEAST_STEPS)),
]
_VARY = (
    "Also measure with factors on `friction`, `mass`, `damping` or `gravity`, as `friction=0.5:1.5`, or `delay=0:2`."
    " Repeatable."
)
Vary = Annotated[tuple[str, ...], flag(_VARY)]
Chooser = Annotated[str, Parameter(help="Language model that chooses the ranges to train with.", show_default=False)]
Folder = Annotated[
    Path | None, Parameter(help="Folder of the results; default: in `trainings/` of the run or working folder.")
]
Episodes = Annotated[int, Parameter(help="Fresh episodes of each policy.", validator=Number(gte=1, lte=MOST_EPISODES))]
EpisodeSeed = Annotated[int, Parameter(help="Seed of the episodes; 0: as in the run.", validator=Number(gte=0))]
WithFilm = Annotated[bool, flag("Also film the policy with the median fitness.")]

_SETTINGS = ("trainer", "bonus", "randomise", "levels", "device")
if TYPE_CHECKING:
    Settings = Frozen
else:
    Settings = config_options("Settings", dict.fromkeys(_SETTINGS, Parameter()) | {"levels": Parameter(negative="")})


def check(task: TaskName, /, *files: Files, json: Json = False) -> int:
    """Check reward files without training."""
    if not files:
        raise UsageError("no reward file is named", f"`rewardgen check {task} my_reward.py`")
    verdicts, not_available = check_rewards(task, {str(file): read_reward(file) for file in files})
    passed = all(verdict.accepted for verdict in verdicts.values())
    if json:
        data = {
            file: verdict.model_dump(mode="json") | {"accepted": verdict.accepted} for file, verdict in verdicts.items()
        }
        print_json({"passed": passed, "files": data, "not_available": not_available})
        return 0 if passed else 1
    for file, verdict in verdicts.items():
        results().print(_verdict_text(file, verdict))
    if not_available:
        results().print(Text(f"not available for {task}: {', '.join(not_available)}", "dim"))
    steps = [(f"tasks show {task}", "the variables that a reward may read")]
    if passed:
        file = shlex.quote(str(files[0]))
        steps = [
            (f"train {task} --reward {file}", "trains it with several seeds"),
            (f"run {task} --init {file}", "starts a search with it"),
        ]
    next_steps(*steps)
    return 0 if passed else 1


def _verdict_text(file: str, verdict: Verdict) -> Text:
    state = ("accepted", "green") if verdict.accepted else ("rejected", "red")
    text = Text.assemble((file, "bold"), ": ", state)
    return text.append("\n").append_text(findings_text(verdict.findings)) if verdict.findings else text


def train(
    target: Target,
    /,
    *,
    reward: RewardName = None,
    steps: Steps = None,
    seeds: Seeds = 3,
    first_seed: FirstSeed = None,
    settings: Annotated[Settings, Parameter(name="*")] = Settings(),  # noqa: B008
    folder: Folder = None,
    workers: Workers = None,
    yes: Agree = False,
    runs_dir: RunsDir = DEFAULT_RUNS_DIR,
    json: Json = False,
) -> int:
    """Train a reward with several seeds, and keep policies and curves.

    More `--seeds` with the same other options train only the missing seeds.
    """
    options: dict[str, Any] = {"steps": steps, "seeds": seeds, "first_seed": first_seed, "folder": folder}
    options |= {"workers": workers, "runs_dir": runs_dir, "agreed": yes, **settings.model_dump()}
    training = train_reward(target, reward, **options)
    code = 1 if training.result.failure else 0
    if json:
        data = {"reward": training.id, "path": str(training.path), "seeds": training.rows(), "notes": training.notes}
        print_json(data | _estimates(training))
        return code
    table = plain_table("seed", "fitness", "success", "steps", right=("seed", "fitness", "success", "steps"))
    table.add_column("", overflow="fold")
    for row in training.rows():
        cells = (number(row["fitness"]), percent(row["success"]), tokens(row["steps"]), row["failure"])
        table.add_row(str(row["seed"]), *cells)
    results().print(table)
    seeds = len(training.result.slices)
    outcome = f"{training.id}: trained on {count(seeds, 'seed')}; the task has no fitness to measure them by"
    if training.has_fitness or training.result.failure:
        outcome = _outcome(training, seeds)
    results().print(f"\n{outcome}", soft_wrap=True)
    for note in (*training.notes, f"policies and curves: {training.path}"):
        results().print(note, soft_wrap=True)
    further = [(f"film {shlex.quote(str(training.path))}", "shows what a policy does")] if training.policies else []
    if training.fitness and reward not in (None, *BASELINES) and (kept := read_training(training.path)):
        search = f"run {shlex.quote(kept.task)} --init {shlex.quote(reward)}"
        further.append((search, "starts a search with this reward"))
    if further:
        next_steps(*further)
    return code


def eval_(
    target: Policies = "latest",
    /,
    *,
    episodes: Episodes = 100,
    seed: EpisodeSeed = 1,
    vary: Vary = (),
    model: Chooser = BUILTIN,
    calls: CallOptions = Calls(),  # noqa: B008
    film: WithFilm = False,
    workers: Workers = None,
    yes: Agree = False,
    runs_dir: RunsDir = DEFAULT_RUNS_DIR,
    json: Json = False,
) -> int:
    """Measure trained policies on fresh episodes.

    With `--vary` and `--model`, a language model chooses the ranges of the physics to train with.
    """
    options: dict[str, Any] = {"workers": workers, "runs_dir": runs_dir, "agreed": yes}
    settings: dict[str, Any] = calls.model_dump()
    if model != BUILTIN:
        if not vary:
            raise UsageError("no ranges are measured to choose from", "add some: `--vary friction=0.5:1.5`")
        model = lasting_model(model, runs_dir)
        make_llm(calls.config(model, target), RunFolder(runs_dir))  # fails before the measurements
    if vary:
        varied = count(len(conditions(parse_ranges(vary))), "setting")
        messages().print(f"measuring under {varied} of the physics, {episodes} episodes of each policy", soft_wrap=True)
    evaluation = evaluate(target, episodes=episodes, seed=seed, vary=vary, film=film, **options)
    code = 0 if evaluation.fitness else 1
    if json:
        if model != BUILTIN:
            evaluation.choose_ranges(model, **settings)
        print_json(_evaluation_data(evaluation))
        return code
    _print_evaluation(evaluation)
    step, steps = _training_step(target, runs_dir, bool(vary))
    if evaluation.transfer:
        ranges, purpose = (
            evaluation.transfer.earning(),
            f"trains where the policies keep {percent(STILL_EARNS)} or more",
        )
        if model != BUILTIN:
            messages().print(f"asking {one_line(model)} for the ranges to train with", soft_wrap=True)
            chosen = evaluation.choose_ranges(model, **settings).chosen
            results().print()
            for choice in chosen:
                results().print(Text(f"{choice.range}: {choice.why}"), soft_wrap=True)
            ranges, purpose = tuple(choice.range for choice in chosen), "trains with the chosen ranges"
        if ranges:
            steps += [(" ".join([step, *(f"--randomise {text}" for text in ranges)]), purpose)]
    if steps:
        next_steps(*steps)
    return code


def _evaluation_data(evaluation: Evaluated) -> dict[str, Any]:
    data = {"candidate": evaluation.id, "phase": evaluation.phase, "episodes": evaluation.episodes}
    data |= {"policies": evaluation.rows(), "films": [str(film.video) for film in evaluation.films]}
    data |= {"task_changed": [str(path) for path in evaluation.task_changed]}
    transfer = evaluation.transfer
    rows, chosen = (transfer.rows(), transfer.chosen) if transfer else ((), ())
    data |= {"transfer": to_jsonable_python([row._asdict() for row in rows])}
    return data | {"chosen": [choice.model_dump() for choice in chosen]} | _estimates(evaluation)


def _print_evaluation(evaluation: Evaluated) -> None:
    table = plain_table("seed", "fitness [95 %]", "success [95 %]", "in the run", right=("seed", "in the run"))
    for policy in evaluation.policies:
        fitness = with_interval(policy.fitness) if policy.fitness else policy.problem
        table.add_row(str(policy.seed), fitness, percent_interval(policy.success), number(policy.before))
    results().print(table)
    results().print(
        "in the run: of this checkpoint alone; a training's fitness is the mean of its last two", style="dim"
    )
    if evaluation.task_changed and evaluation.fitness:
        results().print("\nthe task has changed since the run; the numbers are by the changed task", soft_wrap=True)
    outcome = f"{evaluation.id}: a policy could not be measured, so there is no fitness"
    if evaluation.fitness:
        outcome = f"{_outcome(evaluation, len(evaluation.policies))}, {evaluation.episodes} episodes each"
    results().print(f"\n{outcome}", soft_wrap=True)
    for film in evaluation.films:
        results().print(f"film: {film.video}", soft_wrap=True)
    if evaluation.transfer:
        table = plain_table("physics", "fitness [95 %]", "success [95 %]", "kept", right=("kept",))
        for cells in transfer_cells(evaluation.transfer):
            table.add_row(*cells)
        results().print()
        results().print(table)


def _training_step(target: str, runs_dir: Path, varied: bool) -> tuple[str, list[tuple[str, str]]]:
    """Return the command that trains the measured reward again, and the steps to propose with their purposes."""
    if training := read_training(Path(target)):
        reward = shlex.quote(str(Path(target, "reward.py")))
        kind, settings = training.training.trainer, training.training.settings
        step = f"train {shlex.quote(training.task)} --reward {reward} --trainer {kind} --steps {settings['env_steps']}"
        if bonus := settings.get("bonus"):
            step += f" --bonus {bonus}"
        return step + (" --levels" if settings.get("levels") else ""), []
    step = with_runs_dir(f"train {shlex.quote(target)}", runs_dir)
    report = with_runs_dir(f"report {shlex.quote(target.partition(':')[0])}", runs_dir)
    return step, [(report, "shows this as a picture") if varied else (step, "trains the reward with further seeds")]


def _estimates(measured: TrainedReward | Evaluated) -> dict[str, Any]:
    estimates = {"fitness": measured.fitness, "success": measured.success}
    return {name: estimate and estimate.model_dump() for name, estimate in estimates.items()}


def _outcome(measured: TrainedReward | Evaluated, seeds: int) -> str:
    if not measured.fitness:
        return f"{measured.id}: a seed failed, so there is no fitness"
    fitness = with_interval(measured.fitness) if seeds > 1 else number(measured.fitness.value)
    success = f", success {percent_interval(measured.success)}" if measured.success else ""
    return f"{measured.id}: fitness (IQM) {fitness}{success} over {count(seeds, 'seed')}"
