"""Prompt templates as text: the shipped ones, and a user's replacements."""

from __future__ import annotations

import errno
import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from rewardgen.core.errors import UsageError, did_you_mean
from rewardgen.core.files import read_plain
from rewardgen.core.resources import shipped

ENDING = ".md.j2"
_MOST_ENTRIES, _MOST_BYTES = 1000, 4 << 20
"""Files and folders in a folder of templates, and bytes of all templates together."""


@dataclass(frozen=True, eq=False)
class Templates:
    """Templates by name, such as `designer/draft`.

    Attributes:
        sources: Name to text.
        own: Names of the user's templates.
        place: Folder of the user's templates.
    """

    sources: Mapping[str, str]
    own: frozenset[str] = frozenset()
    place: Path | None = None

    def file(self, name: str) -> Path:
        """Return the path of a template, which may not exist."""
        folder = self.place if self.place is not None and name in self.own else shipped("prompts")
        return folder / (name + ENDING)


@cache
def shipped_templates() -> Templates:
    """Return the templates of the package."""
    return Templates(_read(shipped("prompts")))


def with_own(folder: Path) -> Templates:
    """Return the shipped templates, replaced by a user's of the same name.

    Raises:
        UsageError: The folder holds no template, or one that cannot be read.
    """
    try:
        texts = _read(folder)
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8"
        raise UsageError(f"cannot read the prompts in {folder}: {reason}", "give a folder of text files") from error
    if not texts:
        eject = shlex.join(["rewardgen", "prompts", "--eject", str(folder)])
        raise UsageError(f"there is no prompt in {folder}, where files end in `{ENDING}`", f"copy some with `{eject}`")
    return Templates({**shipped_templates().sources, **texts}, frozenset(texts), folder)


def _read(folder: Path) -> dict[str, str]:
    """Read the templates in a folder; a stranger's run may name any folder, and links are not followed."""
    paths: list[Path] = []
    entries, room, texts = 0, _MOST_BYTES, {}
    for place, folders, files in os.walk(folder):
        entries += len(folders) + len(files)
        if entries > _MOST_ENTRIES:
            raise OSError(errno.EFBIG, f"it holds more than {_MOST_ENTRIES:,} files and folders", str(folder))
        paths += [Path(place, file) for file in files if file.endswith(ENDING)]
    for path in sorted(paths):
        content = read_plain(path, room)
        room -= len(content)
        texts[path.relative_to(folder).as_posix().removesuffix(ENDING)] = content.decode()
    return texts


def unknown(name: str, templates: Templates) -> UsageError:
    """Return the error for an unknown name."""
    return UsageError(f"there is no prompt `{name}`", did_you_mean(name, templates.sources))
