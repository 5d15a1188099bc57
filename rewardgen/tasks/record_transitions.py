"""A bank of transitions: inputs of rewards from short rollouts, on which the critic probes rewards without training."""

# MuJoCo's compiled modules carry no type stubs.
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import mujoco
import numpy as np
import torch
from torch import Tensor

from rewardgen.sim.contract import require, tensor_problems
from rewardgen.sim.episodes import Policy, trivial_policies
from rewardgen.sim.faults import task_faults
from rewardgen.sim.transitions import SOURCES, Source, TransitionFacts, TransitionSet
from rewardgen.sim.variables import Wrap, variables_of
from rewardgen.sim.vec_env import DIVERGED, Step, VecEnv
from rewardgen.sim.view import Draws, stream_keys
from rewardgen.tasks.implied import implied_invariances, implied_pairs
from rewardgen.tasks.protocol import Task

_SEED = 30_000_001
_MANY, _FEW = 32, 8
_RANDOM_STEPS = 40
_ZERO_STEPS = 60
_PERTURBED_STARTS, _PERTURBED_STEPS = 8, 6
_SCRIPTED_STEPS = 300
_EXPERT_WORLDS = 4
_EXPERT_NOISE = 0.2
"""Standard deviation of what is added to the actions of every other expert, in units of half the action range."""

_UNLIMITED_SHIFT = {mujoco.mjtJoint.mjJNT_HINGE: (-math.pi, math.pi), mujoco.mjtJoint.mjJNT_SLIDE: (-0.5, 0.5)}
"""How far a joint without limits is moved, by its type [rad, m]."""


def record_transitions(task: Task, expert: Policy | None = None) -> TransitionSet:
    """Record what rewards read, where simple policies go and well beyond it.

    Whole short rollouts with random actions, with none, by the task's `scripted` controller and by an expert policy if
    there are such, and with random actions after starts anywhere between the usual ones and joint positions drawn over
    their whole ranges, so that a reward is also seen where only a trained policy gets. Transitions of diverged worlds
    are left out.

    Args:
        task: The task.
        expert: A policy that gets on with the task.

    Raises:
        TaskError: The task breaks its contract.
    """
    many, few = task.make_envs([_SEED], _MANY), task.make_envs([_SEED + 1], _FEW)
    pieces = [_roll(many, many.reset(), trivial_policies(many)["random"], "random", _RANDOM_STEPS)]
    pieces.append(_roll(few, few.reset(), trivial_policies(few)["zero"], "zero", _ZERO_STEPS))
    if hasattr(task, "scripted"):
        steps = min(task.episode_steps, _SCRIPTED_STEPS)
        pieces.append(_roll(few, few.reset(), scripted_policy(few), "scripted", steps))
    if expert is not None:
        own = task.make_envs([_SEED + 2], _EXPERT_WORLDS)
        steps = min(task.episode_steps, _SCRIPTED_STEPS)
        pieces.append(_roll(own, own.reset(), _unsteady(own, expert), "expert", steps))
    noise = trivial_policies(many)["random"]
    for number in range(_PERTURBED_STARTS):
        many.reset()
        observation = many.place(*perturbed_state(many, number))
        pieces.append(_roll(many, observation, noise, "perturbed", _PERTURBED_STEPS))
    bank = _joined(pieces, _facts(task, many))
    learnt = _implied(task, bank) | {"bounds": _bounds(task, many, bank.inputs)}
    return replace(bank, facts=bank.facts.model_copy(update=learnt))


def scripted_policy(worlds: VecEnv) -> Policy:
    """The task's own controller as a policy.

    Args:
        worlds: Worlds of a task with a method `scripted`; the policy acts on their present state.
    """
    task: Any = worlds.task

    def act(observation: Tensor) -> Tensor:
        with task_faults(task.path, "scripted"):
            action = task.scripted(worlds.view, task.variables(worlds.view))
        require(tensor_problems("the action of `scripted`", action, (worlds.num_envs, worlds.action_size)))
        return action

    return act


def _unsteady(worlds: VecEnv, expert: Policy) -> Policy:
    """The expert, with noise on its actions in every other world: by itself it would walk one way only."""
    span = (worlds.action_high - worlds.action_low) / 2
    size = _EXPERT_NOISE * span * (torch.arange(worlds.num_envs) % 2).unsqueeze(1)
    generator = torch.Generator().manual_seed(_SEED)

    def act(observation: Tensor) -> Tensor:
        noise = size * torch.randn(size.shape, generator=generator)
        return (expert(observation) + noise).clamp(worlds.action_low, worlds.action_high)

    return act


def _facts(task: Task, worlds: VecEnv) -> TransitionFacts:
    return TransitionFacts(
        discount=task.training.discount,
        episode_steps=task.episode_steps,
        success_terminates=task.success_terminates,
        ends_early=any(cause != DIVERGED for cause in worlds.causes),
        pairs=task.pairs,
        invariances=task.invariances,
    )


def _implied(task: Task, bank: TransitionSet) -> dict[str, Any]:
    """What the wording of the variables adds to what the task declares."""
    declared = task.declared()
    reached = {name: value[bank.reachable & bank.beginners] for name, value in bank.inputs.items()}
    named = {name for each in task.invariances for name in variables_of(each)}
    others = {name: variable for name, variable in declared.items() if name not in named}
    return {
        "invariances": (*task.invariances, *implied_invariances(others, reached)),
        "guessed_pairs": () if task.pairs else tuple(implied_pairs(declared, reached)),
        "radians": tuple(name for name, variable in declared.items() if variable.unit == "rad"),
    }


def _bounds(task: Task, worlds: VecEnv, inputs: Mapping[str, Tensor]) -> dict[str, float]:
    """Sizes that inputs cannot exceed: angles that are wrapped, cosines and shares, and the action."""
    wrapped = {name for each in task.invariances if isinstance(each, Wrap) for name in variables_of(each)}
    bounds = {"action": float(torch.maximum(worlds.action_low.abs(), worlds.action_high.abs()).max())}
    for name, variable in task.declared().items():
        if name in wrapped:
            bounds[name] = math.pi
        elif variable.unit == "1" and float(inputs[name].abs().max()) <= 1.0 + 1e-6:
            bounds[name] = 1.0
    return {f"{prefix}{name}": bound for name, bound in bounds.items() for prefix in ("", "prev_")}


# Rollouts.


@dataclass(frozen=True)
class _Piece:
    """Rows of N worlds over T steps: inputs (T * N, ...), world and episode within it, step, and how they ended."""

    inputs: dict[str, Tensor]
    episode: Tensor
    step: Tensor
    terminated: Tensor
    source: Source


def _roll(worlds: VecEnv, observation: Tensor, policy: Policy, source: Source, steps: int) -> _Piece:
    taken: list[Step] = []
    for _ in range(steps):
        step = worlds.step(policy(observation))
        observation = step.observation
        # The state's own tensors are live.
        taken.append(_kept(step))
    return _piece(taken, source)


def _kept(step: Step) -> Step:
    step.inputs = {name: value.clone() for name, value in step.inputs.items()}
    return step


def _piece(taken: list[Step], source: Source) -> _Piece:
    """Sort rows by world and time, number the episodes, and leave out where physics diverged."""
    ended = torch.stack([each.terminated | each.truncated for each in taken])  # (T, N)
    before = ended.int().cumsum(0) - ended.int()
    episode = before + (before.max() + 1) * torch.arange(ended.shape[1])
    sound = ~torch.stack([each.causes[DIVERGED] for each in taken]).T.flatten()

    def rows(values: Iterable[Tensor]) -> Tensor:
        return torch.stack(list(values)).transpose(0, 1).flatten(0, 1)[sound]

    inputs = {name: rows(each.inputs[name] for each in taken) for name in taken[0].inputs}
    step, terminated = rows(each.episode_step for each in taken), rows(each.terminated for each in taken)
    return _Piece(inputs, rows(episode), step, terminated, source)


def _joined(pieces: list[_Piece], facts: TransitionFacts) -> TransitionSet:
    starts = np.cumsum([0] + [int(each.episode.max()) + 1 for each in pieces])
    episode = torch.cat([each.episode + int(start) for each, start in zip(pieces, starts, strict=False)])
    sources = [torch.full((len(each.step),), SOURCES.index(each.source), dtype=torch.int8) for each in pieces]
    return TransitionSet(
        inputs={name: torch.cat([each.inputs[name] for each in pieces]) for name in pieces[0].inputs},
        episode=episode.int(),
        step=torch.cat([each.step for each in pieces]).int(),
        source=torch.cat(sources),
        terminated=torch.cat([each.terminated for each in pieces]),
        facts=facts,
    )


# Starts.


def perturbed_state(worlds: VecEnv, number: int) -> tuple[Tensor, Tensor]:
    """A state between each world's present one and a random one over the joints' whole ranges.

    Args:
        worlds: The worlds.
        number: Distinguishes the draws.

    Returns:
        Positions (N, nq) and velocities (N, nv).
    """
    indices = np.arange(worlds.num_envs, dtype=np.uint64)
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
