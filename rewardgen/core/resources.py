"""Where things are: the shipped `envs/` and `prompts/`, and the models of Gymnasium and the DeepMind Control Suite.

The shipped folders are beside the package in a checkout, inside it in an installed wheel.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Literal, NamedTuple

from rewardgen.core.errors import TaskError, did_you_mean
from rewardgen.core.extras import install_hint


class _Package(NamedTuple):
    """An installed package with models."""

    owner: str
    folder: str
    install: str


PACKAGES = {
    "gymnasium:": _Package("Gymnasium", "envs/mujoco/assets", "pip install gymnasium"),
    "dm_control:": _Package("the DeepMind Control Suite", "suite", install_hint("dm-control")),
}
"""What comes before the name of a package's model, to where it is."""
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


def shipped_task_files() -> list[Path]:
    """The shipped task files by name, from the folders of those that belong together; not the traps."""
    found = [path for path in shipped("envs").glob("*/*.py") if path.parent.name != "traps"]
    return sorted(found, key=lambda path: path.stem)


def package_models(prefix: str) -> dict[str, Path]:
    """Name to file of a package's MuJoCo models; empty where it is not installed. Does not import it.

    Args:
        prefix: One of `PACKAGES`.
    """
    spec = find_spec(prefix.removesuffix(":"))
    if spec is None or spec.origin is None:
        return {}
    folder = Path(spec.origin).parent / PACKAGES[prefix].folder
    return {path.name: path for path in sorted(folder.glob("*.xml"))}


def model_asset(name: str) -> Path | None:
    """The file of a model that is found wherever a task file lies, or None for any other.

    Args:
        name: Such as `gymnasium:hopper.xml`, `dm_control:cheetah.xml`, or `shipped:cartpole.xml` for one beside the
            shipped tasks.

    Raises:
        TaskError: There is no such model.
    """
    if name.startswith(SHIPPED):
        known = {path.name: path for path in shipped("envs").glob("*/*.xml")}
        return _one_of(known, name.removeprefix(SHIPPED), "rewardgen ships")
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
