"""`python -m benchmarks gpu`: a generation on one device, against a process per candidate there, and all cores."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple, cast

import torch

from benchmarks.figures import Figure, Report, Say
from benchmarks.setups import setup_of
from benchmarks.stepping import random_actions
from benchmarks.trainers import task_settings, train_ours
from rewardgen.core.config import Device
from rewardgen.core.errors import MachineError
from rewardgen.core.files import write_atomic
from rewardgen.core.provenance import usable_cores
from rewardgen.sim.mujoco_env import MujocoVecEnv
from rewardgen.store.records import SliceSpec
from rewardgen.tasks.loading import load_task
from rewardgen.tasks.mujoco_task import MujocoTask
from rewardgen.training.ppo.settings import PpoSettings

_STEPS = 20
"""Control steps that are timed."""
_WIDTH, _HEIGHT, _EDGE = 360, 240, 44
_COLOURS = ("#0072b2", "#d55e00", "#009e73")
_NOTES = (
    "One batch: all slices of a generation in one process. A process each: one per candidate, all at the same time.",
    "Each side has the settings of its device, starts of processes, loading of kernels and evaluations"
    " included; compiling is not.",
)


class GpuOptions(NamedTuple):
    """Options of the measurement.

    Attributes:
        task: Name of a task with a setup.
        num_envs: Numbers of envs to step.
        candidates: Numbers of candidates to train at a time.
        seeds: Numbers of seeds of each.
        env_steps: Control steps of each slice; those of the task, as the device has them, if None.
    """

    task: str = "hopper"
    num_envs: tuple[int, ...] = (64, 1024, 4096, 16_384, 49_152)
    candidates: tuple[int, ...] = (1, 4, 16)
    seeds: tuple[int, ...] = (1, 3)
    env_steps: int | None = None

    def quick(self) -> GpuOptions:
        """The same, so small that it says only that all of it works."""
        return self._replace(task="cartpole", num_envs=(2, 4), candidates=(2,), seeds=(1,), env_steps=1024)


def bench_gpu(options: GpuOptions, say: Say, plot: Path | None = None) -> Report:
    """Measure stepping and training on a GPU; without one on MuJoCo Warp's CPU device, which says nothing of a GPU.

    Args:
        options: What to measure.
        say: Told what goes on.
        plot: Where to draw it, an SVG file.

    Raises:
        UsageError: There is no setup for the task.
        MachineError: MuJoCo Warp is not installed.
    """
    device: Device = "cuda" if torch.cuda.is_available() else "warp-cpu"
    kinds: tuple[Device, ...] = (device, "cpu")
    stepped = {f"steps, {kind}": _all_stepped(options, kind, say) for kind in kinds}
    trained: dict[str, list[tuple[int, float]]] = {}
    for seeds in options.seeds:
        for each in (_one_batch, _a_process_each):
            _hourly(options, each, 1, 1, device, say)  # kernels are compiled, parents of workers are warm
            name = f"{_said(each)}, {device}, {seeds} seeds"
            trained[name] = [(k, _hourly(options, each, k, seeds, device, say)) for k in options.candidates]
        name = f"all cores, cpu, {seeds} seeds"
        trained[name] = [(k, _hourly(options, _one_batch, k, seeds, "cpu", say)) for k in options.candidates]
    if plot:
        write_atomic(
            plot, drawn({"control steps per second, by envs": stepped, "candidates per hour": trained}).encode()
        )
    return Report(
        bench="gpu",
        settings={"task": options.task, "device": device, "cores": usable_cores()},
        figures=(*_figures(stepped, "envs", "/s"), *_figures(trained, "candidates", "per hour")),
        notes=_NOTES,
    )


def _all_stepped(options: GpuOptions, device: Device, say: Say) -> list[tuple[int, float]]:
    """Control steps per second by numbers of envs, without those that the device's memory has no room for."""
    found: list[tuple[int, float]] = []
    for num_envs in options.num_envs:
        try:
            found.append((num_envs, _stepped(options.task, num_envs, device, say)))
        except MachineError as error:
            say(f"left out: {error.message}")
    return found


def _stepped(task: str, num_envs: int, device: Device, say: Say) -> float:
    """Control steps per second of all envs, random actions, reading of variables and episodes' ends included."""
    say(f"stepping {num_envs} envs of {task} on {device}")
    loaded = cast(MujocoTask, load_task(task))
    envs = MujocoVecEnv(loaded, loaded.make_simulator(num_envs, usable_cores(), device), [0])
    envs.reset(staggered=True)
    for segment in range(2):  # the first one warms up
        actions = random_actions(envs, segment, _STEPS)
        began = time.perf_counter()
        last = [envs.step(action) for action in actions][-1]
        last.observation.sum().item()  # waits for the device
        seconds = time.perf_counter() - began
    return _STEPS * num_envs / seconds


Way = Callable[[str, PpoSettings, int, int], None]


def _one_batch(task: str, settings: PpoSettings, candidates: int, seeds: int) -> None:
    rewards = setup_of(task).rewards(candidates)
    slices = [SliceSpec(candidate_id=each.candidate_id, seed=seed) for each in rewards for seed in range(seeds)]
    train_ours(task, settings, rewards, slices, usable_cores())


def _a_process_each(task: str, settings: PpoSettings, candidates: int, seeds: int) -> None:
    with ThreadPoolExecutor(candidates) as pool:
        list(pool.map(lambda _: _one_batch(task, settings, 1, seeds), range(candidates)))


def _said(way: Way) -> str:
    return "one batch" if way is _one_batch else "a process each"


def _hourly(options: GpuOptions, way: Way, candidates: int, seeds: int, device: Device, say: Say) -> float:
    """Candidates trained per hour."""
    say(f"training {candidates} candidates x {seeds} seeds on {device}, {_said(way)}")
    settings = task_settings(options.task).on(device)
    if options.env_steps:
        settings = settings.model_copy(update={"env_steps": options.env_steps, "evaluation_phases": 1})
    began = time.perf_counter()
    way(options.task, settings, candidates, seeds)
    return 3600.0 * candidates / (time.perf_counter() - began)


Curves = dict[str, list[tuple[int, float]]]


def _figures(curves: Curves, of: str, unit: str) -> list[Figure]:
    return [
        Figure(name=name, subject=f"{number} {of}", unit=unit, values=(value,))
        for name, points in curves.items()
        for number, value in points
    ]


def drawn(panels: dict[str, Curves]) -> str:
    """Curves side by side, both axes logarithmic, as SVG.

    Args:
        panels: Title to name of a curve to its points.
    """
    parts = [_panel(number * _WIDTH, title, curves) for number, (title, curves) in enumerate(panels.items())]
    size = f'width="{_WIDTH * len(panels)}" height="{_HEIGHT}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="10">{"".join(parts)}</svg>'
    )


def _panel(left: int, title: str, curves: Curves) -> str:
    points = torch.tensor([point for each in curves.values() for point in each], dtype=torch.float64).log()
    low, span = points.amin(0), (points.amax(0) - points.amin(0)).clamp(min=1e-9)

    def place(point: Sequence[float]) -> tuple[float, float]:
        x, y = ((torch.tensor(point, dtype=torch.float64).log() - low) / span).tolist()
        return left + _EDGE + x * (_WIDTH - 2 * _EDGE), _HEIGHT - _EDGE - y * (_HEIGHT - 2 * _EDGE)

    found = [f'<text x="{left + _EDGE}" y="14" font-weight="bold">{title}</text>']
    for number, (name, curve) in enumerate(curves.items()):
        colour = _COLOURS[number % len(_COLOURS)]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in map(place, curve))
        dash = ' stroke-dasharray="4 3"' if number >= len(_COLOURS) else ""
        found.append(f'<polyline points="{line}" fill="none" stroke="{colour}"{dash}/>')
        for point in curve:
            x, y = place(point)
            label = f"{point[0]}: {point[1]:.3g}"
            found.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="{colour}"><title>{label}</title></circle>')
        found.append(f'<text x="{left + _EDGE}" y="{26 + 11 * number}" fill="{colour}">{name}</text>')
    for (number, value), anchor in ((min(curve), "start"), (max(curve), "end")):
        x, y = place((number, value))
        found.append(f'<text x="{x:.1f}" y="{_HEIGHT - 18}" text-anchor="{anchor}">{number}</text>')
        found.append(f'<text x="{x:.1f}" y="{y - 6:.1f}" text-anchor="{anchor}">{value:.3g}</text>')
    return "".join(found)
