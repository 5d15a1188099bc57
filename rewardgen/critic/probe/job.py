"""The worker job `probe`: rewards run on recorded transitions before any training is spent on them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from rewardgen.critic.probe.bonus import check_bonuses
from rewardgen.critic.probe.calling import check_contract, probe_finding
from rewardgen.critic.probe.cliffs import check_cliffs
from rewardgen.critic.probe.expert import check_expert
from rewardgen.critic.probe.findings import rejection, warning
from rewardgen.critic.probe.invariances import check_invariances
from rewardgen.critic.probe.loops import check_loops
from rewardgen.critic.probe.pairs import check_pairs, ways
from rewardgen.critic.probe.probed_reward import ProbedReward
from rewardgen.critic.probe.rollouts import check_episodes
from rewardgen.critic.probe.source import Makers
from rewardgen.critic.probe.values import check_statistics
from rewardgen.reward.program import Program, RewardError, compile_reward
from rewardgen.sandbox.time_limit import OutOfTimeError, time_limit
from rewardgen.sim.transitions import TransitionSet, load_transitions
from rewardgen.store.records import Finding, RewardSpec

TIME_LIMIT_S = 10.0
"""For all calls of one reward together; a sound one takes well under a tenth of a second."""
_ACTIVE = 1e-8
_SLOW_S = 3e-3
_TIMED_WORLDS = 64
_TIMED_CALLS = 5


def probe_job(payload: dict[str, Any], report: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Probe rewards on a bank of transitions.

    Args:
        payload: `{"bank": path, "rewards": [RewardSpec...]}`; the bank is a file of `rewardgen.sim.transitions`.
        report: Not used.

    Returns:
        `{"findings": {candidate id: [Finding...]}}`, an empty list for a sound reward.

    Raises:
        UsageError: The bank cannot be read.
    """
    torch.set_num_threads(1)
    bank = load_transitions(Path(payload["bank"]))
    rewards = [RewardSpec.model_validate(each) for each in payload["rewards"]]
    findings = {reward.candidate_id: probe_reward(reward, bank) for reward in rewards}
    return {"findings": {id: [each.model_dump(mode="json") for each in found] for id, found in findings.items()}}


def probe_reward(reward: RewardSpec, bank: TransitionSet) -> tuple[Finding, ...]:
    """What a reward does on recorded transitions and beyond them.

    Args:
        reward: The reward.
        bank: Transitions of its task.

    Returns:
        Rejections if it cannot work; otherwise what is doubtful about it.
    """
    try:
        with time_limit(TIME_LIMIT_S), torch.no_grad():
            return _probe(compile_reward(reward.source), reward, bank)
    except RewardError as error:
        return (probe_finding(error, "when it is compiled"),)
    except OutOfTimeError:
        message = f"the reward takes more than {TIME_LIMIT_S:g} s on {len(bank)} recorded transitions"
        hint = "compute over the whole batch, without large loops"
        return (rejection("probe-timeout", message, hint, {"limit_s": TIME_LIMIT_S, "transitions": len(bank)}),)


def _probe(program: Program, reward: RewardSpec, bank: TransitionSet) -> tuple[Finding, ...]:
    def call(inputs: dict[str, Tensor]) -> dict[str, Tensor]:
        return program(inputs, reward.tunables)

    inputs = {name: bank.inputs[name] for name in program.inputs}
    found = check_contract(call, inputs, bank)
    if any(finding.severity == "reject" for finding in found):
        return found
    subject = ProbedReward(call, program.inputs, bank, call({name: value.clone() for name, value in inputs.items()}))
    makers = Makers(reward.source)
    return tuple(_with_line(finding, makers) for finding in (*found, *_study(subject, makers), *_check_time(subject)))


def _study(subject: ProbedReward, makers: Makers) -> tuple[Finding, ...]:
    """What is doubtful about a reward that runs."""
    try:
        between = ways(subject)
        conditional = {
            name
            for name in subject.components
            if makers.asks(name) or any(float(way.components[name].abs().max()) > _ACTIVE for way in between)
        }
        found = check_statistics(subject.components, subject.bank, conditional)
        if any(finding.severity == "reject" for finding in found):
            return found
        return (
            *found,
            *check_bonuses(subject, makers, between),
            *_first_of_each((*check_pairs(subject, between), *check_cliffs(subject))),
            *check_invariances(subject),
            *check_loops(subject),
            *check_episodes(subject, between),
            *check_expert(subject),
        )
    except RewardError as error:
        return (probe_finding(error, "in a state made of recorded and declared values"),)


def _first_of_each(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The first finding of each detector on each component: a cliff may be met in several ways."""
    first: dict[tuple[str, str | None], Finding] = {}
    for each in findings:
        first.setdefault((each.detector, each.component), each)
    return tuple(first.values())


def _with_line(finding: Finding, makers: Makers) -> Finding:
    if finding.component is None or finding.line is not None:
        return finding
    return finding.model_copy(update={"line": makers.line(finding.component)})


def _check_time(subject: ProbedReward) -> Iterator[Finding]:
    rows = {name: subject.bank.inputs[name][:_TIMED_WORLDS].clone() for name in subject.reads}
    times = []
    for _ in range(_TIMED_CALLS):
        start = time.process_time()
        subject.call(rows)
        times.append(time.process_time() - start)
    if min(times) > _SLOW_S:
        message = f"the reward takes {1e3 * min(times):.1f} ms for {_TIMED_WORLDS} worlds; most take about 0.1 ms"
        hint = "replace loops by torch functions over the whole batch"
        yield warning("slow-reward", message, hint, {"seconds": min(times), "worlds": _TIMED_WORLDS})
