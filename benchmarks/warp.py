"""Agreement of MuJoCo Warp with MuJoCo on the CPU: the same envs, the same actions, and no episodes.

Physics with contacts is chaotic: a difference grows until the motions are two different ones. So what can be asked of a
simulator in single precision is what MuJoCo itself keeps to when its states are rounded to single precision.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import mujoco
import torch
from torch import Tensor

from benchmarks.figures import Figure, Report, Say
from rewardgen.core.config import Device
from rewardgen.core.errors import UsageError
from rewardgen.sim.mujoco_cpu import CpuSimulator
from rewardgen.sim.protocol import MUJOCO_CPU, Simulator
from rewardgen.tasks.loading import load_task, shipped_tasks
from rewardgen.tasks.mujoco_task import MujocoTask

HORIZONS = (1, 10, 100)
"""Control steps after which the states are compared."""
NUM_ENVS = 8
_FACTOR, _FLOOR = 3.0, 0.005
"""Largest error of the median env: this multiple of MuJoCo's own worst env, plus this share of the spread."""
_LEAST_SPREAD = 0.01
"""In SI units: what hardly moves need not agree more closely for that."""


class Agreement(NamedTuple):
    """Largest difference of a position or velocity from MuJoCo's, relative to its spread, up to each of `HORIZONS`.

    Attributes:
        warp: Of MuJoCo Warp, of each env, (horizons, N).
        rounded: Of MuJoCo when its states are rounded to single precision before every control step, likewise. Its
            solver is Newton, as MuJoCo Warp's, also where the model says PGS.
        lost: Envs that diverged, or in whose steps MuJoCo Warp left contacts out.
    """

    warp: Tensor
    rounded: Tensor
    lost: int


def batched_tasks() -> list[str]:
    """The shipped tasks that MuJoCo Warp could simulate."""
    found = {name: load_task(name) for name in shipped_tasks()}
    return [name for name, task in found.items() if isinstance(task, MujocoTask) and task.simulator == MUJOCO_CPU]


def agreement_of(task: MujocoTask, device: Device, num_envs: int = NUM_ENVS) -> Agreement:
    """Step the envs of a task by both simulators, from an episode's beginning, by random actions.

    Args:
        task: The task.
        device: `cuda` or `warp-cpu`.
        num_envs: How many.
    """
    cpu, warp = task.make_simulator(num_envs), task.make_simulator(num_envs, device=device)
    start = _starts(task, num_envs)
    low, high = cpu.action_low, cpu.action_high
    draw = torch.Generator().manual_seed(0)
    actions = low + (high - low) * torch.rand((HORIZONS[-1], num_envs, len(low)), generator=draw)
    exact = _motion(cpu, start, actions)
    spread = exact.flatten(0, 1).std(0).clamp(min=_LEAST_SPREAD)
    model = copy.copy(cpu.model)
    model.opt.solver = mujoco.mjtSolver.mjSOL_NEWTON
    lost = torch.zeros(num_envs, dtype=torch.bool)
    found = [_motion(warp, start, actions, lost)]
    found.append(_motion(CpuSimulator(model, num_envs, task.frame_skip), start, actions, rounded=True))
    off = [((each - exact).abs() / spread).amax(2) for each in found]
    by_warp, by_cpu = (torch.stack([each[:steps].amax(0) for steps in HORIZONS]) for each in off)
    return Agreement(by_warp, by_cpu, int(lost.sum()))


def _starts(task: MujocoTask, num_envs: int) -> list[Tensor]:
    """Positions, velocities, and the places of mocap bodies if there are any, at the beginning of episodes."""
    envs = task.make_envs([0], num_envs)
    envs.reset()
    view = envs.view
    states = [view.qpos.clone(), view.qvel.clone()]
    if view.model.nmocap:
        states.append(torch.cat((view.field("mocap_pos"), view.field("mocap_quat")), 2))
    return states


def _motion(
    sim: Simulator, start: Sequence[Tensor], actions: Tensor, lost: Tensor | None = None, *, rounded: bool = False
) -> Tensor:
    """Positions and velocities after each control step, (steps, N, nq + nv); notes the envs that diverged, (N,)."""
    sim.reset(torch.arange(sim.num_envs, device=sim.device), *(each.to(sim.device) for each in start))
    states, found = [sim.field("qpos"), sim.field("qvel")], []
    for action in actions.to(sim.device):
        for each in states if rounded else ():
            each.copy_(each.float())
        sim.step(action)
        if lost is not None:
            lost |= sim.restore_diverged().cpu()
        found.append(torch.cat(states, 1).cpu())
    return torch.stack(found)


def bench_warp(tasks: Sequence[str], say: Say) -> Report:
    """Measure the agreement of both simulators, on a GPU if there is one.

    Args:
        tasks: Names of tasks; all that MuJoCo Warp could simulate if there are none.
        say: Told what goes on.

    Raises:
        TaskError: There is no such task.
        UsageError: MuJoCo Warp would not simulate a task.
        MachineError: MuJoCo Warp is not installed.
    """
    device: Device = "cuda" if torch.cuda.is_available() else "warp-cpu"
    figures, notes = [], list(_NOTES)
    for name in tasks or batched_tasks():
        say(f"stepping {name}")
        task = load_task(name)
        if not isinstance(task, MujocoTask):
            raise UsageError(f"{name} has no MuJoCo model", "leave this task out")
        found = agreement_of(task, device)
        figures += _figures(name, found)
        if found.lost:
            notes.append(f"{name}: {found.lost} of {NUM_ENVS} envs diverged, or lacked room for their contacts")
    settings = {"device": device, "num_envs": NUM_ENVS, "factor": _FACTOR, "floor": _FLOOR}
    return Report(bench="warp", settings=settings, figures=tuple(figures), notes=tuple(notes))


_NOTES = (
    "Largest difference of a position or velocity from MuJoCo's, relative to its spread: middle env [best, worst].",
    "MuJoCo rounded: MuJoCo itself, its states rounded to single precision before every control step,"
    " its solver Newton.",
    f"Target: {_FACTOR:g} times the worst env of MuJoCo rounded, and {_FLOOR:g}.",
)


def _figures(name: str, found: Agreement) -> Iterator[Figure]:
    for row, steps in enumerate(HORIZONS):
        when = "1 step" if steps == 1 else f"{steps} steps"
        by_warp, by_cpu = (tuple(each[row].tolist()) for each in (found.warp, found.rounded))
        limit = _FACTOR * max(by_cpu) + _FLOOR
        yield Figure(name=f"Warp, {when}", subject=name, unit="", values=by_warp, target=limit, at_most=True)
        yield Figure(name=f"MuJoCo rounded, {when}", subject=name, unit="", values=by_cpu)
