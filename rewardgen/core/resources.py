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
SHIPPED = "shipped:"
"""What comes before the name of a model beside the shipped tasks."""
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


def model_asset(name: str) -> Path | None:
    """The file of a model that is found wherever a task file lies, or None for any other.

    Args:
        name: Such as `gymnasium:hopper.xml`, or `shipped:cartpole.xml` for one beside the shipped tasks.

    Raises:
        TaskError: There is no such model.
    """
    if name.startswith(SHIPPED):
        known = {path.name: path for path in shipped("envs").glob("*.xml")}
        return _one_of(known, name.removeprefix(SHIPPED), "rewardgen ships")
    return _gymnasium_asset(name.removeprefix(GYMNASIUM)) if name.startswith(GYMNASIUM) else None


def _gymnasium_asset(name: str) -> Path:
    models = gymnasium_models()
    if not models:
        raise TaskError(f"the model {GYMNASIUM}{name} needs Gymnasium", "pip install gymnasium")
    return _one_of(models, name, "Gymnasium has")


def _one_of(models: dict[str, Path], name: str, who: str) -> Path:
    if name not in models:
        raise TaskError(f"{who} no model `{name}`", did_you_mean(name, models))
    return models[name]
