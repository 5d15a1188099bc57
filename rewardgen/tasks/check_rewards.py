"""Checking what a task file has in the reward language: its rewards, with values over recorded episodes; its metric."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from rewardgen.core.errors import TaskError
from rewardgen.reward.language import check_language
from rewardgen.reward.pricing import price_rows
from rewardgen.reward.program import RewardError, compile_reward
from rewardgen.reward.signature import check_signature
from rewardgen.sim.contract import Problem
from rewardgen.sim.episodes import Recording
from rewardgen.sim.situations import between
from rewardgen.tasks.baselines import BASELINES, Baseline, OwnProgram, own_program
from rewardgen.tasks.metric_contract import EXTRAS, METRIC, valid_inputs
from rewardgen.tasks.protocol import Task

_TRIED, _NEARLY_ALL = 64, 0.95


def baseline_problems(task: Task, recordings: Sequence[Recording]) -> list[Problem]:
    """What is wrong with `human_reward` and `sparse_reward`, if the task has them.

    Args:
        task: The task.
        recordings: Recorded episodes to run them on, with every input of rewards.
    """
    problems = []
    inputs = _inputs(recordings)
    for name in BASELINES:
        try:
            program = own_program(task, name)
        except TaskError as error:
            problems.append(_told(error))
            continue
        if program is not None:
            found = _form_problems(program, tuple(inputs)) or _call_problems(program, inputs)
            problems += found or _contradictions(task, name, program, inputs)
    return problems


def metric_problems(task: Task) -> list[Problem]:
    """What is wrong with the form of the task's `metric`, if it has one. Its values show where it measures episodes.

    Args:
        task: The task.
    """
    try:
        program = own_program(task, METRIC)
    except TaskError as error:
        return [_told(error)]
    if program is None:
        return []
    hint = f"choose another name: `{METRIC}` has an input of that name"
    hidden = [
        Problem(f"variable `{name}` is no input of `{METRIC}`", hint) for name in EXTRAS if name in task.declared()
    ]
    return hidden or _form_problems(program, valid_inputs(task.declared()))


def _inputs(recordings: Sequence[Recording]) -> dict[str, Tensor]:
    """Inputs of rewards at all steps lived, (M, ...)."""
    return {
        name: torch.cat([each.inputs[name][each.episode.mask] for each in recordings]) for name in recordings[0].inputs
    }


def _form_problems(program: OwnProgram, valid: Sequence[str]) -> list[Problem]:
    # A misnamed input would show a second time, where the body uses the right name.
    findings = check_signature(program.source, valid) or check_language(program.source)
    return [_told(program.fault(each.line, each.message, each.hint)) for each in findings]


def _call_problems(program: OwnProgram, inputs: dict[str, Tensor]) -> list[Problem]:
    try:
        price_rows(compile_reward(program.source), inputs)
    except RewardError as error:
        return [_told(program.fault(error.line, error.message, error.hint))]
    return []


def _contradictions(task: Task, name: Baseline, program: OwnProgram, inputs: dict[str, Tensor]) -> list[Problem]:
    """Pairs that the task's own reward has the wrong way round wherever it is tried."""
    reward = compile_reward(program.source)
    count = len(next(iter(inputs.values())))
    chosen = torch.linspace(0, count - 1, min(_TRIED, count)).long()
    rows = {each: value[chosen] for each, value in inputs.items()}
    problems = []
    for pair in task.pairs:
        total = torch.stack(tuple(price_rows(reward, between(rows, pair, torch.tensor([0.0, 1.0]))).values())).sum(0)
        worse, better = total.view(2, -1)
        if bool((worse > better).float().mean() > _NEARLY_ALL):
            what = f"`{name}` pays more for the worse side of the pair `{pair.name}`"
            problems.append(Problem(what, "one of the two is wrong: fix the pair or the reward"))
    return problems


def _told(error: TaskError) -> Problem:
    return Problem(error.message, error.hint)
