"""The gate `probe`: run a reward on recorded transitions and beyond them, before any training is spent on it."""

from __future__ import annotations

from collections.abc import Callable

from rewardgen.core.detectors import Detector, Need
from rewardgen.critic.detectors import DETECTORS
from rewardgen.critic.probe.contract import check_contract
from rewardgen.critic.probe.invariances import check_invariances
from rewardgen.critic.probe.loops import check_loops
from rewardgen.critic.probe.observation import check_eyes, check_observation
from rewardgen.critic.probe.pairs import check_pairs
from rewardgen.critic.probe.probed_reward import Call, ProbedReward, failure
from rewardgen.critic.probe.reward_source import RewardSource
from rewardgen.critic.probe.stages import Machine, check_stages
from rewardgen.critic.probe.values import check_dominance, check_unused, flat_components
from rewardgen.reward.program import RewardError
from rewardgen.sim.transitions import TransitionSet
from rewardgen.store.records import Finding

_PAIRS = Need("the task declares no pairs", lambda transitions: bool(transitions.facts.pairs))
_INVARIANCES = Need("the task declares no invariances", lambda transitions: bool(transitions.facts.invariances))

DETECTORS.add(
    Detector(
        "dead-component",
        "a component that is zero, or far smaller than the rest",
        flat_components,
        "widen its threshold or raise its weight",
    ),
    Detector("constant-component", "a component that hardly varies", flat_components, "remove it"),
    Detector("unused-value", "a term that is computed and never used", check_unused, "return it, or remove it"),
    Detector("dominant-component", "one component that is nearly all", check_dominance, "bring the weights together"),
    Detector(
        "pair-reversed",
        "the worse of a declared pair paid more",
        check_pairs,
        "check the sign",
        severity="both",
        need=_PAIRS,
    ),
    Detector(
        "cliff",
        "pay that falls at once between the worse and the better of a declared pair",
        check_pairs,
        "let stages add up",
        need=_PAIRS,
    ),
    Detector(
        "not-invariant",
        "pay that changes with the origin, an angle's seam, a full turn or a quaternion's sign",
        check_invariances,
        "use differences, sine and cosine",
        need=_INVARIANCES,
    ),
    Detector(
        "loop-farming",
        "pay that is kept on a loop of states",
        check_loops,
        "pay the difference of a potential",
        severity="both",
    ),
    Detector("unreached-stage", "a stage that no recorded state leads to", check_stages, "check its threshold"),
    Detector("stage-skipped", "a first stage that is over at once", check_stages, "check its threshold"),
    Detector(
        "stage-costs", "a stage that pays less than the one before", check_stages, "let stages add up", severity="both"
    ),
    Detector(
        "stage-farming",
        "pay for entering a stage that is kept on the way back",
        check_stages,
        "pay `stage - prev_stage`",
        severity="both",
    ),
    Detector("observed-large", "a number beyond 1000 for policies to see", check_observation, "divide it"),
    Detector("observed-constant", "a number for policies to see that never varies", check_observation, "remove it"),
)


def probe(
    call: Call,
    reads: tuple[str, ...],
    source: RewardSource,
    transitions: TransitionSet,
    machine: Machine | None = None,
    look: Callable[[TransitionSet, RewardSource], ProbedReward] | None = None,
) -> tuple[Finding, ...]:
    """Return why a reward cannot be trained with; if it can, the findings of all detectors.

    The arguments are fields of `ProbedReward`; `look` runs the reward's `observe`, if it has one: see `eyes_on`.
    """
    findings: tuple[Finding, ...]
    try:
        components = call({name: transitions.inputs[name] for name in reads})
        eyes = look(transitions, source) if look else None
        reward = ProbedReward(call, reads, transitions, source, components, machine, eyes)
        findings = (*check_contract(reward), *(check_eyes(eyes) if eyes else ()))
    except RewardError as error:
        findings = (failure(error, "on recorded transitions", {"transitions": len(transitions)}),)
    else:
        if not findings:
            try:
                findings = tuple(DETECTORS.reports(reward, transitions))
            except RewardError as error:
                findings = (failure(error, "in a state made of recorded and declared values"),)
    return tuple(_with_line(finding, source) for finding in findings)


def _with_line(finding: Finding, source: RewardSource) -> Finding:
    if finding.component is None or finding.line is not None:
        return finding
    return finding.model_copy(update={"line": source.line(finding.component)})
