"""`rewardgen train`."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter
from cyclopts.validators import Number

from rewardgen.api.training import LEAST_STEPS
from rewardgen.api.training import train as train_reward
from rewardgen.cli.output import Agree, Json, RunsDir, Trainer, next_steps, print_json
from rewardgen.core.config import Device
from rewardgen.core.formatting import count, number, percent, percent_interval, tokens, with_interval
from rewardgen.store.records import BASELINES
from rewardgen.store.run_folder import DEFAULT_RUNS_DIR
from rewardgen.ui.console import results
from rewardgen.ui.tables import plain_table

_AT_LEAST_ONE = Number(gte=1)


def train(
    target: Annotated[str, Parameter(help="A task, a run, or `RUN:CANDIDATE`; a run's settings are used.")],
    /,
    *,
    reward: Annotated[
        str | None, Parameter(help="A Python file, `human` or `sparse`; default: `human` for a task, else the run's.")
    ] = None,
    steps: Annotated[
        int | None,
        Parameter(help="Control steps per seed; default: as the task or run.", validator=Number(gte=LEAST_STEPS)),
    ] = None,
    seeds: Annotated[int, Parameter(help="Number of seeds.", validator=_AT_LEAST_ONE)] = 3,
    first_seed: Annotated[int | None, Parameter(help="First seed; default: one that the run has not used.")] = None,
    trainer: Trainer = None,
    device: Annotated[
        Device | Literal["auto"], Parameter(help="`cpu`, `cuda`, or `auto` for a GPU if there is one; tasks only.")
    ] = "cpu",
    folder: Annotated[
        Path | None, Parameter(help="Folder of the results; default: in `trainings/` of the run or working folder.")
    ] = None,
    workers: Annotated[
        int | None, Parameter(help="Training processes; default: the CPU cores.", validator=_AT_LEAST_ONE)
    ] = None,
    yes: Agree = False,
    runs_dir: RunsDir = DEFAULT_RUNS_DIR,
    json: Json = False,
) -> int:
    """Train a reward with several seeds, and keep policies and curves.

    More `--seeds` with the same other options train only the missing seeds.
    """
    training = train_reward(
        target,
        reward,
        steps=steps,
        seeds=seeds,
        first_seed=first_seed,
        trainer=trainer,
        device=device,
        folder=folder,
        workers=workers,
        runs_dir=runs_dir,
        agreed=yes,
    )
    if json:
        data = {"reward": training.id, "path": str(training.path), "seeds": training.rows(), "notes": training.notes}
        estimates = {"fitness": training.fitness, "success": training.success}
        print_json(data | {name: estimate and estimate.model_dump() for name, estimate in estimates.items()})
        return 0 if training.fitness else 1
    table = plain_table("seed", "fitness", "success", "steps", right=("seed", "fitness", "success", "steps"))
    table.add_column("", overflow="fold")
    for row in training.rows():
        cells = (number(row["fitness"]), percent(row["success"]), tokens(row["steps"]), row["failure"])
        table.add_row(str(row["seed"]), *cells)
    results().print(table)
    size = len(training.result.slices)
    if training.fitness:  # one seed has no interval
        fitness = with_interval(training.fitness) if size > 1 else number(training.fitness.value)
        success = f", success {percent_interval(training.success)}" if training.success else ""
        outcome = f"fitness (IQM) {fitness}{success} over {count(size, 'seed')}"
    else:
        outcome = "a seed failed, so there is no fitness"
    results().print(f"\n{training.id}: {outcome}", soft_wrap=True)
    for note in (*training.notes, f"policies and curves: {training.path}"):
        results().print(note, soft_wrap=True)
    if training.fitness and reward not in (None, *BASELINES):
        search = f"run {shlex.quote(target)} --init {shlex.quote(reward)}"
        next_steps((search, "starts a search with this reward"))
    return 0 if training.fitness else 1
