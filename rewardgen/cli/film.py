"""`rewardgen film` and `rewardgen play`: film policies, or show one in a window."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

from cyclopts import Parameter
from cyclopts.validators import Number

from rewardgen.api.measuring import training_reference
from rewardgen.cli.output import Json, RunsDir, flag, next_steps, print_json
from rewardgen.film.film import at_pace, make_films, plan_of
from rewardgen.film.film_index import Film
from rewardgen.film.shooting import SECONDS, recorded, shoot, takes_beside
from rewardgen.film.viewers import VIEWERS
from rewardgen.store.run_folder import DEFAULT_RUNS_DIR
from rewardgen.ui.console import messages, results
from rewardgen.view.reference import find_reference

Side = Annotated[str, Parameter(help="A run, `RUN:CANDIDATE`, `RUN:human`, or a folder of `train`.")]
Seed = Annotated[int | None, Parameter(help="Training seed of the policy; default: the seed with the median fitness.")]
Seconds = Annotated[float, Parameter(help="Length at most [s].", validator=Number(gte=0.1, lte=600.0))]
Speed = Annotated[
    float,
    Parameter(help="Playback speed of one policy: 0.25 for slow motion.", validator=Number(gte=0.01, lte=100.0)),
]
Web = Annotated[bool, flag("Show it in the browser, with its components and all its seeds; needs viser.", "--web")]
Yes = Annotated[bool, flag("Run the task file of a run that you did not start.", "--yes")]


def film(
    ref: Side = "latest",
    /,
    *,
    seed: Seed = None,
    seconds: Seconds = SECONDS,
    speed: Speed = 1.0,
    yes: Yes = False,
    runs_dir: RunsDir = DEFAULT_RUNS_DIR,
    json: Json = False,
) -> int:
    """Film a candidate; or of a run the best of each generation, and the chosen reward beside the human one."""
    folder, history, named = reference = training_reference(ref, yes) or find_reference(ref, runs_dir)
    options: dict[str, Any] = {"seconds": seconds, "agreed": yes, "note": partial(messages().print, soft_wrap=True)}
    if named or seed is not None or speed != 1.0:
        plan = plan_of(folder, history, reference.candidate, seed=seed)
        films = shoot(folder, history, [at_pace(plan, seconds, speed)], speed=speed, **options)
    else:
        films = make_films(folder, history, **options)
    if json:
        print_json({"films": [_data(film) for film in films]})
        return 0 if films else 1
    if not films:
        why = "the run's folder lacks the files of policies" if history.trained else "no policy has been trained"
        messages().print(f"there is nothing to film: {why}", soft_wrap=True)
        return 1
    for shot in films:
        results().print(f"{shot.title}\n  {shot.caption}\n  {shot.video}", soft_wrap=True)
    if not films[-1].pictured:
        word = reference._replace(named=films[-1].id).word
        next_steps((f"play {word}", "shows the policy in a window that can be turned"))
    return 0


def _data(film: Film) -> dict[str, Any]:
    files = {"video": str(film.video), "picture": str(film.picture), "still": str(film.still)}
    return film.model_dump(mode="json", exclude={"name"}) | files


def play(
    ref: Side = "latest",
    /,
    *,
    seed: Seed = None,
    seconds: Seconds = 60.0,
    web: Web = False,
    yes: Yes = False,
    runs_dir: RunsDir = DEFAULT_RUNS_DIR,
) -> int:
    """Show a policy in MuJoCo's viewer, or with its components in the browser, until that is closed."""
    folder, history, _ = reference = training_reference(ref, yes) or find_reference(ref, runs_dir)
    viewer = VIEWERS.get("web" if web else "window")(f"rewardgen film {reference.word}")
    plan = plan_of(folder, history, reference.candidate, seed=seed)
    takes = takes_beside(folder, history, plan.take) if viewer.detailed else [plan.take]
    with recorded(folder, history, takes, seconds, priced=viewer.detailed, agreed=yes) as (model, episodes):
        viewer.show(plan.title, model, episodes)
    return 0
