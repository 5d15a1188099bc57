"""`rewardgen export`."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from rewardgen.cli.output import Json, RunsDir, flag, print_json
from rewardgen.export.exporting import KINDS, export
from rewardgen.store.run_folder import DEFAULT_RUNS_DIR
from rewardgen.ui.console import messages, results
from rewardgen.view.reference import find_reference

Source = Annotated[str, Parameter(help="A run, for its chosen reward, or `RUN:CANDIDATE`.")]
Folder = Annotated[Path, Parameter(help="A new folder.")]
Kinds = Annotated[
    tuple[str, ...],
    Parameter(
        name="--as",
        negative="",
        help="Kind: `torch`, `gymnasium`, `sb3`, `onnx`, `comparisons`. Several make a folder each, below the"
        " given one.",
    ),
]
Yes = Annotated[bool, flag("Run the task file of a run that you did not start.")]


def write(
    ref: Source,
    folder: Folder,
    /,
    *,
    as_: Kinds = ("torch",),
    yes: Yes = False,
    runs_dir: RunsDir = DEFAULT_RUNS_DIR,
    json: Json = False,
) -> int:
    """Write a reward, policy or environment that works without rewardgen."""
    reference = find_reference(ref, runs_dir)
    for kind in as_:
        KINDS.get(kind)
    targets = {kind: folder / kind if len(as_) > 1 else folder for kind in as_}
    written: dict[str, list[Path]] = {}
    for kind, target in targets.items():
        written[kind] = export(reference.folder, reference.history, reference.candidate, target, kind, agreed=yes)
        if json:
            continue
        results().print_data(str(target))
        text = f"{len(written[kind])} files: read {shlex.quote(str(target / 'README.md'))}"
        if (target / "check.py") in written[kind]:
            text += f"; `python {shlex.quote(str(target / 'check.py'))}` compares it with the run"
        messages().print(text, soft_wrap=True)
    if json:
        print_json({kind: [str(path) for path in paths] for kind, paths in written.items()})
    return 0
