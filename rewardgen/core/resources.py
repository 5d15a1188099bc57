"""Paths of the shipped `envs/` and `prompts/`, and of models of Gymnasium and the DeepMind Control Suite.

The shipped folders are beside the package in a checkout, and inside it in an installed wheel.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Literal, NamedTuple

from rewardgen.core.errors import TaskError, did_you_mean
from rewardgen.core.extras import install_hint


class _Package(NamedTuple):
    owner: str
    folder: str
    install: str


PACKAGES = {
    "gymnasium:": _Package("Gymnasium", "envs/mujoco/assets", "pip install gymnasium"),
    "dm_control:": _Package("the DeepMind Control Suite", "suite", install_hint("dm-control")),
}
"""Prefix of a model's name to the package with the model."""
SHIPPED = "shipped:"
"""Prefix of a model beside the shipped tasks."""
PACKAGE = Path(__file__).resolve().parents[1]


def shipped(folder: Literal["envs", "prompts"]) -> Path:
    """Return the folder of the shipped task files or prompt templates."""
    installed = PACKAGE / folder
    return installed if installed.is_dir() else PACKAGE.parent / folder


def shipped_task_files() -> list[Path]:
    """Return the shipped task files in the order of their names."""
    return sorted(shipped("envs").glob("*/*.py"), key=lambda path: path.stem)


def package_models(prefix: str) -> dict[str, Path]:
    """Return the MuJoCo models of a package by file name, without importing it; empty if it is not installed."""
    spec = find_spec(prefix.removesuffix(":"))
    if spec is None or spec.origin is None:
        return {}
    folder = Path(spec.origin).parent / PACKAGES[prefix].folder
    return {path.name: path for path in sorted(folder.glob("*.xml"))}


def model_asset(name: str) -> Path | None:
    """Return the file of a model with a known prefix, such as `gymnasium:hopper.xml`; None for a path.

    Raises:
        TaskError: The model is unknown.
    """
    if name.startswith(SHIPPED):
        models = {path.name: path for path in shipped("envs").glob("*/*.xml")}
        return _one_of(models, name.removeprefix(SHIPPED), "rewardgen ships")
    for prefix, package in PACKAGES.items():
        if name.startswith(prefix):
            if not (models := package_models(prefix)):
                raise TaskError(f"the model {name} needs {package.owner}", package.install)
            return _one_of(models, name.removeprefix(prefix), f"{package.owner} has")
    return None


def _one_of(models: dict[str, Path], name: str, who: str) -> Path:
    if name not in models:
        raise TaskError(f"{who} no model `{name}`", did_you_mean(name, models))
    return models[name]
