"""`rewardgen film` and `rewardgen play`: seeing what a policy does."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Annotated, Any

from cyclopts import Parameter

from rewardgen.cli.output import Json, RunsDir, home_of, next_steps, print_json, with_runs_dir
from rewardgen.core.errors import UsageError
from rewardgen.core.interpreter import python_command
from rewardgen.film.film import Film, make_films, plan_of
from rewardgen.film.shooting import SECONDS, play_files, shoot
from rewardgen.store.run_folder import DEFAULT_RUNS_DIR
from rewardgen.ui.console import messages, results
from rewardgen.view.reference import find_reference

Side = Annotated[
    str,
    Parameter(
        help="`latest`, a run's id or a part of it, or its folder; `RUN:CANDIDATE` for one candidate, or `human`."
    ),
]
Seed = Annotated[int | None, Parameter(help="Of the training whose policy is shown; else the middle one by fitness.")]
Seconds = Annotated[float, Parameter(help="That are shown at most.")]
Yes = Annotated[
    bool,
    Parameter(name="--yes", negative="", help="Run the task file of a run that you did not start.", show_default=False),
]


def film(
    ref: Side = "latest",
    /,
    *,
    seed: Seed = None,
    seconds: Seconds = SECONDS,
    speed: Annotated[float, Parameter(help="Of what is shown: 0.25 for slow motion. Of one policy only.")] = 1.0,
    yes: Yes = False,
    runs_dir: RunsDir = DEFAULT_RUNS_DIR,
    json: Json = False,
) -> int:
    """Film a candidate; or of a run the best of each generation, and the chosen reward beside the human one."""
    found = find_reference(ref, runs_dir)
    _check(seconds)

    def note(text: str) -> None:
        messages().print(text, soft_wrap=True)

    if not 0.01 <= speed <= 100.0:
        raise UsageError(f"`--speed {speed:g}` shows nothing", "give 0.01 to 100, such as 0.25")
    options = {"seconds": seconds, "agreed": yes, "note": note}
    if found.named or seed is not None or speed != 1.0:
        plan = plan_of(found.folder, found.history, found.candidate, seed=seed)
        if (seconds, speed) != (SECONDS, 1.0):  # beside the run's own film, not in its place
            title = f"{plan.title}, {seconds:g} s at {speed:g} times its speed"
            plan = plan._replace(title=title, variant=f"{seconds:g}s-x{speed:g}")
        films = shoot(found.folder, found.history, [plan], speed=speed, **options)
    else:
        films = make_films(found.folder, found.history, **options)
    if json:
        print_json({"films": [_data(each) for each in films]})
        return 0 if films else 1
    if not films:
        messages().print("there is nothing to film: no policy has been trained to the end", soft_wrap=True)
        return 1
    for each in films:
        results().print(f"{each.title}\n  {each.caption}\n  {each.video}", soft_wrap=True)
    runs_dir = home_of(found.folder, runs_dir)
    if not films[-1].pictured:
        next_steps((with_runs_dir(f"play {found.folder.word}:{films[-1].id}", runs_dir), "turns it about in a window"))
    return 0


def _data(film: Film) -> dict[str, Any]:
    files = {"video": str(film.video), "picture": str(film.picture), "still": str(film.still)}
    return film.model_dump(mode="json", exclude={"folder", "name"}) | files


def _check(seconds: float) -> None:
    if not 0.1 <= seconds <= 600.0:
        raise UsageError(f"`--seconds {seconds:g}` is no length of a film", "give 0.1 to 600")


def play(
    ref: Side = "latest",
    /,
    *,
    seed: Seed = None,
    seconds: Seconds = 60.0,
    yes: Yes = False,
    runs_dir: RunsDir = DEFAULT_RUNS_DIR,
) -> int:
    """Show a policy in MuJoCo's viewer, again and again until its window is closed."""
    found = find_reference(ref, runs_dir)
    _check(seconds)
    if sys.platform == "linux" and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        hint = with_runs_dir(f"rewardgen film {found.folder.word}:{found.candidate}", home_of(found.folder, runs_dir))
        raise UsageError("there is no display here for a window to open on", f"make a film of it: `{hint}`")
    plan = plan_of(found.folder, found.history, found.candidate, seed=seed)
    with play_files(found.folder, found.history, plan.take, seconds, agreed=yes) as files:
        done = subprocess.run(python_command("-m", "rewardgen.film.viewer", *files))
    if done.returncode:
        raise UsageError("MuJoCo's viewer could not be opened", f"make a film: `rewardgen film {found.folder.word}`")
    return 0
