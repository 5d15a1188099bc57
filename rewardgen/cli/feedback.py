"""`rewardgen feedback`."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from rewardgen.cli.output import Json, Reference, RunsDir, home_of, next_steps, print_json, with_runs_dir
from rewardgen.core.config import BUILTIN
from rewardgen.report.run_files import write_readme
from rewardgen.search.requests import checked_remarks, give_feedback
from rewardgen.store.run_folder import DEFAULT_RUNS_DIR, find_run
from rewardgen.ui.console import messages


def feedback(
    ref: Reference,
    /,
    *remarks: Annotated[str, Parameter(help="Your words, in quotes.")],
    runs_dir: RunsDir = DEFAULT_RUNS_DIR,
    json: Json = False,
) -> int:
    """Keep your words for the designer of the next generations."""
    said = checked_remarks(remarks)  # before the run is looked up, for users who give the words alone
    folder = find_run(ref, runs_dir)
    runs_dir = home_of(folder, runs_dir)
    history = give_feedback(folder, said)
    write_readme(folder, history)
    assert history.config is not None
    is_over, generation = bool(history.stop_reason or history.summary), history.feedback[-1].generation
    more = " --generations 1" if is_over or generation >= history.config.generations else ""
    resume = with_runs_dir(f"resume {folder.word}{more}", runs_dir)
    if json:
        print_json(
            {
                "run_id": folder.id,
                "feedback": [each.model_dump(mode="json") for each in history.feedback],
                "resume": f"rewardgen {resume}",
            }
        )
        return 0
    kept = f"kept for generation g{generation:02d} and later"
    messages().print(f"{kept}; the task's own fitness still ranks candidates", soft_wrap=True)
    if history.config.model == BUILTIN:
        messages().print("the built-in designer reads no words: resume with `--model`", soft_wrap=True)
    next_steps((resume, "designs with them"))
    return 0
