"""`rewardgen.search`: a run from Python, as `rewardgen run` does it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from rewardgen.api.runs import Run, ended, listening
from rewardgen.core.config import BUILTIN, RunConfig
from rewardgen.core.errors import UsageError
from rewardgen.search import lifecycle
from rewardgen.store.run_folder import DEFAULT_RUNS_DIR


def search(
    task: str | Path,
    *,
    model: str = BUILTIN,
    runs_dir: str | Path = DEFAULT_RUNS_DIR,
    progress: bool = True,
    track: Sequence[str] = (),
    **options: Any,
) -> Run:
    """Search for a reward, see the run to its end, and give it back. It is saved all along, also at a Ctrl-C.

    Nobody is asked anything: neither what the calls of a model may cost (limit it with `max_cost`), nor whether to go
    on if the model says that the task does not measure the goal. It works in a notebook, and wherever else an event
    loop is running, as it is; a script needs no `if __name__ == "__main__":` for it.

    Args:
        task: Name of a shipped task, or the path of a task file.
        model: `builtin`, a LiteLLM model string, `mailbox:DIR`, or `replay:RUN`.
        runs_dir: Folder in which the run's own is made.
        progress: Whether to show how it goes: in a notebook in the cell, else on standard error.
        track: Names of experiment trackers, such as `tensorboard`.
        **options: Fields of `rewardgen.core.config.RunConfig`, those that `rewardgen run --help` lists: `generations`,
            `candidates`, `seeds`, `final_seeds`, `env_steps`, `goal`, `max_minutes`, `max_cost`, `films` and so on.

    Raises:
        RewardgenError: The task, model or an option cannot be used, or a call failed for good.
        KeyboardInterrupt: It was interrupted; `Run.resume` goes on.
    """
    try:
        config = RunConfig.model_validate({"task": str(task), "model": model, **options})
    except ValidationError as error:
        raise _explained(error) from error
    with listening(progress, track, Path(runs_dir)) as listener:
        outcome = lifecycle.start(config, Path(runs_dir), listener)
    return ended(outcome, progress)


def _explained(error: ValidationError) -> UsageError:
    first = error.errors()[0]
    name = ".".join(map(str, first["loc"]))
    return UsageError(f"`{name}`: {first['msg']}", "`rewardgen run --help` lists the options and what they take")
