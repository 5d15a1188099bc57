"""The reward report of a run, after Gilbert et al. (2022), "Reward Reports for Reinforcement Learning".

Objective, assumptions, known ways to game the reward, and what was not tested, each line from the run's records.
"""

from __future__ import annotations

from collections import Counter

from rewardgen.analyzer.flags import DETECTORS
from rewardgen.core.formatting import count, number
from rewardgen.llm.prompts import UNCHECKED
from rewardgen.reward.signature import read_signature
from rewardgen.store.history import History
from rewardgen.store.records import CandidateRecord

GAMING = (
    "reward-up-fitness-down",
    "reach-and-hover",
    "proxy-satisfied",
    "alive-attractor",
    "oscillation-farming",
    "early-ending-pays",
    "against-fitness",
)
"""Detectors of the analyzer for rewards that pay for the wrong behaviour."""


def reward_report(history: History) -> dict[str, list[str]]:
    """The sections so far: heading to lines."""
    chosen = history.summary.chosen if history.summary else None
    record = history.record(chosen) if chosen else None
    sections = {
        "Objective": _objective(history),
        "Assumptions": _assumptions(history, record),
        "Known ways to game it": _gaming(history, record),
        "What was not tested": _untested(history, record),
    }
    return {title: lines for title, lines in sections.items() if lines}


def _objective(history: History) -> list[str]:
    card, config = history.card, history.config
    lines = [f"Asked for, in the user's words: “{config.goal}”"] if config.goal else []
    lines += [f"The task: {' '.join(card.description.split())}"]
    if card.has_fitness:
        lines += [f"Fitness, by which rewards are compared and on which none is trained: {card.fitness}"]
        lines += [f"Success, yes or no per episode: {card.success}"]
    if history.goal_check and history.goal_check.answer:
        lines.append(f"Before the run, {history.goal_check.text}")
    lines += [f"A person said of earlier results: {' '.join(said.text.split())}" for said in history.feedback]
    return lines


def _assumptions(history: History, record: CandidateRecord | None) -> list[str]:
    card, training = history.card, history.training
    lines = [
        f"Episodes last {card.episode_seconds:g} s at most, in control steps of {card.control_step_s:g} s.",
        f"Start: {card.reset}",
        f"Early end: {card.termination or 'none.'}",
        f"The learner is {card.learner}, with a discount of {card.discount:g} and {training.env_steps:,} control steps"
        " per training; another learner may need another reward.",
    ]
    if record:
        read = ", ".join(read_signature(record.candidate.source).inputs)
        lines.append(f"The reward reads {read}, as the simulator has them: exact, without noise or delay.")
    return lines


def _gaming(history: History, record: CandidateRecord | None) -> list[str]:
    lines = []
    if record:
        flags = record.analysis.flags if record.analysis else ()
        name = record.candidate.id
        lines += [
            f"The chosen reward, {name}, in the search: {flag.message} [{flag.detector}]"
            for flag in flags
            if flag.detector in GAMING
        ]
        lines += [
            f"The critic warned of {name}: {finding.message} [{finding.detector}]"
            for finding in record.verdict.findings
            if finding.severity == "warn"
        ]
        if record.analysis and not any(flag.detector in GAMING for flag in flags):
            lines.append(f"None of the detectors of a gamed reward fired on {name}. They know {len(GAMING)} patterns.")
    fired = [{flag.detector for flag in analysis.flags} for analysis in history.studied.values()]
    seen = Counter(name for detectors in fired for name in sorted(detectors.intersection(GAMING)))
    studied = len(history.studied)
    lines += [
        f"{number_of} of the {studied} rewards that were analysed: {DETECTORS.get(name).sees} [{name}]."
        for name, number_of in seen.most_common()
    ]
    stopped = sum(run.stopped is not None for run in history.trained.values())
    if stopped:
        lines.append(f"{count(stopped, 'training')} stopped early for it: the reward rose while the fitness fell.")
    return lines


def _untested(history: History, record: CandidateRecord | None) -> list[str]:
    summary, config = history.summary, history.config
    lines = ["Anything but the simulator: no hardware, and no disturbance, delay or sensor noise but the task's own."]
    lines += [f"Starts beyond the {history.starts} of each seed, all drawn as the task draws them."]
    lines += ["Another learner, other networks, or other settings of this one."]
    lines += ["The comparison with more steps of training (`--env-steps`)."]
    missing = [name for name in ("human", "sparse") if name not in history.baselines]
    if missing:
        lines.append(f"Against a {' or a '.join(missing)} reward: the task has none.")
    if history.judgement is None or history.judgement.answer is None:
        lines.append("The behaviour against what a person would want: no language model judged it.")
    if config.ablate:
        lines.append(f"Parts that were left out: {', '.join(config.ablate)}.")
    if summary and summary.against_human == "on par" and summary.difference:
        most = max(-summary.difference.low, summary.difference.high)
        lines.append(
            f"Differences from the human reward smaller than {number(most)}: this many seeds cannot show them."
        )
    findings = record.verdict.findings if record else ()
    lines += [f"In the critic: {finding.message}" for finding in findings if finding.detector in UNCHECKED]
    return lines
