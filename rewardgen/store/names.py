"""Valid names. They become parts of paths and commands, and come from files that anybody may have written.

Ids and file names have no separator and no leading dot or dash, so no event of a run can name a place outside it.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

_CANDIDATE_ID = "^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$"
CandidateId = Annotated[str, Field(pattern=_CANDIDATE_ID)]
FileName = Annotated[str, Field(pattern="^[A-Za-z0-9_][A-Za-z0-9_.-]{0,254}$")]
"""Name of a file or folder, such as a run's."""
Digest = Annotated[str, Field(pattern="^[0-9a-f]{0,64}$")]
BaselineId = Literal["human", "sparse"]
"""Ids of the task's own rewards, used like candidate ids."""


def _absolute(path: str) -> str:
    if not Path(path).is_absolute() or not path.isprintable():
        raise ValueError("not an absolute path")
    return path


AbsolutePath = Annotated[str, AfterValidator(_absolute)]


def is_candidate_id(name: str) -> bool:
    """True if a name is a valid candidate id."""
    return bool(re.fullmatch(_CANDIDATE_ID, name))
