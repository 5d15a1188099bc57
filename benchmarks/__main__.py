"""`python -m benchmarks`: measure speed. Needs a checkout."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import App, CycloptsError, Parameter
from cyclopts.validators import Number
from rich.console import Group, RenderableType
from rich.text import Text

from benchmarks.agreement import bench_agreement
from benchmarks.critic_detectors import bench_detectors
from benchmarks.figures import Figure, Report
from benchmarks.final import FinalOptions, bench_final
from benchmarks.gpu import GpuOptions, bench_gpu
from benchmarks.learner import NAMES, LearnerOptions, bench_learner
from benchmarks.own_rewards import own_rewards_table
from benchmarks.preferences import PreferenceOptions, bench_preferences
from benchmarks.ranking import RankingOptions, bench_ranking
from benchmarks.sb3_native import ENVIRONMENTS, NativeOptions, bench_native
from benchmarks.shares import DEFAULT_TASKS as TIMED_TASKS
from benchmarks.shares import SharesOptions, bench_shares
from benchmarks.sim import DEFAULT_TASKS, SimOptions, bench_sim
from benchmarks.stacking import StackingOptions, bench_stacking
from benchmarks.train import TrainOptions, bench_train
from benchmarks.warp import bench_warp
from benchmarks.whole_run import QUICK_SEARCH, SEARCH, bench_search
from rewardgen.cli import failures
from rewardgen.cli.output import TASK_HELP, Json, print_json
from rewardgen.core.errors import RewardgenError, UsageError
from rewardgen.core.formatting import number
from rewardgen.ui.console import messages, results
from rewardgen.ui.tables import plain_table

app = App(
    name="python -m benchmarks",
    help="Measure speed.",
    help_format="markdown",
    version_flags=[],
    result_action="return_value",
)

_AT_LEAST_ONE = Number(gte=1)
_ENOUGH = Number(gte=1000)

Quick = Annotated[bool, Parameter(help="Less of everything, under a minute in all.", negative="")]
Workers = Annotated[int | None, Parameter(help="Processes; one for each core.", validator=_AT_LEAST_ONE)]
Candidates = Annotated[int | None, Parameter(help="Candidates of each generation.", validator=_AT_LEAST_ONE)]
Seeds = Annotated[int | None, Parameter(help="Seeds of each candidate.", validator=_AT_LEAST_ONE)]
Repetitions = Annotated[int | None, Parameter(help="How often each side is measured.", validator=_AT_LEAST_ONE)]


@Parameter(name="*")
@dataclass(frozen=True)
class WholeRun:
    """Options of the benchmark of whole runs; None stands for its own value."""

    task: Annotated[str, Parameter(help=TASK_HELP)] = "cartpole"
    generations: Annotated[int | None, Parameter(help="Generations.", validator=_AT_LEAST_ONE)] = None
    candidates: Candidates = None
    seeds: Seeds = None
    final_seeds: Annotated[int | None, Parameter(help="Fresh seeds at the end.", validator=_AT_LEAST_ONE)] = None
    workers: Workers = None
    env_steps: Annotated[
        int | None, Parameter(help="Control steps per slice; the task's own setting if not given.", validator=_ENOUGH)
    ] = None
    repetitions: Repetitions = None


_WHOLE_RUN = WholeRun()


@app.command
def sim(
    *tasks: Annotated[str, Parameter(help=f"{TASK_HELP} [default: {' '.join(DEFAULT_TASKS)}]")],
    num_envs: Annotated[int, Parameter(help="Environments of ours and of the C loop.", validator=_AT_LEAST_ONE)] = 64,
    threads: Annotated[int, Parameter(help="Threads of ours and of the C loop.", validator=_AT_LEAST_ONE)] = 1,
    repetitions: Repetitions = None,
    quick: Quick = False,
    json: Json = False,
) -> int:
    """Measure stepping against the machine's limit.

    Example: `python -m benchmarks sim hopper --quick`
    """
    options = SimOptions(tasks or DEFAULT_TASKS, num_envs, threads)
    return show(bench_sim(_given(options, quick, repetitions=repetitions), _say), json)


@app.command
def train(
    *,
    task: Annotated[str, Parameter(help="`cartpole`, `hopper` or `half_cheetah`.")] = "cartpole",
    stacking: Annotated[bool, Parameter(help="Our slices side by side against one at a time.", negative="")] = False,
    against_sb3_final: Annotated[
        bool, Parameter(help="Final fitness at equal control steps instead of wall clock.", negative="")
    ] = False,
    candidates: Candidates = None,
    seeds: Seeds = None,
    workers: Workers = None,
    steps: Annotated[
        int | None,
        Parameter(
            help="Control steps of each slice (of Stable-Baselines3, on the way to a target).",
            validator=_ENOUGH,
        ),
    ] = None,
    target: Annotated[float | None, Parameter(help="Fitness at which a slice counts as solved.")] = None,
    sb3: Annotated[
        Literal["best", "zoo", "default"], Parameter(help="Settings of Stable-Baselines3; `best` tries them all.")
    ] = "best",
    sb3_slices: Annotated[
        int | None, Parameter(help="Slices that it trains; its time is scaled to all.", validator=_AT_LEAST_ONE)
    ] = None,
    repetitions: Repetitions = None,
    quick: Quick = False,
    json: Json = False,
) -> int:
    """Measure training against Stable-Baselines3.

    Example: `python -m benchmarks train --quick`
    """
    common = {"task": task, "workers": workers, "steps": steps}
    names = None if sb3 == "best" else (sb3,)
    if stacking and against_sb3_final:
        raise UsageError("`--stacking` and `--against-sb3-final` are two measurements", "ask for one at a time")
    if stacking:
        slices = (candidates or 8) * (seeds or 2) if candidates or seeds else None
        report = bench_stacking(
            _given(StackingOptions(), quick, **common, slices=slices, repetitions=repetitions), _say
        )
    elif against_sb3_final:
        report = bench_final(_given(FinalOptions(), quick, **common, seeds=seeds, sb3_settings=names), _say)
    else:
        chosen = {"candidates": candidates, "seeds": seeds, "target": target, "repetitions": repetitions}
        chosen |= {"sb3_settings": names, "sb3_slices": sb3_slices}
        report = bench_train(_given(TrainOptions(), quick, **common, **chosen), _say)
    return show(report, json)


@app.command
def search(*, whole: WholeRun = _WHOLE_RUN, quick: Quick = False, json: Json = False) -> int:
    """Measure what a run does besides training.

    Example: `python -m benchmarks search --quick`
    """
    return show(bench_search(_with(QUICK_SEARCH if quick else SEARCH, **asdict(whole)), _say), json)


@app.command
def agreement(
    task: Annotated[str, Parameter(help=f"{TASK_HELP[:-1]}, with an expert policy beside it.")],
    /,
    *drafts: Annotated[str, Parameter(help="Task files for the same robot, each with a metric.")],
    json: Json = False,
) -> int:
    """Measure how far drafted metrics agree with a task's own.

    Example: `python -m benchmarks agreement hopper tests/recorded/words/hop-D1/task.py`
    """
    return show(bench_agreement(task, drafts, _say), json)


@app.command
def critic_detectors(*, show_all: Annotated[bool, Parameter(help="List every finding.", negative="")] = False) -> int:
    """Measure the detectors of the critic on labelled rewards and on recorded drafts of language models.

    Example: `python -m benchmarks critic-detectors`
    """
    print(bench_detectors(_say, show_all))
    return 0


@app.command
def native(
    *environments: Annotated[str, Parameter(help=f"Gymnasium's ids. [default: {' '.join(ENVIRONMENTS)}]")],
    algorithm: Annotated[Literal["ppo", "sac", "td3"], Parameter(help="Of Stable-Baselines3.")] = "ppo",
    seeds: Seeds = None,
    workers: Workers = None,
    steps: Annotated[int | None, Parameter(help="Control steps of each seed at most.", validator=_ENOUGH)] = None,
    quick: Quick = False,
    json: Json = False,
) -> int:
    """Compare Stable-Baselines3 by itself with the trainer `sb3-...` on an environment's own reward.

    Example: `python -m benchmarks native --quick`
    """
    options = NativeOptions(environments or ENVIRONMENTS, algorithm)
    return show(bench_native(_given(options, quick, seeds=seeds, workers=workers, steps=steps), _say), json)


@app.command
def gpu(
    *,
    task: Annotated[str | None, Parameter(help="`cartpole`, `hopper` or `half_cheetah`.")] = None,
    num_envs: Annotated[tuple[int, ...] | None, Parameter(help="Numbers of envs to step.")] = None,
    candidates: Annotated[tuple[int, ...] | None, Parameter(help="Numbers of candidates to train.")] = None,
    seeds: Annotated[tuple[int, ...] | None, Parameter(help="Numbers of seeds of each.")] = None,
    env_steps: Annotated[int | None, Parameter(help="Control steps of each slice.", validator=_ENOUGH)] = None,
    plot: Annotated[Path | None, Parameter(help="Also draw it, as SVG.")] = None,
    quick: Quick = False,
    json: Json = False,
) -> int:
    """Measure a generation on a GPU against a process per candidate there and against the CPU.

    Without a GPU MuJoCo Warp runs on the CPU, which shows that it works and nothing else.

    Example: `python -m benchmarks gpu --plot gpu.svg`
    """
    chosen = {"task": task, "num_envs": num_envs, "candidates": candidates, "seeds": seeds, "env_steps": env_steps}
    return show(bench_gpu(_given(GpuOptions(), quick, **chosen), _say, plot), json)


@app.command
def warp(
    *tasks: Annotated[str, Parameter(help=f"{TASK_HELP} [default: all that a GPU could simulate]")], json: Json = False
) -> int:
    """Compare MuJoCo Warp's states with MuJoCo's, on a GPU if there is one.

    Example: `python -m benchmarks warp cartpole`
    """
    return show(bench_warp(tasks, _say), json)


@app.command
def learner(
    *tasks: Annotated[str, Parameter(help=f"{TASK_HELP} [default: sixteen shipped tasks]")],
    settings: Annotated[
        tuple[str, ...] | None, Parameter(help=f"Of {', '.join(NAMES)}; the first is compared with.")
    ] = None,
    reward: Annotated[Literal["human", "sparse"], Parameter(help="Reward of the tasks.")] = "human",
    seeds: Seeds = None,
    workers: Workers = None,
    steps: Annotated[int | None, Parameter(help="Control steps of each seed.", validator=_ENOUGH)] = None,
    folder: Annotated[Path | None, Parameter(help="Folder of the trainings, which are not repeated.")] = None,
    quick: Quick = False,
    json: Json = False,
) -> int:
    """Compare settings of our learners on tasks, at equal control steps and at equal time.

    Example: `python -m benchmarks learner hopper half_cheetah --settings task --settings dense`
    """
    chosen = {"tasks": tasks or None, "settings": settings, "seeds": seeds, "workers": workers, "steps": steps}
    options = _given(LearnerOptions(), quick, reward=reward, folder=folder, **chosen)
    return show(bench_learner(options, _say), json)


@app.command
def ranking(
    *runs: Annotated[str, Parameter(help="Folders of recorded runs on shipped tasks.")],
    settings: Annotated[
        tuple[str, ...] | None, Parameter(help=f"Of {', '.join(NAMES)}; the first has the long training.")
    ] = None,
    rewards: Annotated[int | None, Parameter(help="Rewards of each run.", validator=Number(gte=3))] = None,
    seeds: Seeds = None,
    long_seeds: Annotated[int | None, Parameter(help="Seeds of the long training.", validator=_AT_LEAST_ONE)] = None,
    steps: Annotated[int | None, Parameter(help="Control steps of a short training.", validator=_ENOUGH)] = None,
    times: Annotated[
        int | None, Parameter(help="Length of the long training in short ones.", validator=_AT_LEAST_ONE)
    ] = None,
    folder: Annotated[Path | None, Parameter(help="Folder of the trainings, which are not repeated.")] = None,
    json: Json = False,
) -> int:
    """Compare the order of a run's rewards after short trainings with that after a long one.

    Example: `python -m docs.study unpack && python -m benchmarks ranking benchmarks/evidence/runs/cartpole-evolve-0`
    """
    chosen = {"settings": settings, "rewards": rewards, "seeds": seeds, "steps": steps}
    chosen |= {"long_seeds": long_seeds, "times": times}
    return show(bench_ranking(runs, _with(RankingOptions(), folder=folder, **chosen), _say), json)


@app.command
def shares(
    *tasks: Annotated[str, Parameter(help=f"{TASK_HELP} [default: {' '.join(TIMED_TASKS)}]")],
    seeds: Seeds = None,
    quick: Quick = False,
    json: Json = False,
) -> int:
    """Tell the shares of simulation, learning and evaluation in the training of tasks' human rewards.

    Example: `python -m benchmarks shares hopper ant`
    """
    return show(bench_shares(tasks, _given(SharesOptions(), quick, seeds=seeds), _say), json)


@app.command
def preferences(
    *runs: Annotated[str, Parameter(help="Folders of runs with recorded results.")],
    answers: Annotated[int, Parameter(help="Answers at most.", validator=_AT_LEAST_ONE)] = 40,
    repetitions: Repetitions = None,
    quick: Quick = False,
    json: Json = False,
) -> int:
    """Measure whether simulated teachers choose as good a reward as fitness does; trains nothing.

    Example: `python -m benchmarks preferences benchmarks/evidence/runs/hopper-evolve-0`
    """
    options = PreferenceOptions(answers)
    return show(bench_preferences(runs, _given(options, quick, repetitions=repetitions), _say), json)


@app.command(name="own-rewards")
def own_rewards(
    *tasks: Annotated[str, Parameter(help=TASK_HELP)],
    seeds: Annotated[int, Parameter(help="Seeds of each reward.", validator=_AT_LEAST_ONE)] = 3,
) -> int:
    """Train the tasks' own rewards and print the rows of docs/tasks-table.md.

    Example: `python -m benchmarks own-rewards cartpole hopper`
    """
    results().print_data(own_rewards_table(tasks, seeds))
    return 0


def _given(options: Any, quick: bool, **chosen: object) -> Any:
    """Options as asked for, which what `--quick` means does not override."""
    return _with(options.quick() if quick else options, **chosen)


def _with(options: Any, **chosen: object) -> Any:
    return options._replace(**{name: value for name, value in chosen.items() if value is not None})


def _say(what: str) -> None:
    messages().print(what)


def show(report: Report, json: bool) -> int:
    """Print what was measured. A missed target is shown and is no error: machines differ."""
    if json:
        print_json(report.as_json())
    else:
        results().print(_page(report))
    return 0


def _page(report: Report) -> RenderableType:
    table = plain_table("on", "what", "median [low, high]", "target")
    for each in report.figures:
        table.add_row(each.subject, each.name, _measured(each), _verdict(each))
    return Group(table, *(Text(note, "dim") for note in report.notes))


def _measured(figure: Figure) -> str:
    low, high = (_rounded(bound(figure.values)) for bound in (min, max))
    space = "" if figure.unit in ("x", "/s") else " "
    return f"{_rounded(figure.median)}{space}{figure.unit} [{low}, {high}]"


def _verdict(figure: Figure) -> Text:
    if figure.target is None:
        return Text()
    limit = f"{'≤' if figure.at_most else '≥'} {figure.target:g} "
    return Text.assemble(limit, ("reached", "green") if figure.reached else ("missed", "red"))


def _rounded(value: float) -> str:
    return f"{value / 1000:.1f}k" if value >= 1000 else number(value)


def main(arguments: Sequence[str]) -> int:
    """Run one benchmark.

    Args:
        arguments: Command line without the program's name.

    Returns:
        Exit code, as of `rewardgen`.
    """
    try:
        return app(list(arguments), exit_on_error=False, print_error=False) or 0
    except CycloptsError as error:
        command = " ".join(["python -m benchmarks", *app.parse_commands(list(arguments))[0]])
        return failures.report(failures.explain_usage(error, command))
    except (RewardgenError, KeyboardInterrupt, BrokenPipeError) as error:
        return failures.report(error)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
