"""Run a search from Python, as `rewardgen run` does: `rewardgen.run`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from rewardgen.api.runs import Run, close, listening
from rewardgen.core.config import BUILTIN, RunConfig
from rewardgen.core.errors import UsageError
from rewardgen.search import lifecycle
from rewardgen.store.run_folder import DEFAULT_RUNS_DIR


def run(
    task: str | Path,
    *,
    model: str = BUILTIN,
    runs_dir: str | Path = DEFAULT_RUNS_DIR,
    progress: bool = True,
    track: Sequence[str] = (),
    **options: Any,
) -> Run:
    """Search for a reward until the run ends. Everything is saved on the way, also at Ctrl-C.

    No question is asked: limit the price of calls with `max_cost`. Works in notebooks and inside a running event
    loop; a script needs no `if __name__ == "__main__":`.

    Args:
        task: Name of a shipped task, or path of a task file.
        model: `builtin`, a LiteLLM model string, `mailbox:DIR`, or `replay:RUN`.
        runs_dir: Folder of the runs.
        progress: True to show progress, in the notebook cell or on standard error.
        track: Names of experiment trackers, such as `tensorboard`.
        **options: Fields of `rewardgen.core.config.RunConfig`, such as `generations`, `candidates`, `seeds`,
            `final_seeds`, `env_steps`, `goal`, `max_minutes`, `max_cost`.

    Raises:
        RewardgenError: The task, the model or an option cannot be used, or a call failed for good.
        KeyboardInterrupt: The run was interrupted; `Run.resume` continues it.
    """
    try:
        config = RunConfig.model_validate({"task": str(task), "model": model, **options})
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(map(str, first["loc"]))
        raise UsageError(f"`{name}`: {first['msg']}", "docs/commands.md lists the options and their values") from error
    with listening(progress, track, Path(runs_dir)) as listener:
        outcome = lifecycle.start(config, Path(runs_dir), listener)
    return close(outcome, progress)
