"""Worker jobs that run rewards: probe them, sum them over recorded episodes, and compare their pay."""

from __future__ import annotations

import ast
import importlib
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import torch
from torch import Tensor

from rewardgen.core.errors import RunFolderError
from rewardgen.critic.detectors import not_available
from rewardgen.critic.probe.observation import eyes_on
from rewardgen.critic.probe.probe import probe
from rewardgen.critic.probe.probed_reward import failure, finding
from rewardgen.critic.probe.reward_source import RewardSource
from rewardgen.critic.probe.stages import Machine
from rewardgen.reward.distance import CanonicalReward, RewardDistance, distance
from rewardgen.reward.identity import source_fingerprint
from rewardgen.reward.parsing import parse_source
from rewardgen.reward.pricing import price, price_rows
from rewardgen.reward.program import Program, RewardError, compile_reward
from rewardgen.sandbox.limits import OutOfTimeError, time_limit
from rewardgen.sim.kept_episodes import KeptInputs, load_episodes
from rewardgen.sim.transitions import TransitionSet, load_transitions
from rewardgen.store.records import Finding, RewardSpec, TaskCard

TIME_LIMIT_S = 10.0
"""Processor time for each gate of one reward; a sound one takes well under a second."""

Result = TypeVar("Result")
Report = Callable[[dict[str, Any]], None]


def review_job(payload: dict[str, Any], report: Report) -> dict[str, Any]:
    """Review rewards of valid form.

    Args:
        payload: `transitions`, a file; `card`; `rewards`; `detectors`, modules that register more detectors; for the
            gate `preference`, `folder` and `files` of episodes; for `duplicate`, `others`, accepted rewards.
        report: Called with `{"gate", "candidate_id"}` when a gate begins.

    Returns:
        `reviews`: id to `findings`; `returns`, component to its sum over each episode; and `distances`, id of another
        reward to a distance, None where unknown. `returns` and `distances` are None where the gate was not reached or
        failed. `not_available`: detectors without data.

    Raises:
        UsageError: The transitions cannot be read.
    """
    for name in payload.get("detectors", ()):
        importlib.import_module(name)
    review = _Review(payload, report)
    rewards = [RewardSpec.model_validate(reward) for reward in payload["rewards"]]
    reviews = {reward.candidate_id: review.of(_Reward(reward)) for reward in rewards}
    return {"reviews": reviews, "not_available": not_available(review.transitions)}


def compare_job(payload: dict[str, Any], report: Report) -> dict[str, Any]:
    """Compare two rewards and their components.

    Args:
        payload: `transitions`, `card`, and two `rewards`.
        report: Not used.

    Returns:
        `distance`; `shares`: per reward, the components' shares of its variation; `same_name`: common component to its
        distance. Or `failed`: id of a reward to its error.

    Raises:
        UsageError: The transitions cannot be read.
    """
    measure = _measure(load_transitions(Path(payload["transitions"])), TaskCard.model_validate(payload["card"]))
    forms: list[CanonicalReward] = []
    for spec in payload["rewards"]:
        reward = _Reward(RewardSpec.model_validate(spec))
        try:
            forms.append(measure.canonical(reward.call, reward.program.inputs))
        except RewardError as error:
            return {"failed": {reward.spec.candidate_id: error.message}}
    one, other = forms
    both = [name for name in one.components if name in other.components]
    return {
        "distance": distance(one.total, other.total),
        "shares": [one.shares, other.shares],
        "same_name": {name: distance(one.components[name], other.components[name]) for name in both},
    }


class _Reward:
    def __init__(self, spec: RewardSpec) -> None:
        self.spec = spec

    @cached_property
    def program(self) -> Program:
        return compile_reward(self.spec.source)

    @cached_property
    def machine(self) -> Machine | None:
        staged = self.program.staged
        return Machine(staged) if staged else None

    @cached_property
    def source(self) -> RewardSource:
        tree = parse_source(self.spec.source)
        assert isinstance(tree, ast.Module)
        return RewardSource(tree)

    def call(self, inputs: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        return price_rows(self.program, inputs)

    def returns(self, episodes: KeptInputs) -> dict[str, list[float]]:
        """Return the sum of each component over each episode."""
        lengths = torch.tensor(episodes.lengths)
        steps = torch.arange(int(lengths.max())).unsqueeze(1)
        rows = lengths.cumsum(0) - lengths + steps.minimum(lengths - 1)  # the last step again where an episode is over
        inputs = {name: episodes.inputs[name][rows] for name in self.program.inputs}
        components, _ = price(self.program, inputs)
        lived = steps < lengths
        return {name: (value.double() * lived).sum(0).tolist() for name, value in components.items()}


class _Form(NamedTuple):
    """Pay of a reward without shaping, the numbers at which it bends, and a digest of a reward that observes."""

    reward: CanonicalReward
    limits: Counter[float]
    observes: str


class _Review:
    def __init__(self, payload: dict[str, Any], report: Report) -> None:
        self.transitions = load_transitions(Path(payload["transitions"]))
        self._card = TaskCard.model_validate(payload["card"])
        self._report = report
        self._files = [Path(payload["folder"]) / name for name in payload.get("files", ())]
        others = payload.get("others")
        self._others = None if others is None else [_Reward(RewardSpec.model_validate(other)) for other in others]

    def of(self, reward: _Reward) -> dict[str, Any]:
        self._begin("probe", reward)
        findings = self._probe(reward)
        returns = distances = None
        if all(finding.severity != "reject" for finding in findings):
            if self._files:
                self._begin("preference", reward)
                returns = _or_none(lambda: self._episodes and reward.returns(self._episodes))
            if self._others is not None:
                self._begin("duplicate", reward)
                distances = self._distances(reward)
        data = [finding.model_dump(mode="json") for finding in findings]
        return {"findings": data, "returns": returns, "distances": distances}

    def _begin(self, gate: str, reward: _Reward) -> None:
        self._report({"gate": gate, "candidate_id": reward.spec.candidate_id})

    def _probe(self, reward: _Reward) -> tuple[Finding, ...]:
        try:
            with time_limit(TIME_LIMIT_S):
                program = reward.program
                look = partial(eyes_on, program) if program.observed else None
                return probe(reward.call, program.inputs, reward.source, self.transitions, reward.machine, look)
        except RewardError as error:
            return (failure(error, "when it is compiled"),)
        except OutOfTimeError:
            message = f"the reward takes more than {TIME_LIMIT_S:g} s on {len(self.transitions)} recorded transitions"
            hint = "compute over the whole batch, without large loops"
            evidence = {"limit_s": TIME_LIMIT_S, "transitions": len(self.transitions)}
            return (finding("probe-timeout", message, hint, evidence, severity="reject"),)

    @cached_property
    def _episodes(self) -> KeptInputs | None:
        try:
            files = [load_episodes(path) for path in self._files]
        except RunFolderError:
            return None
        inputs = {name: torch.cat([file.inputs[name] for file in files]) for name in files[0].inputs}
        return KeptInputs(inputs, tuple(length for file in files for length in file.lengths))

    @cached_property
    def _measure(self) -> RewardDistance:
        return _measure(self.transitions, self._card)

    @cached_property
    def _forms(self) -> dict[str, _Form]:
        """Canonical forms of the other rewards and of those compared so far."""
        forms = {other.spec.candidate_id: self._form(other) for other in self._others or ()}
        return {id: form for id, form in forms.items() if form is not None}

    def _form(self, reward: _Reward) -> _Form | None:
        def form() -> _Form:
            limits = reward.source.limits(reward.program.tunables)
            observes = source_fingerprint(reward.spec.source) if reward.program.observed else ""
            return _Form(self._measure.canonical(reward.call, reward.program.inputs), limits, observes)

        return _or_none(form)

    def _distances(self, reward: _Reward) -> dict[str, float | None] | None:
        form = self._form(reward)
        if form is None:
            return None
        self._forms[reward.spec.candidate_id] = form
        return {id: _distance(form, other) for id, other in self._forms.items() if other is not form}


def _distance(one: _Form, other: _Form) -> float | None:
    """Return the distance; None if a component never pays, the rewards bend at different numbers, or one observes.

    No recorded state need lie between two such numbers. With the same pay, policies that see more may learn more.
    """
    unlike = one.reward.silent or other.reward.silent or one[1:] != other[1:]
    return None if unlike else distance(one.reward.total, other.reward.total)


def _or_none(gate: Callable[[], Result | None]) -> Result | None:
    try:
        with time_limit(TIME_LIMIT_S):
            return gate()
    except (RewardError, OutOfTimeError):
        return None


def _measure(transitions: TransitionSet, card: TaskCard) -> RewardDistance:
    return RewardDistance(transitions.inputs, card.discount, bool(card.termination_causes))
