"""`rewardgen mcp`: serve the commands to a coding agent. The protocols for it are extras."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from rewardgen.core.errors import UsageError
from rewardgen.core.registry import Registry

PROTOCOLS: Registry[Callable[[], None]] = Registry("protocol for agents")
Folder = Annotated[Path, Parameter(help="Working folder: relative paths begin here, and `runs/` lies here.")]


def mcp(*, folder: Folder = Path(".")) -> int:
    """Serve rewardgen to an agent by the Model Context Protocol, over stdin and stdout.

    An agent's program starts this command: docs/agents.md.
    """
    try:
        os.chdir(folder)
    except OSError as error:
        raise UsageError(f"cannot work in {folder}: {error.strerror}", "name an existing folder") from error
    PROTOCOLS.get("mcp")()
    return 0
