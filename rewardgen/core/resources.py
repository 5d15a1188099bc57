"""Where the shipped `envs/` and `prompts/` are: beside the package in a checkout, inside it in an installed wheel."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

PACKAGE = Path(__file__).resolve().parents[1]
"""The folder of this package."""


def shipped(folder: Literal["envs", "prompts"]) -> Path:
    """The folder of the shipped task files or prompt templates.

    Args:
        folder: Which one.
    """
    installed = PACKAGE / folder
    return installed if installed.is_dir() else PACKAGE.parent / folder
