"""Errors of task code, with file, method and line instead of a traceback. Loads no torch."""

from __future__ import annotations

import errno
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from rewardgen.core.errors import RewardgenError, TaskError, did_you_mean, nearest

if TYPE_CHECKING:
    import torch

_HINTS = (
    (
        r"Boolean value of Tensor",
        "there is a value for each env: `&`, `|`, `~`, `torch.where`; not `and`, `not`, `if`",
    ),
    (r"Var\.__init__\(\)", 'a variable has a unit and a meaning: `Var("m", "height of the torso above the ground")`'),
    (r"^name 'torch' ", "write `import torch` at the top of the file"),
    (
        r"__init__\(\) .*positional",
        "nothing is passed to it: leave out `__init__` of a task; give an environment defaults or `env_options`",
    ),
    (
        r"unexpected keyword argument 'seed'",
        "begin it with `def reset(self, *, seed=None, options=None):` and `super().reset(seed=seed)`",
    ),
    (r"^No module named 'gym'$", "its successor is Gymnasium: `import gymnasium as gym`"),
    (r"^No module named '(\w+)'$", "install it, perhaps by `pip install` with that name"),
)
"""Messages of Python and torch for common mistakes, and the edit that fixes them."""


@contextmanager
def task_faults(path: Path, method: str = "", device: torch.device | None = None) -> Iterator[None]:
    """Turn an exception of task code into a `TaskError` with the method and the line, or with a refused file.

    `method` is the called one, for exceptions without a frame in the task file; `device` that of new tensors.
    """
    try:
        with nullcontext() if device is None or device.type == "cpu" else device:
            yield
    except TaskError as error:
        entry, line = _place(error, str(path))
        if line and not error.placed:
            error.message += f" (`{entry}` of {path.name}, line {line})" if entry else f" ({path.name}, line {line})"
            error.placed = True
        raise
    except Exception as error:
        entry, line = _place(error, str(path))
        where = f"`{entry or method}` of {path.name}" if entry or method else path.name
        at = f"{where} at line {line}" if line else where
        refused = _refused(error)
        if refused is not None:
            hint = f"to read it, name it or its folder in the class: `reads = ({refused!r},)`; a task writes no files"
            raise TaskError(f"the sandbox keeps {at} from {refused}", hint) from error
        text = f"{error.msg}: `{(error.text or '').strip()}`" if isinstance(error, SyntaxError) else f"{error}"
        message = f"{where} raised {type(error).__name__}{f' at line {line}' if line else ''}: {text}"
        raise TaskError(message, hint_for(error, path) or f"fix {path}") from error


def neighbour(path: Path, module: str) -> str:
    """Return a hint for a missing module if the module lies beside the task file, else an empty text."""
    top = module.partition(".")[0]
    names = [name for name in (f"{top}.py", top) if top and path.with_name(name).exists()]
    if not names:
        return ""
    hint = f"{names[0]} lies beside it, but is no installed package, and a task file is run by itself: copy what"
    return f"{hint} it needs into the task file, or install the project, as by `pip install -e .`"


def hint_for(error: Exception, path: Path) -> str:
    """Return the edit that fixes an error of a task file, or an empty text."""
    if isinstance(error, RewardgenError):
        return error.hint
    if isinstance(error, PermissionError) and error.errno == errno.EPERM:
        return "the sandbox lets it start no process and open no connection: do without, or run with `--sandbox off`"
    if isinstance(error, ModuleNotFoundError) and (near := neighbour(path, error.name or "")):
        return near
    offered = getattr(sys.modules.get("rewardgen"), "__all__", ())  # names that task files import
    if isinstance(error, NameError) and error.name in offered:
        return f"import it: `from rewardgen import {error.name}`"
    if isinstance(error, ImportError) and error.name == "rewardgen":
        name = re.search(r"cannot import name '(\w+)'", str(error))
        return did_you_mean(name[1], offered) if name else ""
    if isinstance(error, AttributeError) and error.name and error.obj is not None:
        close = nearest(error.name, [member for member in dir(error.obj) if member[0] != "_"], sure=True)
        return f"did you mean `{close}`?" if close else ""
    return next((hint for pattern, hint in _HINTS if re.search(pattern, str(error))), "")


def _place(error: Exception, path: str) -> tuple[str, int | None]:
    """Return the outermost function of the task file in the traceback, and the innermost line of the file."""
    if isinstance(error, SyntaxError):
        return "", error.lineno
    entry, line = "", None
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_filename == path:
            entry = entry or code.co_name.replace("<module>", "")
            line = trace.tb_lineno
        trace = trace.tb_next
    return entry, line


def _refused(error: BaseException | None) -> str | None:
    """Return the file that the sandbox refused to open although its mode allows reading."""
    while error is not None:
        if isinstance(error, PermissionError) and error.errno == errno.EACCES:
            name = error.filename
            if isinstance(name, str) and os.access(name, os.R_OK):
                return os.path.abspath(name)
        error = error.__cause__ or error.__context__
    return None
