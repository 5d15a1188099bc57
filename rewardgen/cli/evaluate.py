"""`rewardgen eval`."""

from __future__ import annotations

import shlex
from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from rewardgen.api.measuring import MOST_EPISODES, evaluate
from rewardgen.cli.output import Agree, Json, RunsDir, next_steps, print_json, with_runs_dir
from rewardgen.core.formatting import count, number, percent_interval, with_interval
from rewardgen.store.run_folder import DEFAULT_RUNS_DIR
from rewardgen.ui.console import results
from rewardgen.ui.tables import plain_table

Workers = Annotated[int | None, Parameter(help="Worker processes; default: the CPU cores.", validator=Number(gte=1))]


def eval_(
    target: Annotated[str, Parameter(help="A run, for its chosen reward, or `RUN:CANDIDATE`.")] = "latest",
    /,
    *,
    episodes: Annotated[
        int, Parameter(help="Fresh episodes of each policy.", validator=Number(gte=1, lte=MOST_EPISODES))
    ] = 100,
    seed: Annotated[int, Parameter(help="Seed of the episodes; 0: as in the run.", validator=Number(gte=0))] = 1,
    film: Annotated[
        bool, Parameter(negative="", help="Also film the policy with the median fitness.", show_default=False)
    ] = False,
    workers: Workers = None,
    yes: Agree = False,
    runs_dir: RunsDir = DEFAULT_RUNS_DIR,
    json: Json = False,
) -> int:
    """Measure trained policies on fresh episodes."""
    evaluation = evaluate(
        target, episodes=episodes, seed=seed, film=film, workers=workers, runs_dir=runs_dir, agreed=yes
    )
    films = [str(film.video) for film in evaluation.films]
    if json:
        data = {"candidate": evaluation.id, "phase": evaluation.phase, "episodes": episodes}
        data |= {"policies": evaluation.rows(), "films": films}
        data |= {"task_changed": [str(path) for path in evaluation.task_changed]}
        estimates = {"fitness": evaluation.fitness, "success": evaluation.success}
        print_json(data | {name: estimate and estimate.model_dump() for name, estimate in estimates.items()})
        return 0 if evaluation.fitness else 1
    table = plain_table("seed", "fitness [95 %]", "success [95 %]", "in the run", right=("seed", "in the run"))
    for policy in evaluation.policies:
        fitness = with_interval(policy.fitness) if policy.fitness else policy.problem
        table.add_row(str(policy.seed), fitness, percent_interval(policy.success), number(policy.before))
    results().print(table)
    if evaluation.task_changed:
        results().print("\nthe task has changed since the run; the numbers are by the changed task", soft_wrap=True)
    if evaluation.fitness:
        success = f", success {percent_interval(evaluation.success)}" if evaluation.success else ""
        estimate = f"fitness (IQM) {with_interval(evaluation.fitness)}{success}"
        size = f"{count(len(evaluation.policies), 'seed')}, {episodes} episodes each"
        results().print(f"\n{evaluation.id}: {estimate} over {size}", soft_wrap=True)
    for path in films:
        results().print(f"film: {path}", soft_wrap=True)
    next_steps((with_runs_dir(f"train {shlex.quote(target)}", runs_dir), "trains the reward with further seeds"))
    return 0 if evaluation.fitness else 1
