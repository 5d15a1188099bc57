"""MuJoCo models: finding and compiling them, and what their actuators are called and accept."""

# MuJoCo's compiled modules carry no type stubs.
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import mujoco
import torch
from torch import Tensor

from rewardgen.core.errors import TaskError, did_you_mean

_GYMNASIUM = "gymnasium:"


def load_model(path: Path) -> mujoco.MjModel:
    """Compile a model.

    MuJoCo's automatic reset of a diverged simulation is switched off, so that a divergence can be seen.

    Args:
        path: The MJCF file.

    Raises:
        TaskError: The file does not compile, or an actuator has no control range.
    """
    # MuJoCo would log each warning to a file in the working folder; `CpuSimulator` tells of divergences by itself.
    mujoco.set_mju_user_warning(lambda message: None)
    try:
        model = mujoco.MjModel.from_xml_path(str(path))
    except ValueError as error:
        raise TaskError(f"{path.name} does not compile: {' '.join(str(error).split())}", f"fix {path}") from error
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_AUTORESET)
    _check_actuators(model, path)
    return model


def find_model(name: object, task_file: Path) -> Path:
    """The file of a model that a task file names.

    Args:
        name: A file relative to the task file, or `gymnasium:` and the name of one of Gymnasium's assets.
        task_file: The task file.

    Raises:
        TaskError: It names no model, or there is no such file.
    """
    if not isinstance(name, str):
        raise TaskError(f"{task_file.name} names no model", 'set `model = "robot.xml"`, a file beside it, in the class')
    if name.startswith(_GYMNASIUM):
        return _gymnasium_asset(name.removeprefix(_GYMNASIUM))
    path = task_file.parent / name
    if not path.is_file():
        raise TaskError(
            f"there is no model file {path}", f"`model` in {task_file.name} is relative to the task file's folder"
        )
    return path


def included_files(path: Path) -> tuple[Path, ...]:
    """A model's file and all that it includes, wherever that is; empty for a model that cannot be read."""
    try:
        return tuple(Path(each) for each in mujoco.mju_getXMLDependencies(str(path)))
    except mujoco.FatalError:
        return ()


def _gymnasium_asset(name: str) -> Path:
    spec = find_spec("gymnasium")
    if spec is None or spec.origin is None:
        raise TaskError(f"the model {_GYMNASIUM}{name} needs Gymnasium", "pip install gymnasium")
    folder = Path(spec.origin).parent / "envs" / "mujoco" / "assets"
    if not (folder / name).is_file():
        assets = [path.name for path in folder.glob("*.xml")]
        raise TaskError(f"Gymnasium has no model `{name}`", did_you_mean(name, assets))
    return folder / name


def _check_actuators(model: mujoco.MjModel, path: Path) -> None:
    if model.nu == 0:
        raise TaskError(f"{path.name} has no actuator", "add an <actuator> section: the policy acts through it")
    free = [name for name, limited in zip(action_parts(model), model.actuator_ctrllimited, strict=True) if not limited]
    if free:
        raise TaskError(
            f"{path.name} has actuators without a control range: {', '.join(free)}",
            'give each a range: `ctrllimited="true" ctrlrange="-1 1"`',
        )


def action_parts(model: mujoco.MjModel) -> tuple[str, ...]:
    """Names of the actuators, in order; one without a name is called after the joint it drives."""
    return tuple(model.actuator(index).name or _driven(model, index) for index in range(model.nu))


def _driven(model: mujoco.MjModel, index: int) -> str:
    joint = mujoco.mjtTrn.mjTRN_JOINT
    if model.actuator_trntype[index] == joint:
        return model.joint(int(model.actuator_trnid[index, 0])).name or f"actuator_{index}"
    return f"actuator_{index}"


def action_range(model: mujoco.MjModel, device: torch.device) -> tuple[Tensor, Tensor]:
    """Lowest and highest control of each actuator, (A,) float32 each."""
    limits = torch.tensor(model.actuator_ctrlrange, dtype=torch.float32, device=device)
    return limits[:, 0].contiguous(), limits[:, 1].contiguous()
