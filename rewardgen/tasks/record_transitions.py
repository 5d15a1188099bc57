"""Record transitions: inputs of rewards from short rollouts, on which the critic probes rewards without training."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate

import torch
from torch import Tensor

from rewardgen.sim.episodes import trivial_policies
from rewardgen.sim.quantities import Quantity
from rewardgen.sim.transitions import SOURCES, Source, TransitionFacts, TransitionSet
from rewardgen.sim.variables import Flip, Invariance, Shift, Var, Wrap, variables_of
from rewardgen.sim.vec_env import DIVERGED, HIDDEN, ActFunction, Step, VecEnv
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
_WRAPPED = re.compile(r"[\[(]\s*-\s*(pi|π)\s*,\s*(pi|π)\s*[\])]")
_FLAG = re.compile(r"^(?:1 (?:while|if|when)|whether)\b|\b(?:0 or 1|1 or 0|flag)\b", re.IGNORECASE)
_QUATERNIONS = ({"w", "x", "y", "z"}, {"qw", "qx", "qy", "qz"})


def record_transitions(task: Task, expert: ActFunction | None = None) -> TransitionSet:
    """Record the inputs of rewards in states of simple policies and well beyond.

    Short rollouts with random actions, with none, by the task's `scripted` controller and by an expert policy, if any;
    where states can be set, also with random actions after starts between the usual ones and joint positions over their
    whole ranges, so that a reward is also seen in states that only a trained policy reaches. Transitions of diverged
    envs are left out.
    """
    many, few = task.make_envs([_SEED], _MANY), task.make_envs([_SEED + 1], _FEW)
    pieces = [_roll(many, many.reset(), trivial_policies(many)["random"], "random", _RANDOM_STEPS)]
    pieces.append(_roll(few, few.reset(), trivial_policies(few)["zero"], "zero", _ZERO_STEPS))
    steps = min(task.episode_steps, _SCRIPTED_STEPS)
    if scripted := few.scripted_policy():
        pieces.append(_roll(few, few.reset(), scripted, "scripted", steps))
    if expert is not None:
        envs = task.make_envs([_SEED + 2], _EXPERT_ENVS)
        pieces.append(_roll(envs, envs.reset(), _unsteady(envs, expert), "expert", steps))
    noise = trivial_policies(many)["random"]
    for number in range(_PERTURBED_STARTS):
        many.reset()
        observation = many.perturb(number)
        if observation is not None:
            pieces.append(_roll(many, observation, noise, "perturbed", _PERTURBED_STEPS))
    transitions = _joined(pieces)
    reached = {name: value[transitions.reachable & transitions.beginners] for name, value in transitions.inputs.items()}
    named = {name for invariance in task.invariances for name in variables_of(invariance)}
    others = {name: variable for name, variable in task.declared().items() if name not in named}
    facts = TransitionFacts(
        bounds=_bounds(task, many, transitions.inputs),
        pairs=task.pairs,
        invariances=(*task.invariances, *_implied_invariances(others, reached)),
        flags=tuple(_flags(task.declared(), transitions.inputs)),
    )
    return replace(transitions, facts=facts)


def _unsteady(envs: VecEnv, expert: ActFunction) -> ActFunction:
    """Return the expert with noise on its actions in every other env; without noise all envs would look alike."""
    span = (envs.action_high - envs.action_low) / 2
    size = _EXPERT_NOISE * span * (torch.arange(envs.num_envs, device=envs.device) % 2).unsqueeze(1)
    generator = torch.Generator(envs.device).manual_seed(_SEED)

    def act(observation: Tensor) -> Tensor:
        noise = size * torch.randn(size.shape, generator=generator, device=envs.device)
        return (expert(observation) + noise).clamp(envs.action_low, envs.action_high)

    return act


def _bounds(task: Task, envs: VecEnv, inputs: Mapping[str, Tensor]) -> dict[str, float]:
    """Return the largest sizes of inputs: of wrapped angles, cosines and shares, and the action."""
    wrapped = {name for change in task.invariances if isinstance(change, Wrap) for name in variables_of(change)}
    bounds = {"action": float(torch.maximum(envs.action_low.abs(), envs.action_high.abs()).max())}
    for name, variable in task.declared().items():
        if name in wrapped:
            bounds[name] = math.pi
        elif variable.unit == "1" and float(inputs[name].abs().max()) <= 1.0 + 1e-6:
            bounds[name] = 1.0
    return {f"{prefix}{name}": bound for name, bound in bounds.items() for prefix in ("", "prev_")}


def _roll(envs: VecEnv, observation: Tensor, policy: ActFunction, source: Source, steps: int) -> TransitionSet:
    """Return some steps, sorted by env and time, without those where physics diverged."""
    rollout: list[Step] = []
    for _ in range(steps):
        rollout.append(envs.step(policy(observation)))
        observation = rollout[-1].observation
    ended = torch.stack([step.terminated | step.truncated for step in rollout])  # (T, N)
    before = ended.int().cumsum(0) - ended.int()
    episode = before + (before.max() + 1) * torch.arange(envs.num_envs, device=envs.device)
    diverged = [step.causes.get(DIVERGED, torch.zeros_like(step.terminated)) for step in rollout]
    sound = ~torch.stack(diverged).T.flatten()

    def rows(values: Iterable[Tensor]) -> Tensor:
        return torch.stack(list(values)).transpose(0, 1).flatten(0, 1)[sound].cpu()

    episode_step = rows(step.episode_step for step in rollout).int()
    hidden = {*HIDDEN, *(f"prev_{name}" for name in HIDDEN)}
    return TransitionSet(
        inputs={name: rows(step.inputs[name] for step in rollout) for name in rollout[0].inputs if name not in hidden},
        episode=rows(episode).int(),
        step=episode_step,
        source=torch.full_like(episode_step, SOURCES.index(source), dtype=torch.int8),
        terminated=rows(step.terminated for step in rollout),
        facts=TransitionFacts(),
    )


def _joined(pieces: Sequence[TransitionSet]) -> TransitionSet:
    starts = accumulate((int(piece.episode.max()) + 1 for piece in pieces), initial=0)
    return TransitionSet(
        inputs={name: torch.cat([piece.inputs[name] for piece in pieces]) for name in pieces[0].inputs},
        episode=torch.cat([piece.episode + start for piece, start in zip(pieces, starts, strict=False)]),
        step=torch.cat([piece.step for piece in pieces]),
        source=torch.cat([piece.source for piece in pieces]),
        terminated=torch.cat([piece.terminated for piece in pieces]),
        facts=TransitionFacts(),
    )


# Implications of the wording of a task's variables.


def _implied_invariances(declared: Mapping[str, Var], inputs: Mapping[str, Tensor]) -> Iterator[Invariance]:
    """Yield changes of orientations and angles that mean nothing: a quaternion's sign, an angle's seam, full turns.

    `inputs` are values of the variables in states that policies reach, (M, ...).
    """
    for name, variable in declared.items():
        if len(variable.parts) == 4 and {part.lower().rsplit("_", 1)[-1] for part in variable.parts} in _QUATERNIONS:
            yield Flip(name)
        elif variable.unit == "rad" and not variable.parts:
            if _WRAPPED.search(variable.meaning):
                yield Wrap(name)
            elif float(inputs[name].abs().max()) > math.pi + 0.1:
                yield Shift(name, 2.0 * math.pi)


def is_called_flag(variable: Var) -> bool:
    """Return whether a variable is 0 or 1 by its declaration."""
    touches = isinstance(variable, Quantity) and variable.code.startswith("Touching(")
    return touches or (variable.unit == "1" and bool(_FLAG.search(variable.meaning)))


def _flags(declared: Mapping[str, Var], inputs: Mapping[str, Tensor]) -> Iterator[str]:
    """Yield variables that were only ever 0 or 1, and that are declared so or took both values, (M, ...)."""
    for name, variable in declared.items():
        up, down = inputs[name] == 1.0, inputs[name] == 0.0
        if bool((up | down).all()) and (is_called_flag(variable) or bool(up.any() and down.any())):
            yield name
