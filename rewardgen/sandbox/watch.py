"""What a worker process uses, as seen from outside."""

from __future__ import annotations

import os
from pathlib import Path


def resident_bytes(pid: int) -> int:
    """Resident memory of a process and all its descendants [bytes]; 0 where `/proc` does not tell.

    Args:
        pid: The process.
    """
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except (OSError, IndexError, ValueError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE") + sum(resident_bytes(int(child)) for child in children)


def threads(pid: int) -> int:
    """Threads of a process and all its descendants; 0 where `/proc` does not tell.

    Args:
        pid: The process.
    """
    try:
        own = os.listdir(f"/proc/{pid}/task")
        children = [child for each in own for child in Path(f"/proc/{pid}/task/{each}/children").read_text().split()]
    except OSError:
        return 0
    return len(own) + sum(threads(int(child)) for child in children)
