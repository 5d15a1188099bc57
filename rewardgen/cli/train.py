"""`rewardgen train`: one reward with some seeds, outside a run's search."""

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
    target: Annotated[
        str,
        Parameter(help="A task, whose human reward is trained; or a run, or `RUN:CANDIDATE`, trained as the run does."),
    ],
    /,
    *,
    reward: Annotated[str | None, Parameter(help="A Python file with another reward, or `human` or `sparse`.")] = None,
    steps: Annotated[
        int | None,
        Parameter(
            help="Control steps of each seed; the run's or the task's own setting if not given.",
            validator=Number(gte=LEAST_STEPS),
        ),
    ] = None,
    seeds: Annotated[int, Parameter(help="How many.", validator=_AT_LEAST_ONE)] = 3,
    first_seed: Annotated[
        int | None, Parameter(help="The first of them; if not given, one that the run has not used.")
    ] = None,
    trainer: Trainer = None,
    device: Annotated[
        Device | Literal["auto"],
        Parameter(
            help="What simulates and learns on a task: the CPU, a GPU (`cuda`), or the GPU if there is one (`auto`)."
        ),
    ] = "cpu",
    folder: Annotated[
        Path | None, Parameter(help="Where it is kept; in `trainings/` of the run or of the working folder otherwise.")
    ] = None,
    workers: Annotated[
        int | None, Parameter(help="Training processes; the CPU cores if not given.", validator=_AT_LEAST_ONE)
    ] = None,
    yes: Agree = False,
    runs_dir: RunsDir = DEFAULT_RUNS_DIR,
    json: Json = False,
) -> int:
    """Train a reward with some seeds, and keep policies and curves.

    With more `--seeds` and the same other options, only those that are missing are trained.
    """
    done = train_reward(
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
        told = {"reward": done.id, "path": str(done.path), "seeds": done.rows(), "notes": done.notes}
        estimates = {"fitness": done.fitness, "success": done.success}
        print_json(told | {name: each and each.model_dump() for name, each in estimates.items()})
        return 0 if done.fitness else 1
    table = plain_table("seed", "fitness", "success", "steps", right=("seed", "fitness", "success", "steps"))
    table.add_column("", overflow="fold")
    for row in done.rows():
        cells = (number(row["fitness"]), percent(row["success"]), tokens(row["steps"]), row["failure"])
        table.add_row(str(row["seed"]), *cells)
    results().print(table)
    seeds_text = count(len(done.result.slices), "seed")
    if done.fitness:
        told = f"fitness (IQM) {with_interval(done.fitness)}, success {percent_interval(done.success)}"
        if len(done.result.slices) == 1:  # of what one seed reaches there is no interval
            told = f"fitness {number(done.fitness.value)}, success {percent_interval(done.success)}"
        results().print(f"\n{done.id}: {told} over {seeds_text}", soft_wrap=True)
    else:
        results().print(f"\n{done.id}: a seed failed, so there is no fitness", soft_wrap=True)
    for note in done.notes:
        results().print(note, soft_wrap=True)
    results().print(f"policies and curves: {done.path}", soft_wrap=True)
    if done.fitness and reward not in (None, *BASELINES):
        search = f"run {shlex.quote(target)} --init {shlex.quote(reward)}"
        next_steps((search, "a search that begins with it: compared, filmed, reported and exported"))
    return 0 if done.fitness else 1
