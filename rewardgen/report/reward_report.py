"""The section of a report after Gilbert et al. (2022), "Reward Reports for Reinforcement Learning".

What the system optimises, under which assumptions, how it is known to be gamed, what was tested and what was not. Each
line rests on the run's own records.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple

from rewardgen.analyzer.flags import DETECTORS
from rewardgen.core.formatting import count, number, percent
from rewardgen.llm.prompts import UNCHECKED
from rewardgen.store.history import History
from rewardgen.store.measurements import STARTS
from rewardgen.store.records import CandidateRecord

GAMING = (
    "reward-up-fitness-down",
    "reach-and-hover",
    "proxy-satisfied",
    "alive-attractor",
    "oscillation-farming",
    "early-ending-pays",
    "termination-avoidance",
    "settled-without-success",
    "against-fitness",
)
"""Detectors of the analyzer that see a reward collected otherwise than it was meant."""


class Section(NamedTuple):
    """One heading with its lines."""

    title: str
    lines: tuple[str, ...]


def reward_report(history: History) -> tuple[Section, ...]:
    """The sections, as far as the run has got.

    Args:
        history: What is known of it.
    """
    if history.card is None or history.config is None or history.training is None:
        return ()
    chosen = history.summary.chosen if history.summary else None
    record = history.record(chosen) if chosen else None
    sections = {
        "Objective": _objective(history),
        "Assumptions": _assumptions(history, record),
        "Known ways to game it": _gaming(history, record),
        "What was tested": _tested(history, record),
        "What was not tested": _untested(history, record),
    }
    return tuple(Section(title, tuple(lines)) for title, lines in sections.items() if lines)


def _objective(history: History) -> list[str]:
    card, config = history.card, history.config
    assert card is not None and config is not None
    lines = [f"Asked for, in the user's words: “{config.goal}”"] if config.goal else []
    lines += [f"The task: {' '.join(card.description.split())}"]
    lines += [f"Fitness, by which rewards are compared and on which none is trained: {card.fitness}"]
    lines += [f"Success, yes or no per episode: {card.success}"]
    if history.goal_check and history.goal_check.answer:
        lines.append(f"Before the run, {history.goal_check.text}")
    lines += [f"A person said of earlier results: {' '.join(each.text.split())}" for each in history.feedback]
    return lines


def _assumptions(history: History, record: CandidateRecord | None) -> list[str]:
    card, training = history.card, history.training
    assert card is not None and training is not None
    lines = [
        f"Episodes last {card.episode_seconds:g} s at most, in control steps of {card.control_step_s:g} s.",
        f"They begin so: {card.reset}",
        f"What ends them early: {card.termination}" if card.termination else "Nothing ends them early.",
        f"The learner is {card.learner}, with a discount of {card.discount:g} and {training.env_steps:,} control steps"
        " per training; another one may make something else of the reward.",
    ]
    if record:
        inputs = [each for each in card.input_names() if re.search(rf"\b{re.escape(each)}\b", _signature(record))]
        read = f"The reward reads {', '.join(inputs)}, as the simulator has them: exact, without noise or delay."
        lines += [read] if inputs else []
    return lines


def _signature(record: CandidateRecord) -> str:
    return record.candidate.source.partition("def compute_reward(")[2].partition(")")[0].partition("*,")[0]


def _gaming(history: History, record: CandidateRecord | None) -> list[str]:
    lines = []
    if record:
        flags = record.analysis.flags if record.analysis else ()
        name = record.candidate.id
        lines += [
            f"The chosen reward, {name}, in the search: {each.message} [{each.detector}]"
            for each in flags
            if each.detector in GAMING
        ]
        lines += [
            f"The critic warned of {name}: {each.message} [{each.detector}]"
            for each in record.verdict.findings
            if each.severity == "warn"
        ]
        if record.analysis and not any(each.detector in GAMING for each in flags):
            lines.append(f"None of the detectors of a gamed reward fired on {name}. They know {len(GAMING)} patterns.")
    of_each = [{flag.detector for flag in each.flags}.intersection(GAMING) for each in history.studied.values()]
    seen = Counter(name for detectors in of_each for name in sorted(detectors))
    studied = len(history.studied)
    lines += [
        f"{number_of} of the {studied} rewards that were analysed: {DETECTORS.get(name).sees} [{name}]."
        for name, number_of in seen.most_common()
    ]
    stopped = sum(each.stopped is not None for each in history.trained.values())
    if stopped:
        lines.append(f"{count(stopped, 'training')} stopped early for it: the reward rose while the fitness fell.")
    return lines


def _tested(history: History, record: CandidateRecord | None) -> list[str]:
    summary, config = history.summary, history.config
    assert config is not None
    lines = []
    if record:
        versions = "after one repair" if record.candidate.repairs else "at its first version"
        lines.append(f"It passed the critic's gates {versions}.")
    row = next((each for each in summary.rows if each.candidate_id == summary.chosen), None) if summary else None
    if summary and row and row.fitness:
        told = "One policy was" if row.seeds == 1 else f"{row.seeds} policies were"
        lines.append(
            f"{told} trained with it on fresh seeds, which were reserved before the search and opened after the winner"
            f" was frozen; each was measured from {STARTS} starts, without action noise, by a process that never loads"
            " generated code."
        )
        others = [each.candidate_id for each in summary.rows if each.candidate_id != summary.chosen and each.fitness]
        lines += [f"Compared on the same terms: {', '.join(others)}."] if others else []
        if row.success_interval and row.success_rate is not None:
            low, high = row.success_interval.low, row.success_interval.high
            lines.append(
                f"Success in {percent(row.success_rate)} of episodes; 95 % interval {percent(low)} to {percent(high)}."
            )
    if summary and summary.confirmed:
        lines.append(f"Trained once more with {number(config.confirm or 1.0)} times the steps: {summary.confirmed}.")
    if history.judgement and history.judgement.answer:
        lines.append(history.judgement.text)
    return lines or ["Nothing yet: the finals have not ended."]


def _untested(history: History, record: CandidateRecord | None) -> list[str]:
    summary, config, card = history.summary, history.config, history.card
    assert config is not None and card is not None
    lines = ["Anything but the simulator: no hardware, and no disturbance, delay or sensor noise but the task's own."]
    lines += [f"Starts beyond the {STARTS} of each seed, all drawn as the task draws them."]
    lines += ["Another learner, other networks, or other settings of this one."]
    if config.confirm is None:
        lines.append("Whether the comparison lasts with more steps of training (`--confirm`).")
    missing = [name for name in ("human", "sparse") if name not in history.baselines]
    if missing:
        lines.append(f"Against a {' or a '.join(missing)} reward: the task has none.")
    if history.judgement is None or history.judgement.answer is None:
        lines.append("Whether the behaviour is what a person would want: no language model judged it.")
    if config.ablate:
        lines.append(f"What these parts would have found, which were left out: {', '.join(config.ablate)}.")
    if summary and summary.against_human == "on par" and summary.difference:
        most = max(-summary.difference.low, summary.difference.high)
        lines.append(
            f"Differences from the human reward smaller than {number(most)}: this many seeds cannot show them."
        )
    found = record.verdict.findings if record else ()
    lines += [f"Of the gates: {each.message}" for each in found if each.detector in UNCHECKED]
    return lines
