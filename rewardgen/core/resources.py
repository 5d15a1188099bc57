"""Where things are: the shipped `envs/` and `prompts/`, and Gymnasium's models.

The shipped folders are beside the package in a checkout, inside it in an installed wheel.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from rewardgen.core.errors import TaskError, did_you_mean

GYMNASIUM = "gymnasium:"
"""What comes before the name of one of Gymnasium's models."""
PACKAGE = Path(__file__).resolve().parents[1]
"""The folder of this package."""


def shipped(folder: Literal["envs", "prompts"]) -> Path:
    """The folder of the shipped task files or prompt templates.

    Args:
        folder: Which one.
    """
    installed = PACKAGE / folder
    return installed if installed.is_dir() else PACKAGE.parent / folder


def gymnasium_models() -> dict[str, Path]:
    """Name to file of Gymnasium's MuJoCo models; empty where it is not installed."""
    spec = find_spec("gymnasium")
    if spec is None or spec.origin is None:
        return {}
    folder = Path(spec.origin).parent / "envs" / "mujoco" / "assets"
    return {path.name: path for path in sorted(folder.glob("*.xml"))}


def gymnasium_asset(name: str) -> Path:
    """The file of one of Gymnasium's models.

    Args:
        name: Its file name, such as `hopper.xml`.

    Raises:
        TaskError: Gymnasium is not installed, or has no such model.
    """
    models = gymnasium_models()
    if not models:
        raise TaskError(f"the model {GYMNASIUM}{name} needs Gymnasium", "pip install gymnasium")
    if name not in models:
        raise TaskError(f"Gymnasium has no model `{name}`", did_you_mean(name, models))
    return models[name]
