"""What a worker uses, as seen from outside."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple


class FolderUse(NamedTuple):
    """What is in a folder and all below it."""

    size: int
    """Bytes on the disk."""
    entries: int


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


def folder_use(folder: Path, most: int) -> FolderUse:
    """Look through a folder that somebody else may be changing, and may have filled so that this takes long.

    Args:
        folder: The folder.
        most: Looking ends after more than so many entries.
    """
    size = entries = 0
    waiting = [str(folder)]
    while waiting and entries <= most:
        try:
            with os.scandir(waiting.pop()) as found:
                for entry in found:
                    entries += 1
                    if entries > most:
                        break
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    size += 512 * entry.stat(follow_symlinks=False).st_blocks
        except OSError:
            continue
    return FolderUse(size, entries)
