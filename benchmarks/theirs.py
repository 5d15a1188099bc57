"""Stable-Baselines3 as a contender: a process for each core, each training its slices one after the other."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.contender import contenders
from benchmarks.curves import Point
from benchmarks.ours import slice_name
from benchmarks.setups import Sb3Settings
from rewardgen.store.records import RewardSpec, SliceSpec


def train_sb3(
    task: str,
    settings: Sb3Settings,
    rewards: Sequence[RewardSpec],
    slices: Sequence[SliceSpec],
    workers: int,
    *,
    steps: int,
    evaluate_every: int,
    episodes: int,
    target: float | None = None,
) -> dict[str, list[Point]]:
    """Train slices with Stable-Baselines3.

    Args:
        task: Name of the task.
        settings: How its PPO is set up.
        rewards: The candidates.
        slices: Their slices.
        workers: Processes.
        steps: Control steps of each slice at most.
        evaluate_every: Control steps between two evaluations.
        episodes: Episodes per evaluation.
        target: A slice that reaches this fitness is finished.

    Returns:
        Name of a slice to its evaluations; seconds count from the slice's own beginning, imports excluded.
    """
    constants = {each.candidate_id: each.tunables for each in rewards}
    parts = [part for number in range(workers) if (part := list(slices)[number::workers])]
    asked = {"settings": settings._asdict(), "steps": steps, "evaluate_every": evaluate_every, "episodes": episodes}
    curves: dict[str, list[Point]] = {}
    with contenders({f"process {number}": "sb3-training" for number in range(len(parts))}) as found:
        for process, part in zip(found.values(), parts, strict=True):
            own = [{"constants": constants[each.candidate_id], "seed": each.seed} for each in part]
            process.begin("train", task=task, slices=own, target=target, **asked)
        for process, part in zip(found.values(), parts, strict=True):
            measured = process.answer()["curves"]
            curves |= {
                slice_name(each): [Point(*point) for point in curve] for each, curve in zip(part, measured, strict=True)
            }
    return curves
