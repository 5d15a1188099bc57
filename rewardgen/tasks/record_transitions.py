"""Recording transitions: inputs of rewards from short rollouts, on which the critic probes rewards without training."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any

import torch
from torch import Tensor

from rewardgen.sim.episodes import trivial_policies
from rewardgen.sim.transitions import SOURCES, Source, TransitionFacts, TransitionSet
from rewardgen.sim.variables import Wrap, variables_of
from rewardgen.sim.vec_env import DIVERGED, ENDED, HIDDEN, ActFunction, Step, VecEnv
from rewardgen.tasks.implied import implied_flags, implied_invariances, implied_pairs
from rewardgen.tasks.protocol import Task

_SEED = 30_000_001
_MANY, _FEW = 32, 8
_RANDOM_STEPS = 40
_ZERO_STEPS = 60
_PERTURBED_STARTS, _PERTURBED_STEPS = 8, 6
_SCRIPTED_STEPS = 300
_EXPERT_ENVS = 4
_EXPERT_NOISE = 0.2
"""Standard deviation of what is added to the actions of every other expert, in units of half the action range."""


def record_transitions(task: Task, expert: ActFunction | None = None) -> TransitionSet:
    """Record what rewards read, where simple policies go and well beyond it.

    Whole short rollouts with random actions, with none, by the task's `scripted` controller and by an expert policy if
    there are such, and, where states can be set, with random actions after starts anywhere between the usual ones and
    joint positions drawn over their whole ranges, so that a reward is also seen where only a trained policy gets.
    Transitions of diverged envs are left out.

    Args:
        task: The task.
        expert: A policy that gets on with the task.

    Raises:
        TaskError: The task breaks its contract.
    """
    many, few = task.make_envs([_SEED], _MANY), task.make_envs([_SEED + 1], _FEW)
    pieces = [_roll(many, many.reset(), trivial_policies(many)["random"], "random", _RANDOM_STEPS)]
    pieces.append(_roll(few, few.reset(), trivial_policies(few)["zero"], "zero", _ZERO_STEPS))
    steps = min(task.episode_steps, _SCRIPTED_STEPS)
    if scripted := few.scripted_policy():
        pieces.append(_roll(few, few.reset(), scripted, "scripted", steps))
    if expert is not None:
        own = task.make_envs([_SEED + 2], _EXPERT_ENVS)
        pieces.append(_roll(own, own.reset(), _unsteady(own, expert), "expert", steps))
    noise = trivial_policies(many)["random"]
    for number in range(_PERTURBED_STARTS):
        many.reset()
        observation = many.perturb(number)
        if observation is not None:
            pieces.append(_roll(many, observation, noise, "perturbed", _PERTURBED_STEPS))
    found = _joined(pieces)
    facts = TransitionFacts(
        episode_steps=task.episode_steps,
        observations=found.facts.observations,
        success_terminates=task.success_terminates,
        # One that does not say why it ends may never do so.
        ends_early=bool(many.causes) and (ENDED not in many.causes or bool(found.terminated.any())),
        bounds=_bounds(task, many, found.inputs),
        pairs=task.pairs,
        **_implied(task, found),
    )
    return replace(found, facts=facts)


def _implied(task: Task, found: TransitionSet) -> dict[str, Any]:
    """What the wording of the variables adds to what the task declares."""
    declared = task.declared()
    reached = {name: value[found.reachable & found.beginners] for name, value in found.inputs.items()}
    named = {name for each in task.invariances for name in variables_of(each)}
    others = {name: variable for name, variable in declared.items() if name not in named}
    return {
        "invariances": (*task.invariances, *implied_invariances(others, reached)),
        "guessed_pairs": () if task.pairs else tuple(implied_pairs(declared, reached)),
        "radians": tuple(name for name, variable in declared.items() if variable.unit == "rad"),
        "flags": tuple(implied_flags(declared, found.inputs)),
    }


def _unsteady(envs: VecEnv, expert: ActFunction) -> ActFunction:
    """The expert, with noise on its actions in every other environment: by itself it would walk one way only."""
    span = (envs.action_high - envs.action_low) / 2
    size = _EXPERT_NOISE * span * (torch.arange(envs.num_envs, device=envs.device) % 2).unsqueeze(1)
    generator = torch.Generator(envs.device).manual_seed(_SEED)

    def act(observation: Tensor) -> Tensor:
        noise = size * torch.randn(size.shape, generator=generator, device=envs.device)
        return (expert(observation) + noise).clamp(envs.action_low, envs.action_high)

    return act


def _bounds(task: Task, envs: VecEnv, inputs: Mapping[str, Tensor]) -> dict[str, float]:
    """Sizes that inputs cannot exceed: angles that are wrapped, cosines and shares, and the action."""
    wrapped = {name for each in task.invariances if isinstance(each, Wrap) for name in variables_of(each)}
    bounds = {"action": float(torch.maximum(envs.action_low.abs(), envs.action_high.abs()).max())}
    for name, variable in task.declared().items():
        if name in wrapped:
            bounds[name] = math.pi
        elif variable.unit == "1" and float(inputs[name].abs().max()) <= 1.0 + 1e-6:
            bounds[name] = 1.0
    return {f"{prefix}{name}": bound for name, bound in bounds.items() for prefix in ("", "prev_")}


def _roll(envs: VecEnv, observation: Tensor, policy: ActFunction, source: Source, steps: int) -> TransitionSet:
    """Some steps, sorted by environment and time, without those where physics diverged."""
    taken: list[Step] = []
    seen = hashlib.sha256()
    for _ in range(steps):
        seen.update(observation.numpy(force=True).tobytes())
        taken.append(envs.step(policy(observation)))
        observation = taken[-1].observation
    ended = torch.stack([each.terminated | each.truncated for each in taken])  # (T, N)
    before = ended.int().cumsum(0) - ended.int()
    episode = before + (before.max() + 1) * torch.arange(envs.num_envs, device=envs.device)
    diverged = [each.causes.get(DIVERGED, torch.zeros_like(each.terminated)) for each in taken]
    sound = ~torch.stack(diverged).T.flatten()

    def rows(values: Iterable[Tensor]) -> Tensor:
        return torch.stack(list(values)).transpose(0, 1).flatten(0, 1)[sound].cpu()

    step = rows(each.episode_step for each in taken).int()
    hidden = {*HIDDEN, *(f"prev_{name}" for name in HIDDEN)}
    return TransitionSet(
        inputs={name: rows(each.inputs[name] for each in taken) for name in taken[0].inputs if name not in hidden},
        episode=rows(episode).int(),
        step=step,
        source=torch.full_like(step, SOURCES.index(source), dtype=torch.int8),
        terminated=rows(each.terminated for each in taken),
        facts=TransitionFacts(observations=seen.hexdigest()),
    )


def _joined(pieces: Sequence[TransitionSet]) -> TransitionSet:
    seen = hashlib.sha256("".join(each.facts.observations for each in pieces).encode()).hexdigest()
    starts = accumulate((int(each.episode.max()) + 1 for each in pieces), initial=0)
    return TransitionSet(
        inputs={name: torch.cat([each.inputs[name] for each in pieces]) for name in pieces[0].inputs},
        episode=torch.cat([each.episode + start for each, start in zip(pieces, starts, strict=False)]),
        step=torch.cat([each.step for each in pieces]),
        source=torch.cat([each.source for each in pieces]),
        terminated=torch.cat([each.terminated for each in pieces]),
        facts=TransitionFacts(observations=seen),
    )
