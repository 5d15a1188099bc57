"""`rewardgen completion`."""

from __future__ import annotations

from typing import Annotated, Literal

from cyclopts import Parameter
from cyclopts.completion.detect import ShellDetectionError

from rewardgen.cli.output import Json, print_json
from rewardgen.core.errors import UsageError
from rewardgen.ui.console import messages, results

Shell = Literal["bash", "zsh", "fish"]


def completion(
    shell: Annotated[Shell | None, Parameter(help="For which shell; this one's if not given.")] = None,
    /,
    *,
    install: Annotated[
        bool, Parameter(negative="", help="Put it where the shell finds it.", show_default=False)
    ] = False,
    json: Json = False,
) -> int:
    """Print what completes commands, options, tasks, runs and prompts in a shell, or put it in place."""
    from rewardgen.cli.app import make_app

    app = make_app()
    try:
        if not install:
            script = app.generate_completion(shell=shell)
            print_json({"script": script}) if json else results().print_data(script.rstrip("\n"))
            return 0
        path = app.install_completion(shell=shell)
    except ShellDetectionError as error:
        raise UsageError("which shell this is cannot be told", "name it, as in `rewardgen completion bash`") from error
    except OSError as error:
        raise UsageError(
            f"cannot write {error.filename}: {error.strerror}", "print it, and put it in place yourself"
        ) from error
    if json:
        print_json({"path": str(path)})
    messages().print(f"{path}; a new shell completes with Tab", soft_wrap=True)
    return 0
