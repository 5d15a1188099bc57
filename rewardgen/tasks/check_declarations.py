"""Check the class attributes of a task, and its members in the reward language."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from rewardgen.core.errors import TaskError, did_you_mean
from rewardgen.reward.language import check_language
from rewardgen.reward.pricing import price_rows
from rewardgen.reward.program import RewardError, compile_reward
from rewardgen.reward.signature import check_signature
from rewardgen.sim import quantities
from rewardgen.sim.contract import Problem
from rewardgen.sim.episodes import Recording
from rewardgen.sim.situations import between
from rewardgen.sim.variables import Flip, Outside, Pair, Shift, Var, Wrap, variables_of
from rewardgen.store.records import TrainerSettings
from rewardgen.tasks.baselines import OwnProgram, own_program
from rewardgen.tasks.protocol import BASELINES, METRIC, METRIC_EXTRAS, Baseline, Task, metric_input_names

_QUATERNION = 4
_TRIED, _NEARLY_ALL = 64, 0.95
_DECLARED = "the designer of rewards knows of it only what is declared; the unit of a pure number is `1`"
_RESERVED = "`action`, `torch`, `math`, names that begin with `prev_` and names with `__` are reserved"


def setting_problems(task: Task) -> list[Problem]:
    """Check the class attributes."""
    problems = [
        Problem(f"`{name}` is {value!r}, expected a positive whole number", f"set `{name} = 1` or more")
        for name in ("frame_skip", "episode_steps")
        if not isinstance(value := getattr(task, name, 1), int) or value < 1
    ]
    declared, training = task.declared(), task.training
    if not declared:
        hint = 'declare some: `height = Var("m", "height of the torso")`'
        problems.append(Problem("no variables are declared", hint))
    for name, variable in declared.items():
        if name in ("action", "torch", "math") or name.startswith("prev_") or "__" in name:
            what = f"variable `{name}` cannot be an input of a reward"
            problems.append(Problem(what, f"choose another name: {_RESERVED}"))
        for lack, text in (("unit", variable.unit), ("meaning", variable.meaning)):
            if not text.strip():
                hint = f'write `{name} = Var("{variable.unit or "m"}", "...")`: {_DECLARED}'
                problems.append(Problem(f"variable `{name}` has no {lack}", hint))
    if not isinstance(training, Mapping) or not all(isinstance(one, TrainerSettings) for one in training.values()):
        kind = type(training).__name__ if isinstance(training, TrainerSettings) else repr(training)
        what = f"`training` is {kind}, expected the settings of trainers by their names"
        problems.append(Problem(what, 'write `training = {"ppo": PpoSettings(env_steps=300_000)}`'))
    return [*problems, *_value_problems(task)]


def _value_problems(task: Task) -> Iterator[Problem]:
    solved, best = task.solved_fitness, task.best_fitness
    for name, value in (("solved_fitness", solved), ("best_fitness", best)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
            yield Problem(f"`{name}` is {value!r}, expected a number", f"write `{name} = 0.8`, or leave it out")
            return
    if solved is not None and best is not None and solved > best:
        what = f"`solved_fitness` is {solved}, which nothing reaches: `best_fitness` is {best}"
        yield Problem(what, "set it to a fitness that a good policy reaches")
    for name, value in vars(type(task)).items():
        if type(value).__module__ == quantities.__name__ and not isinstance(value, Var):
            names = [each for each in dir(value) if isinstance(getattr(type(value), each, None), property)]
            hint = f"say what is read of it, as in `{type(value).__name__}(...).{names[0]}`: {', '.join(names)}"
            yield Problem(f"`{name}` is a part of the model, and no variable", hint)


# Pairs, invariances and ends.


def declaration_problems(task: Task, action_size: int) -> list[Problem]:
    """Check `pairs`, `invariances` and `ends` of a task with `action_size` actuators."""
    sizes = {name: len(variable.parts) for name, variable in task.declared().items()} | {"action": action_size}
    problems: list[Problem] = []
    for name, kinds, hint in (
        ("pairs", Pair, 'write `pairs = (Pair("near beats far", better={...}, worse={...}),)`'),
        ("invariances", (Shift, Flip, Wrap), 'write `invariances = (Shift("x_position", 3.0),)`'),
    ):
        declared: Any = getattr(task, name)
        if not isinstance(declared, tuple) or not all(isinstance(item, kinds) for item in declared):
            problems.append(Problem(f"`{name}` is not a tuple of what it should hold", hint))
        else:
            check = _pair_problems if name == "pairs" else _invariance_problems
            problems += [problem for item in declared for problem in check(item, sizes)]
    for cause, end in getattr(task, "ends", {}).items():
        if end.variable not in sizes:
            problems.append(_unknown(f"end `{cause}`", end.variable, sizes))
        elif sizes[end.variable]:
            problems.append(Problem(f"end `{cause}` is about `{end.variable}`, which is a vector", "name a scalar"))
    return problems


def end_problems(task: Task) -> list[Problem]:
    """Check the form of `ends`, and that the task's own `terminated` does not hide it."""
    ends: Any = getattr(task, "ends", {})
    example = '`ends = {"fell": Outside("height", low=0.5)}`'
    if not isinstance(ends, Mapping) or not all(isinstance(end, Outside) for end in ends.values()):
        return [Problem(f"`ends` is {ends!r}, expected conditions by their names", f"write {example}")]
    problems = [
        Problem(f"end `{cause}` has no bound, so it ends nothing", f"give it `low`, `high` or both: {example}")
        for cause, end in ends.items()
        if not (math.isfinite(end.low) or math.isfinite(end.high))
    ]
    code = getattr(vars(type(task)).get("terminated"), "__code__", None)
    if ends and code and not {"super", "ends"}.intersection(code.co_names):
        hint = "return `{**super().terminated(sim, variables), ...}`, or leave out one of the two"
        problems.append(Problem("nothing reads `ends`, for the task has its own `terminated`", hint))
    return problems


def _pair_problems(pair: Pair, sizes: Mapping[str, int]) -> Iterator[Problem]:
    where = f"pair `{pair.name}`"
    if set(pair.better) != set(pair.worse):
        names = ", ".join(f"`{name}`" for name in sorted(set(pair.better) ^ set(pair.worse)))
        yield Problem(f"{where} sets {names} on one side only", "set it on both")
    for name, value in (*pair.better.items(), *pair.worse.items()):
        yield from _situation_problems(where, name, value, sizes)


def _invariance_problems(invariance: Shift | Flip | Wrap, sizes: Mapping[str, int]) -> Iterator[Problem]:
    where = f"{type(invariance).__name__} of {', '.join(f'`{name}`' for name in variables_of(invariance))}"
    for name in variables_of(invariance):
        if isinstance(invariance, Shift):
            yield from _situation_problems(where, name, invariance.amount, sizes)
        elif name not in sizes:
            yield _unknown(where, name, sizes)
        elif sizes[name] != (_QUATERNION if isinstance(invariance, Flip) else 0):
            kind = "a quaternion of four parts" if isinstance(invariance, Flip) else "a single angle"
            yield Problem(f"{where}: `{name}` is not {kind}", "declare its parts, such as w, x, y, z, accordingly")


def _situation_problems(where: str, name: str, value: Any, sizes: Mapping[str, int]) -> Iterator[Problem]:
    if name not in sizes:
        yield _unknown(where, name, sizes)
    elif isinstance(value, Sequence) and len(value) != sizes[name]:
        hint = "give a number for all parts, or a tuple of one per part"
        yield Problem(f"{where}: `{name}` is given {len(value)} values and has {sizes[name] or 1} parts", hint)


def _unknown(where: str, name: str, sizes: Mapping[str, int]) -> Problem:
    return Problem(f"{where} names `{name}`, which is no variable", did_you_mean(name, sizes))


# The task's own rewards, and its metric.


def baseline_problems(task: Task, recordings: Sequence[Recording]) -> list[Problem]:
    """Check `human_reward` and `sparse_reward` on recorded episodes with every input of rewards."""
    problems = []
    inputs = {
        name: torch.cat([recording.inputs[name][recording.episode.mask] for recording in recordings])
        for name in recordings[0].inputs
    }
    for name in BASELINES:
        try:
            program = own_program(task, name)
        except TaskError as error:
            problems.append(Problem(error.message, error.hint))
            continue
        if program is not None:
            faults = _form_problems(program, tuple(inputs)) or _value_faults(program, inputs)
            problems += faults or _contradictions(task, name, program, inputs)
    return problems


def metric_problems(task: Task) -> list[Problem]:
    """Check the form of the task's `metric`, if it has one."""
    try:
        program = own_program(task, METRIC)
    except TaskError as error:
        return [Problem(error.message, error.hint)]
    if program is None:
        return []
    hint = f"choose another name: `{METRIC}` has an input of that name"
    hidden = [
        Problem(f"variable `{name}` is no input of `{METRIC}`", hint)
        for name in METRIC_EXTRAS
        if name in task.declared()
    ]
    return hidden or _form_problems(program, metric_input_names(task.declared()))


def _form_problems(program: OwnProgram, names: Sequence[str]) -> list[Problem]:
    # Stop at the signature: a misnamed input would show again where the body uses the right name.
    findings = check_signature(program.source, names) or check_language(program.source)
    faults = [program.fault(finding.line, finding.message, finding.hint) for finding in findings]
    return [Problem(fault.message, fault.hint) for fault in faults]


def _value_faults(program: OwnProgram, inputs: dict[str, Tensor]) -> list[Problem]:
    try:
        price_rows(compile_reward(program.source), inputs)
    except RewardError as error:
        fault = program.fault(error.line, error.message, error.hint)
        return [Problem(fault.message, fault.hint)]
    return []


def _contradictions(task: Task, name: Baseline, program: OwnProgram, inputs: dict[str, Tensor]) -> list[Problem]:
    """Find pairs that the task's own reward ranks the wrong way round nearly everywhere."""
    reward = compile_reward(program.source)
    count = len(next(iter(inputs.values())))
    chosen = torch.linspace(0, count - 1, min(_TRIED, count)).long()
    rows = {variable: value[chosen] for variable, value in inputs.items()}
    problems = []
    for pair in task.pairs:
        total = torch.stack(tuple(price_rows(reward, between(rows, pair, torch.tensor([0.0, 1.0]))).values())).sum(0)
        worse, better = total.view(2, -1)
        if bool((worse > better).float().mean() > _NEARLY_ALL):
            what = f"`{name}` pays more for the worse side of the pair `{pair.name}`"
            problems.append(Problem(what, "one of the two is wrong: fix the pair or the reward"))
    return problems
