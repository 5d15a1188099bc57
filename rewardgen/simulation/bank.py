"""A bank of transitions: inputs of rewards from short rollouts, on which the critic probes rewards without training."""

# MuJoCo's compiled modules carry no type stubs.
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import io
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from rewardgen.files import write_atomic
from rewardgen.simulation.card import trivial_policies
from rewardgen.simulation.episodes import Policy
from rewardgen.simulation.view import Draws, stream_keys
from rewardgen.simulation.worlds import DIVERGED, Worlds
from rewardgen.task import Task, load_task

WORLDS = 64
_SEED = 30_000_001
_PERTURBED_STARTS = 4

_UNLIMITED_SHIFT = {mujoco.mjtJoint.mjJNT_HINGE: (-math.pi, math.pi), mujoco.mjtJoint.mjJNT_SLIDE: (-0.5, 0.5)}
"""How far a joint without limits is moved, by its type [rad, m]."""

Transitions = dict[str, NDArray[np.float32]]
"""Reward input to its values, (M,) or (M, k)."""


def bank_job(payload: dict[str, Any], report: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """The worker job `bank`: {"task": reference, "path": .npz file} to {"transitions": how many}."""
    transitions = record_transitions(load_task(payload["task"]))
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **transitions)
    write_atomic(Path(payload["path"]), buffer.getvalue())
    return {"transitions": len(transitions["action"])}


def record_transitions(task: Task) -> Transitions:
    """Record what rewards read, where trivial policies go and well beyond it.

    A third comes from random actions, a sixth from none, the rest from random actions after starts anywhere between
    the usual ones and joint positions drawn over their whole ranges, so that a reward is also seen where only a trained
    policy gets. Transitions of diverged worlds are left out.

    Args:
        task: The task.

    Raises:
        TaskError: The task breaks its contract.
    """
    worlds = Worlds(task, [_SEED], WORLDS)
    policies = trivial_policies(worlds)
    rows = _record(worlds, worlds.reset(), policies["random"], steps=40, every=5)
    rows += _record(worlds, worlds.reset(), policies["zero"], steps=20, every=5)
    for number in range(_PERTURBED_STARTS):
        observation = worlds.reset()
        observation = worlds.place(*perturbed_state(worlds, number))
        rows += _record(worlds, observation, policies["random"], steps=6, every=2)
    return {name: np.concatenate([row[name] for row in rows]) for name in rows[0]}


def _record(worlds: Worlds, observation: Tensor, policy: Policy, steps: int, every: int) -> list[Transitions]:
    """Every so many steps' inputs, the first step's among them, where `prev_` equals the current value."""
    rows = []
    for number in range(steps):
        step = worlds.step(policy(observation))
        observation = step.observation
        if number % every == 0:
            sound = ~step.causes[DIVERGED]
            rows.append({name: value[sound].numpy().copy() for name, value in step.inputs.items()})
    return rows


def perturbed_state(worlds: Worlds, number: int) -> tuple[Tensor, Tensor]:
    """A state between each world's present one and a random one over the joints' whole ranges.

    Args:
        worlds: The worlds.
        number: Distinguishes the draws.

    Returns:
        Positions (N, nq) and velocities (N, nv).
    """
    indices = np.arange(worlds.num_worlds, dtype=np.uint64)
    draw = Draws(stream_keys(np.full_like(indices, _SEED), indices, np.full_like(indices, number)))
    model = worlds.view.model
    distance = draw.uniform(0.0, 1.0, 1)
    qpos = worlds.view.qpos.clone()
    for joint in range(model.njnt):
        _perturb(qpos, model, joint, distance, draw)
    return qpos, worlds.view.qvel + distance * draw.normal(2.0, model.nv)


def _perturb(qpos: Tensor, model: mujoco.MjModel, joint: int, distance: Tensor, draw: Draws) -> None:
    kind, start = mujoco.mjtJoint(model.jnt_type[joint]), int(model.jnt_qposadr[joint])
    if kind in (mujoco.mjtJoint.mjJNT_FREE, mujoco.mjtJoint.mjJNT_BALL):
        size = 7 if kind == mujoco.mjtJoint.mjJNT_FREE else 4
        part = slice(start, start + size)
        qpos[:, part] += distance * draw.normal(0.2, size)
        quaternion = slice(start + size - 4, start + size)
        qpos[:, quaternion] /= qpos[:, quaternion].norm(dim=1, keepdim=True)
        return
    limited = bool(model.jnt_limited[joint])
    low, high = model.jnt_range[joint].tolist() if limited else _UNLIMITED_SHIFT[kind]
    drawn = draw.uniform(low, high, 1)[:, 0]
    qpos[:, start] += distance[:, 0] * (drawn - qpos[:, start] if limited else drawn)
