"""What a training worker is given, and the files that it leaves: their names, and how they are taken over."""

from __future__ import annotations

import os
from pathlib import Path

from pydantic import SerializeAsAny

from rewardgen.core.files import read_plain, write_atomic
from rewardgen.core.schema import Frozen
from rewardgen.store.records import RewardSpec, SliceSpec, TrainerSettings


class TrainJob(Frozen):
    """What one training worker does: all its slices in one batch."""

    task: str
    rewards: tuple[RewardSpec, ...]
    slices: tuple[SliceSpec, ...]
    settings: SerializeAsAny[TrainerSettings]
    folder: str
    """Where the policies are written, under `policy_names`."""
    kernels: str | None = None
    """Folder of what was compiled for the settings' device, if that needs any."""
    stop_hacking: bool = False
    """Whether to stop slices whose reward rises while their fitness falls."""


def policy_names(spec: SliceSpec) -> tuple[str, str]:
    """Names of a slice's policy files: the final one, and the one of the evaluation phase before."""
    stem = f"{spec.candidate_id}-s{spec.seed}"
    return f"{stem}.npz", f"{stem}-prev.npz"


def episodes_name(spec: SliceSpec) -> str:
    """Name of a slice's file of kept episodes."""
    return f"{spec.candidate_id}-s{spec.seed}-episodes.npz"


def take_policies(spec: SliceSpec, left: Path, kept: Path, most: int) -> str:
    """Copy the policy files of a slice to where no training worker can change them. What is in them is checked later.

    Args:
        spec: The slice.
        left: Folder that the training left.
        kept: Folder for the copies.
        most: Largest size of a file [bytes].

    Returns:
        Why the final policy cannot be taken; empty if it was.

    Raises:
        RunFolderError: The copies cannot be written.
    """
    final, before = policy_names(spec)
    found = [name for name in (final, before) if os.path.lexists(left / name)]
    problems = {name: _copy(left / name, kept / name, most) for name in found}
    return next(filter(None, problems.values()), "" if final in problems else "there is no such file")


def _copy(path: Path, to: Path, most: int) -> str:
    """Copy a plain file of bounded size, or say why not."""
    try:
        content = read_plain(path, most)
    except OSError as error:
        return f"it cannot be read: {error.strerror or error}"
    write_atomic(to, content)
    return ""
