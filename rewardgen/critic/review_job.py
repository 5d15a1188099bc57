"""The worker's side of a review: rewards read, run, tried on recorded episodes and compared, one after the other.

Each reward is parsed and compiled once. A stage that is not passed ends the review of its reward, and one that fails or
takes too long says so and ends nothing else.
"""

from __future__ import annotations

import ast
import importlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import torch
from torch import Tensor

from rewardgen.core.errors import RunFolderError
from rewardgen.critic.probe.detectors import probe
from rewardgen.critic.probe.probed_reward import failure, finding
from rewardgen.critic.probe.trace import Step, ancestors, trace
from rewardgen.critic.registry import not_available
from rewardgen.critic.static.detectors import read_within_limits
from rewardgen.reward.distance import CanonicalReward, RewardDistance, distance
from rewardgen.reward.parsing import parse_source
from rewardgen.reward.program import Program, RewardError, compile_reward
from rewardgen.reward.vocabulary import words
from rewardgen.sandbox.time_limit import OutOfTimeError, time_limit
from rewardgen.sim.kept_episodes import KeptInputs, load_episodes
from rewardgen.sim.transitions import TransitionSet, load_transitions
from rewardgen.store.records import Finding, RewardSpec, TaskCard

TIME_LIMIT_S = 10.0
"""Processor time for each stage of one reward; a sound one takes well under a second."""

_TRACED_ROWS = 64
_BENDING = frozenset(
    words("""
clamp clamp_min clamp_max clip where setitem masked_fill heaviside tolerance minimum maximum min max fmin fmax amin amax
abs sgn sign round floor ceil trunc fix frac fmod mod remainder floordiv floor_divide isclose
gt ge lt le eq ne greater greater_equal less less_equal not_equal
relu relu6 leaky_relu elu selu celu gelu silu mish hardtanh hardsigmoid hardswish threshold huber_loss smooth_l1_loss
l1_loss sigmoid logsigmoid tanh softplus softsign softmax softmin exp exp2 expm1 erf erfc atan arctan
""")
)
"""Operations with a kink, a step, or a tail so flat that what happens in it is lost to rounding."""
Result = TypeVar("Result")
Report = Callable[[dict[str, Any]], None]


def review_job(payload: dict[str, Any], report: Report) -> dict[str, Any]:
    """Review rewards.

    Args:
        payload: `transitions`, a file; `card`; `rewards`, and `runnable`, the ids of those that may be run; `skip`,
            stages that are left out; `detectors`, modules that register more of them; and where the stage is asked for,
            `folder` and `files` of episodes, and `others`, rewards that were accepted before.
        report: Called with `{"stage", "candidate_id"}` when one begins.

    Returns:
        `reviews`: id to its `findings`; `returns`, component to its sum over each episode; and `distances` to the
        others and to the rewards before it by id, None where they cannot be told. The last two are None where the
        stage was not reached or failed. `not_available`: detectors that these transitions are not enough for.

    Raises:
        UsageError: The transitions cannot be read.
    """
    torch.set_num_threads(1)
    for name in payload.get("detectors", ()):
        importlib.import_module(name)
    review = _Review(payload, report)
    rewards = [RewardSpec.model_validate(each) for each in payload["rewards"]]
    reviews = {each.candidate_id: review.of(each, each.candidate_id in payload["runnable"]) for each in rewards}
    return {"reviews": reviews, "not_available": not_available(review.transitions)}


def compare_job(payload: dict[str, Any], report: Report) -> dict[str, Any]:
    """Compare two rewards and their components.

    Args:
        payload: `transitions`, `card`, and two `rewards`.
        report: Not used.

    Returns:
        `distance`; `shares`: for each reward its components' shares of the variation; `same_name`: components of both
        to their distance; or `failed`: id of a reward to why it could not be computed.

    Raises:
        UsageError: The transitions cannot be read.
    """
    torch.set_num_threads(1)
    measure = _measure(load_transitions(Path(payload["transitions"])), TaskCard.model_validate(payload["card"]))
    forms: list[CanonicalReward] = []
    for each in payload["rewards"]:
        reward = _Reward(RewardSpec.model_validate(each))
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
    """One reward; what is made of its source is made once."""

    def __init__(self, spec: RewardSpec) -> None:
        self.spec = spec

    @cached_property
    def program(self) -> Program:
        return compile_reward(self.spec.source)

    @torch.no_grad()
    def call(self, inputs: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        return self.program(inputs, self.spec.tunables)


class _Form(NamedTuple):
    """What is compared of a reward: what it pays without shaping, and at which numbers it bends."""

    reward: CanonicalReward
    limits: Counter[float]


class _Review:
    def __init__(self, payload: dict[str, Any], report: Report) -> None:
        recorded = load_transitions(Path(payload["transitions"]))
        self._card = TaskCard.model_validate(payload["card"])
        early = recorded.facts.ends_early and not self._card.ends_wanted
        facts = recorded.facts.model_copy(update={"discount": self._card.discount, "ends_early": early})
        self.transitions = replace(recorded, facts=facts)
        self._report = report
        self._skip = payload["skip"]
        self._files = [Path(payload["folder"]) / name for name in payload.get("files", ())]
        others = payload.get("others")
        self._others = None if others is None else [_Reward(RewardSpec.model_validate(each)) for each in others]

    def of(self, spec: RewardSpec, runnable: bool) -> dict[str, Any]:
        """All that is found out about one reward."""
        reward = _Reward(spec)
        found: list[Finding] = []
        returns = distances = None
        if self._begin("static", spec):
            found += read_within_limits(spec.source, self._card)
        if runnable and not _rejects(found) and self._begin("probe", spec):
            found += self._probe(reward)
            if not _rejects(found):
                if self._files and self._begin("returns", spec):
                    returns = _or_none(lambda: self._returns(reward))
                if self._others is not None and self._begin("distances", spec):
                    distances = self._distances(reward)
        told = [each.model_dump(mode="json") for each in found]
        return {"findings": told, "returns": returns, "distances": distances}

    def _begin(self, stage: str, spec: RewardSpec) -> bool:
        if stage in self._skip:
            return False
        self._report({"stage": stage, "candidate_id": spec.candidate_id})
        return True

    def _probe(self, reward: _Reward) -> tuple[Finding, ...]:
        try:
            with time_limit(TIME_LIMIT_S):
                program, tree = reward.program, parse_source(reward.spec.source)
                assert isinstance(tree, ast.Module)
                return probe(reward.call, program.inputs, tree, self.transitions)
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
            files = [load_episodes(each) for each in self._files]
        except RunFolderError:
            return None
        inputs = {name: torch.cat([each.inputs[name] for each in files]) for name in files[0].inputs}
        return KeptInputs(inputs, tuple(length for each in files for length in each.lengths))

    def _returns(self, reward: _Reward) -> dict[str, list[float]] | None:
        """Component to its sum over each episode."""
        if self._episodes is None:
            return None
        components = reward.call({name: self._episodes.inputs[name] for name in reward.program.inputs})
        lengths = list(self._episodes.lengths)
        return {
            name: [float(part.double().sum()) for part in value.split(lengths)] for name, value in components.items()
        }

    @cached_property
    def _measure(self) -> RewardDistance:
        return _measure(self.transitions, self._card)

    @cached_property
    def _forms(self) -> dict[str, _Form]:
        """The others in canonical form, and later the rewards that have been compared with them."""
        forms = {each.spec.candidate_id: self._form(each) for each in self._others or ()}
        return {id: form for id, form in forms.items() if form is not None}

    def _form(self, reward: _Reward) -> _Form | None:
        reads = reward.program.inputs

        def form() -> _Form:
            rows = {name: self.transitions.inputs[name][:_TRACED_ROWS] for name in reads}
            return _Form(self._measure.canonical(reward.call, reads), limits(trace(reward.call, rows)))

        return _or_none(form)

    def _distances(self, reward: _Reward) -> dict[str, float | None] | None:
        """Its distance to each of the others by id, None if nothing is known of one of them."""
        own = self._form(reward)
        if own is None:
            return None
        self._forms[reward.spec.candidate_id] = own
        others = {id: other for id, other in self._forms.items() if other is not own}
        return {id: _distance(own, other) for id, other in others.items()}


def _distance(one: _Form, other: _Form) -> float | None:
    """None where nothing is known of a component, or where the two bend at other numbers: two steps with no recorded
    state between them pay the same on all that is recorded.
    """
    silent = one.reward.silent or other.reward.silent
    return None if silent or one.limits != other.limits else distance(one.reward.total, other.reward.total)


def _or_none(stage: Callable[[], Result | None]) -> Result | None:
    """What a stage gives; None if the reward fails in it or takes too long."""
    try:
        with time_limit(TIME_LIMIT_S):
            return stage()
    except (RewardError, OutOfTimeError):
        return None


def _measure(transitions: TransitionSet, card: TaskCard) -> RewardDistance:
    return RewardDistance(transitions.inputs, card.discount, bool(card.termination_causes))


def _rejects(findings: list[Finding]) -> bool:
    return any(each.severity == "reject" for each in findings)


def limits(steps: Iterable[Step]) -> Counter[float]:
    """The numbers that decide where a reward compares, clamps, saturates or rounds, with how often each is used.

    Recorded states that are all on one side of such a number do not show it.

    Args:
        steps: What the reward computes.
    """
    bending = ancestors(each for each in steps if each.op in _BENDING)
    return Counter(float(value) for step in bending for value in step.operands if isinstance(value, int | float))
