"""The gate `probe`: what a reward does on recorded transitions and beyond them, before any training is spent on it."""

from __future__ import annotations

import ast
import time
from collections.abc import Iterator

from rewardgen.critic.probe.cliffs import check_cliffs
from rewardgen.critic.probe.component_source import ComponentSource
from rewardgen.critic.probe.contract import check_contract, no_signal, rounded_out
from rewardgen.critic.probe.episodes import early_ending, hover, idle_reward, underpaid_expert
from rewardgen.critic.probe.exponentials import nested_exponentials, small_temperatures, squashed_degrees
from rewardgen.critic.probe.invariances import check_invariances
from rewardgen.critic.probe.loops import check_loops
from rewardgen.critic.probe.pairs import check_pairs
from rewardgen.critic.probe.probed_reward import Call, ProbedReward, failure, finding
from rewardgen.critic.probe.values import (
    dominant_component,
    exploding_components,
    flat_components,
    listed_totals,
    related_components,
    residual,
    scale,
    unfired_bonuses,
)
from rewardgen.critic.registry import Detector, Need, findings, register
from rewardgen.reward.program import RewardError
from rewardgen.sim.transitions import TransitionSet
from rewardgen.store.records import Finding

_SLOW_S = 3e-3
_TIMED_ENVS = 64
_TIMED_CALLS = 5


def probe(call: Call, reads: tuple[str, ...], tree: ast.Module, transitions: TransitionSet) -> tuple[Finding, ...]:
    """What a reward does on recorded transitions and beyond them.

    Args:
        call: The reward with its constants.
        reads: Names of its inputs.
        tree: Its source, parsed.
        transitions: Of its task.

    Returns:
        Rejections if it cannot work; otherwise what is doubtful about it.
    """
    source = ComponentSource(tree)
    try:
        components = call({name: transitions.inputs[name] for name in reads})
    except RewardError as error:
        return (_with_line(failure(error, "on recorded transitions", {"transitions": len(transitions)}), source),)
    reward = ProbedReward(call, reads, transitions, source, components)
    found = tuple(findings("contract", reward, transitions))
    if any(each.severity == "reject" for each in found):
        return tuple(_with_line(each, source) for each in found)
    try:
        found = (*found, *findings("probe", reward, transitions))
    except RewardError as error:
        found = (*found, failure(error, "in a state made of recorded and declared values"))
    return tuple(_with_line(each, source) for each in found)


def _with_line(found: Finding, source: ComponentSource) -> Finding:
    if found.component is None or found.line is not None:
        return found
    return found.model_copy(update={"line": source.line(found.component)})


def _on_the_way(reward: ProbedReward) -> Iterator[Finding]:
    """What pairs and lines between recorded states show; of each detector and component the first, as a cliff may be
    met in several ways.
    """
    first: dict[tuple[str, str | None], Finding] = {}
    for check in (check_pairs, check_cliffs):
        for each in check(reward):
            first.setdefault((each.detector, each.component), each)
    yield from first.values()


def _slowness(reward: ProbedReward) -> Iterator[Finding]:
    rows = {name: value[:_TIMED_ENVS] for name, value in reward.inputs.items()}
    times = []
    for _ in range(_TIMED_CALLS):
        start = time.process_time()
        reward.call(rows)
        times.append(time.process_time() - start)
    if min(times) > _SLOW_S:
        message = f"the reward takes {1e3 * min(times):.1f} ms for {_TIMED_ENVS} envs; most take about 0.1 ms"
        hint = "replace loops by torch functions over the whole batch"
        yield finding("slow-reward", message, hint, {"seconds": min(times), "num_envs": _TIMED_ENVS})


_PAIRS = Need(
    "the task declares no pairs", lambda transitions: bool(transitions.facts.pairs or transitions.facts.guessed_pairs)
)
_INVARIANCES = Need("the task declares no invariances", lambda transitions: bool(transitions.facts.invariances))
_EXPERT = Need("the task has no expert policy", lambda transitions: bool((~transitions.beginners).any()))
_IDLE = Need("nothing was recorded without actions", lambda transitions: bool(transitions.of("zero").any()))

register(
    Detector(
        "probe-exception", "contract", "reject", "it fails on recorded states", "the line is told", check_contract
    ),
    Detector("probe-shape", "contract", "reject", "components of a wrong shape", "reduce to (N,)", check_contract),
    Detector(
        "non-finite",
        "contract",
        "reject",
        "NaN or infinity, also at rest, at zero and at ten times the recorded range",
        "guard or bound it",
        check_contract,
    ),
    Detector("overflow", "contract", "warn", "infinity at values of a thousand", "bound it", check_contract),
    Detector(
        "not-repeatable", "contract", "reject", "two equal calls that differ", "no memory, no noise", check_contract
    ),
    Detector(
        "batch-dependent",
        "contract",
        "reject",
        "one env's reward that depends on the batch",
        "reduce over the last axis",
        check_contract,
    ),
    Detector(
        "unguarded-domain",
        "probe",
        "warn",
        "NaN where rounding takes a cosine beyond its range",
        "clamp first",
        rounded_out,
    ),
    Detector("no-signal", "contract", "reject", "no component varies at all", "rescale or widen", no_signal),
    Detector("residual", "probe", "warn", "a total that is not the sum of the parts", "return every term", residual),
    Detector(
        "dead-component", "probe", "warn", "a component that is zero, or drowned", "widen or weigh it", flat_components
    ),
    Detector("constant-component", "probe", "warn", "a component that hardly varies", "remove it", flat_components),
    Detector(
        "dominant-component",
        "probe",
        "warn",
        "one component that is nearly all",
        "bring weights together",
        dominant_component,
    ),
    Detector(
        "exploding-component", "probe", "warn", "largest values far above the median", "bound it", exploding_components
    ),
    Detector("redundant-components", "probe", "warn", "components that say the same", "keep one", related_components),
    Detector(
        "contradictory-components", "probe", "warn", "components against each other", "decide", related_components
    ),
    Detector(
        "total-among-components", "probe", "warn", "the total as a component", "return the parts only", listed_totals
    ),
    Detector("nested-exponential", "probe", "warn", "`exp` of an `exp`", "take one", nested_exponentials),
    Detector(
        "temperature-too-small",
        "probe",
        "warn",
        "`exp` that is zero nearly wherever it is not one",
        "a temperature as large as the error",
        small_temperatures,
    ),
    Detector(
        "angle-in-degrees",
        "probe",
        "warn",
        "radians divided by degrees before they are squashed",
        "write it in radians",
        squashed_degrees,
    ),
    Detector("reward-scale", "probe", "warn", "rewards of thousands, or thousandths", "rescale", scale),
    Detector(
        "bonus-never-fires",
        "probe",
        "warn",
        "a condition that no known state meets",
        "check its threshold",
        unfired_bonuses,
    ),
    Detector(
        "pair-reversed",
        "probe",
        "both",
        "the worse of a declared pair paid more, or of one that the wording implies",
        "check the sign",
        _on_the_way,
        _PAIRS,
    ),
    Detector(
        "cliff",
        "probe",
        "warn",
        "pay that falls at once on the way to better, or where it otherwise grows between recorded states",
        "let stages add up",
        _on_the_way,
    ),
    Detector(
        "saturated", "probe", "warn", "nothing more to gain from half way on", "raise the bound", _on_the_way, _PAIRS
    ),
    Detector(
        "not-invariant",
        "probe",
        "warn",
        "pay that changes with what means nothing: moved worlds, an angle's seam, full turns",
        "use differences, sine and cosine",
        check_invariances,
        _INVARIANCES,
    ),
    Detector(
        "loop-farming",
        "probe",
        "both",
        "pay that is kept on a loop of states",
        "a difference of a potential",
        check_loops,
    ),
    Detector(
        "idle-reward",
        "probe",
        "warn",
        "doing nothing pays as well as the best recorded",
        "pay for getting on",
        idle_reward,
        _IDLE,
    ),
    Detector(
        "early-ending-pays", "probe", "both", "negative pay that an early end stops", "pay for good steps", early_ending
    ),
    Detector(
        "success-ends-episode-hover", "probe", "warn", "waiting before success pays more", "pay for progress", hover
    ),
    Detector(
        "expert-underpaid",
        "probe",
        "warn",
        "the task's expert policy paid no more than doing nothing",
        "check signs, ranges and weights",
        underpaid_expert,
        _EXPERT,
    ),
    Detector("slow-reward", "probe", "warn", "a call of many milliseconds", "no loops", _slowness),
)
