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

Workers = Annotated[int | None, Parameter(help="Processes; the CPU cores if not given.", validator=Number(gte=1))]


def eval_(
    target: Annotated[str, Parameter(help="A run, whose chosen reward is meant, or `RUN:CANDIDATE`.")] = "latest",
    /,
    *,
    episodes: Annotated[
        int, Parameter(help="Fresh episodes of each policy.", validator=Number(gte=1, lte=MOST_EPISODES))
    ] = 100,
    seed: Annotated[int, Parameter(help="Of their starts; with 0 they are the run's.", validator=Number(gte=0))] = 1,
    film: Annotated[
        bool, Parameter(negative="", help="Film the policy with the middle fitness too.", show_default=False)
    ] = False,
    workers: Workers = None,
    yes: Agree = False,
    runs_dir: RunsDir = DEFAULT_RUNS_DIR,
    json: Json = False,
) -> int:
    """Measure stored policies in fresh episodes."""
    found = evaluate(target, episodes=episodes, seed=seed, film=film, workers=workers, runs_dir=runs_dir, agreed=yes)
    films = [str(each.video) for each in found.films]
    if json:
        data = {"candidate": found.id, "phase": found.phase, "episodes": episodes, "policies": found.rows()}
        data |= {"films": films, "task_changed": [str(each) for each in found.task_changed]}
        estimates = {"fitness": found.fitness, "success": found.success}
        print_json(data | {name: each and each.model_dump() for name, each in estimates.items()})
        return 0 if found.fitness else 1
    table = plain_table("seed", "fitness [95 %]", "success [95 %]", "in the run", right=("seed", "in the run"))
    for each in found.policies:
        fitness = with_interval(each.fitness) if each.fitness else each.problem
        table.add_row(str(each.seed), fitness, percent_interval(each.success), number(each.before))
    results().print(table)
    if found.task_changed:
        results().print("\nthe task has changed since the run: it is measured here as it is now", soft_wrap=True)
    if found.fitness:
        told = f"fitness (IQM) {with_interval(found.fitness)}, success {percent_interval(found.success)}"
        results().print(
            f"\n{found.id}: {told} over {count(len(found.policies), 'seed')}, {episodes} episodes each", soft_wrap=True
        )
    for each in films:
        results().print(f"film: {each}", soft_wrap=True)
    next_steps((with_runs_dir(f"train {shlex.quote(target)}", runs_dir), "trains the reward with further seeds"))
    return 0 if found.fitness else 1
