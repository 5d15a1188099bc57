"""The worker jobs `distance` and `compare`: how far rewards are from each other, whether they were trained or not."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from rewardgen.critic.canonical import Inputs, Sample, canonical, direction, distance, sample
from rewardgen.reward.program import Program, RewardError, compile_reward
from rewardgen.sim.transitions import TransitionSet, load_transitions
from rewardgen.store.records import RewardSpec

_STRETCH = 4.0
"""How much farther from the median than the recorded values the values beyond them are."""
_REMAINDER = "residual"
"""The component that holds what a reward's own total has over its components, and most often nothing."""


class Grounds(NamedTuple):
    """Where rewards are compared: on recorded transitions, and on the same stretched far beyond them."""

    recorded: Sample
    beyond: Sample


class Form(NamedTuple):
    """A reward in its canonical form.

    Attributes:
        parts: Component to its canonical values on recorded transitions, (N,).
        recorded: Direction of the reward on recorded transitions; None if it does not vary.
        beyond: The same beyond them; None also if it cannot be computed there, or if a component pays nothing anywhere,
            so that nothing is known of it.
    """

    parts: dict[str, Tensor]
    recorded: Tensor | None
    beyond: Tensor | None


def distance_job(payload: dict[str, Any], report: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Measure how far rewards are from each other, and from others.

    Args:
        payload: `bank`, a file of transitions; `rewards` and `others`; `discount` and `terminates` of the task.
        report: Not used.

    Returns:
        `distances`: id of each of the rewards to id of any other to `{"recorded", "beyond"}`, each between 0 and 1, or
        None where it cannot be told; `failed`: id to why its reward could not be computed.

    Raises:
        UsageError: The bank cannot be read.
    """
    rewards, others = ([RewardSpec.model_validate(each) for each in payload[name]] for name in ("rewards", "others"))
    forms, failed = _forms([*others, *rewards], _grounds(payload))
    ids = [each.candidate_id for each in rewards if each.candidate_id in forms]
    return {
        "distances": {id: {other: _gap(forms[id], forms[other]) for other in forms if other != id} for id in ids},
        "failed": failed,
    }


def compare_job(payload: dict[str, Any], report: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Compare two rewards and their components.

    Args:
        payload: As of `distance`, with two `rewards` and no `others`.
        report: Not used.

    Returns:
        `gap`: `{"recorded", "beyond"}` as of `distance`; `components`: for each reward its components' shares of the
        variation; `same_name`: components of both to their distance; `failed`: as of `distance`.

    Raises:
        UsageError: The bank cannot be read.
    """
    rewards = [RewardSpec.model_validate(each) for each in payload["rewards"]]
    forms, failed = _forms(rewards, _grounds(payload))
    if failed:
        return {"failed": failed}
    one, other = (forms[each.candidate_id] for each in rewards)
    shares = [_shares(one), _shares(other)]
    return {"gap": _gap(one, other), "components": shares, "same_name": _same_name(one, other), "failed": {}}


def grounds(bank: TransitionSet, discount: float, terminates: bool) -> Grounds:
    """Where to compare rewards of a task.

    Args:
        bank: Recorded transitions.
        discount: The task's.
        terminates: Whether its episodes can end before their time.
    """
    recorded = sample(bank.inputs, discount, terminates)
    return Grounds(recorded, sample(_stretched(bank), discount, terminates))


@torch.no_grad()
def form(reward: RewardSpec, where: Grounds) -> Form:
    """A reward's canonical form.

    Args:
        reward: The reward.
        where: The transitions.

    Raises:
        RewardError: It does not compile, reads what was not recorded, or fails on recorded transitions.
    """
    program = compile_reward(reward.source)
    missing = [name for name in program.inputs if name not in where.recorded.rows]
    if missing:
        raise RewardError(f"it reads `{missing[0]}`, which the recorded transitions do not have")

    def call(inputs: Inputs) -> dict[str, Tensor]:
        return program({name: inputs[name] for name in program.inputs}, reward.tunables)

    parts = canonical(call, _needed(where.recorded, program))
    return Form(parts, direction(_total(parts)), _beyond(call, program, where))


def _beyond(call: Callable[[Inputs], dict[str, Tensor]], program: Program, where: Grounds) -> Tensor | None:
    near, far = (_needed(each, program) for each in where)
    try:
        parts = canonical(call, far)
        seen = [call(dict(each.rows)) for each in (near, far)]
    except RewardError:
        return None
    silent = any(not any(bool(values[name].any()) for values in seen) for name in parts if name != _REMAINDER)
    return None if silent else direction(_total(parts))


def _needed(where: Sample, program: Program) -> Sample:
    """Only what a reward reads, with the states before and after."""
    bases = {name.removeprefix("prev_") for name in program.inputs} | set(program.inputs)
    names = [name for name in where.rows if name in bases or name.removeprefix("prev_") in bases]
    rows, draws = ({name: each[name] for name in names} for each in (where.rows, where.draws))
    return Sample(rows, draws, where.discount, where.terminates)


def _stretched(bank: TransitionSet) -> Inputs:
    """Values farther from the median than any recorded, up to where an input is bounded."""
    found = {}
    for name, values in bank.inputs.items():
        median = values.median(0).values
        most = bank.facts.bounds.get(name, float("inf"))
        found[name] = (median + _STRETCH * (values - median)).clamp(-most, most)
    return found


def _total(parts: dict[str, Tensor]) -> Tensor:
    return torch.stack(list(parts.values())).sum(0)


def _shares(reward: Form) -> dict[str, float]:
    spreads = {name: float(values.std()) for name, values in reward.parts.items()}
    whole = sum(spreads.values())
    return {name: spread / whole if whole else 0.0 for name, spread in spreads.items()}


def _same_name(one: Form, other: Form) -> dict[str, float | None]:
    both = [name for name in one.parts if name in other.parts]
    return {name: distance(direction(one.parts[name]), direction(other.parts[name])) for name in both}


def _gap(one: Form, other: Form) -> dict[str, float | None]:
    return {"recorded": distance(one.recorded, other.recorded), "beyond": distance(one.beyond, other.beyond)}


def _forms(rewards: Iterable[RewardSpec], where: Grounds) -> tuple[dict[str, Form], dict[str, str]]:
    forms: dict[str, Form] = {}
    failed: dict[str, str] = {}
    for each in rewards:
        try:
            forms[each.candidate_id] = form(each, where)
        except RewardError as error:
            failed[each.candidate_id] = error.message
    return forms, failed


def _grounds(payload: dict[str, Any]) -> Grounds:
    torch.set_num_threads(1)
    return grounds(load_transitions(Path(payload["bank"])), payload["discount"], payload["terminates"])
