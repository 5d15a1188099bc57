"""Check a task file: call each method once, run whole episodes, and list every breach of the contract with a hint."""

from __future__ import annotations

import ast
import itertools
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor

from rewardgen.core.errors import did_you_mean, nearest
from rewardgen.llm.protocol import Note, silent
from rewardgen.reward.language import check_language
from rewardgen.reward.pricing import price_rows
from rewardgen.reward.program import RewardError, compile_reward
from rewardgen.reward.signature import check_signature
from rewardgen.sim import quantities
from rewardgen.sim.contract import Problem, noted
from rewardgen.sim.episodes import Episode, Recording, record_episodes, trivial_policies
from rewardgen.sim.transitions import between
from rewardgen.sim.variables import Flip, Outside, Pair, Shift, Var, Wrap, variables_of
from rewardgen.sim.vec_env import DIVERGED, Step, VecEnv
from rewardgen.store.comparisons import TERMINATED, Signal
from rewardgen.store.records import PolicyProbe, TrainerSettings
from rewardgen.tasks.card import PROBE_ENVS, probe
from rewardgen.tasks.fitness import measure_episodes
from rewardgen.tasks.loading import unread_members
from rewardgen.tasks.members import PACKAGE, OwnProgram, own_program, wording_problems
from rewardgen.tasks.protocol import (
    BASELINES,
    FITNESS,
    METRIC,
    METRIC_EXTRAS,
    Baseline,
    EpisodeMeasures,
    Task,
    metric_input_names,
)

_SEED, _ALONE, _BESIDE = 40_000_003, 50_000_017, 50_000_021
_GROUP, _TRACED_STEPS = 4, 25
_PADDING = 1e4
_QUATERNION = 4
_TRIED, _NEARLY_ALL = 64, 0.95
_DECLARED = "the designer of rewards knows of it only what is declared; the unit of a pure number is `1`"
_RESERVED = "`action`, `torch`, `math`, names that begin with `prev_` and names with `__` are reserved"
_FINITE_HINT = "guard its divisions, roots and logarithms, as with `.clamp(min=1e-6)`"


Sizes = Mapping[str, int | None]
"""Parts of each variable; None if unknown."""


class Checked(NamedTuple):
    """Result of a check.

    Attributes:
        problems: Breaches of the task contract.
        notes: Likely mistakes.
        measured: `observation_size`, `control_steps_per_second`, and `probes`: fitness, success rate and endings of
            no action and of random actions.
    """

    problems: list[Problem]
    notes: list[Problem]
    measured: dict[str, Any]


def check_task(task: Task, note: Note = silent, *, quick: bool = False) -> Checked:
    """Check a task's words and settings, call each method once, then run whole episodes if nothing is wrong.

    `note` receives each slow part as it begins. A `quick` check runs no episodes.
    """
    ends = end_problems(task)
    note("calling each method once")
    called, notes = ([], []) if ends else task.call_problems()
    blocking = [*setting_problems(task), *ends, *called, *([] if ends else declaration_problems(task))]
    problems = [*blocking, *([] if ends else wording_problems(task))]
    checked = Checked(problems, [*notes, *_unread_notes(task)], {})
    if not blocking:
        with noted(problems):
            checked.notes.extend(_level_notes(task))
            if quick:
                problems += metric_problems(task)
                return checked
            note("comparing episodes of the same seed")
            problems += independence_problems(task)
            _check_episodes(task, checked, note)
    return checked._replace(problems=list(dict.fromkeys(problems)))


# Whole episodes.


def _check_episodes(task: Task, checked: Checked, note: Note) -> None:
    problems, notes, measured = checked
    envs = task.make_envs([_SEED], PROBE_ENVS)
    measured["observation_size"] = envs.observation_size
    if wrong := declaration_problems(task, envs.action_size):
        problems += wrong
        return
    recordings: list[Recording] = []
    previous = [f"prev_{name}" for name in (*envs.variables, "action")]
    started, steps = time.perf_counter(), 0
    for name, policy in trivial_policies(envs).items():
        note(f"running {PROBE_ENVS} episodes of {name} actions, {task.episode_steps} steps each")
        infinite: list[int] = []
        recording = record_episodes(envs, policy, names=previous, watch=partial(_note_infinite, infinite))
        steps += int(recording.episode.lengths.sum())
        recordings.append(recording)
        problems += finiteness_problems(recording, name)
        if infinite:
            message = f"the observation is not finite at step {infinite[0]} with {name} actions"
            problems.append(Problem(message, _FINITE_HINT))
    met = {cause for recording in recordings for cause in recording.endings}
    notes += _degree_notes(task, met)
    if DIVERGED in met:
        hint = "often an actuator's range in degrees where the model means radians, or a time step that is too long"
        notes.append(Problem("the physics diverges in some of these episodes", hint))
    measured["control_steps_per_second"] = round(steps / (time.perf_counter() - started))
    problems += baseline_problems(task, recordings)
    faults = metric_problems(task)
    problems += faults
    with noted(problems):
        _check_measures(task, checked, [] if faults else recordings, max(1, len(envs.agents)))


def _check_measures(task: Task, checked: Checked, recordings: Sequence[Recording], agents: int) -> None:
    problems, notes, measured = checked
    probes: list[PolicyProbe] = []
    values: list[float] = []
    successes: list[bool] = []
    for name, recording in zip(("zero", "random"), recordings, strict=False):
        result = probe(task, name, recording)
        probes.append(result)
        hidden = set() if task.has_fitness else {"fitness", "success_rate", "parts"}
        measured.setdefault("probes", []).append(result.model_dump(mode="json", exclude=hidden))
        measures = measure_episodes(task, recording.episode)
        values += measures.fitness.tolist()
        successes += measures.success.tolist()
        solved, best = task.solved_fitness, task.best_fitness
        if solved is not None and result.fitness >= solved:
            message = f"`solved_fitness` is {solved}, and {name} actions reach {result.fitness}"
            problems.append(Problem(message, "set it to what only a policy that does the task reaches"))
        if best is not None and result.fitness > best:
            message = f"`best_fitness` is {best}, and {name} actions reach {result.fitness}"
            problems.append(Problem(message, "set it to what no fitness exceeds"))
        problems += measurement_problems(task, recording.episode, agents)
    if len(set(values)) == 1 and task.has_fitness:
        message = f"the fitness is {values[0]:g} in all {len(values)} episodes of no action and of random actions"
        hint = "that is right if all do equally badly, but a fitness that grows on the way there tells rewards apart"
        notes.append(Problem(message, hint))
    notes += _success_notes(probes, torch.tensor(values), torch.tensor(successes, dtype=torch.bool))


def _success_notes(probes: Sequence[PolicyProbe], fitness: Tensor, success: Tensor) -> Iterator[Problem]:
    """Find a `success` that is met without the task, or that contradicts the fitness of the same episodes, (N,)."""
    for result in probes:
        if result.doubt:
            yield Problem(result.doubt, "ask in `success` for what only a policy that does the task reaches")
    good, bad = (float(fitness[episodes].mean()) for episodes in (success, ~success))
    if good < bad:  # not so where one of them is NaN, the mean of no episodes
        message = f"of these episodes the successes have a mean fitness of {good:.3g}, the others of {bad:.3g}"
        yield Problem(message, "`fitness` should be higher where `success` holds: one of them measures something else")


def _note_infinite(steps: list[int], step: Step, alive: Tensor) -> None:
    wrong = alive & ~step.final_observation.isfinite().all(1)
    steps += step.episode_step[wrong][:1].tolist()


def finiteness_problems(recording: Recording, policy: str) -> list[Problem]:
    """Find variables that are not finite at some step of the recorded episodes of a policy."""
    problems = []
    for name, values in recording.episode.items():
        wrong = ~values.isfinite().reshape(*values.shape[:2], -1).all(2) & recording.episode.mask
        if bool(wrong.any()):
            step = int(wrong.any(1).nonzero()[0]) + 1
            message = f"variable `{name}` is not finite at step {step} with {policy} actions"
            problems.append(Problem(message, _FINITE_HINT))
    return problems


# Independence.


def independence_problems(task: Task) -> list[Problem]:
    """Check that a seed gives the same episodes again, and the same among other envs as alone."""
    first, again = (_trace(task.make_envs([_ALONE], _GROUP), 1) for _ in range(2))
    if not _close(first, again):
        hint = "keep nothing on the task between calls, and draw all random numbers from `draw`"
        hint += ", or from `self.np_random` in an environment"
        return [Problem("the same seed and actions give different episodes", hint)]
    among = _trace(task.make_envs([_BESIDE, _ALONE], _GROUP), 2)
    if not _close(first, among[:, first.shape[1] :]):
        hint = "compute each env from its own row: no means or maxima over the first axis, no running state"
        return [Problem("an env's episode changes with the envs beside it", hint)]
    return []


def _trace(envs: VecEnv, groups: int) -> Tensor:
    """Return observations and variables of a few steps, (T, N, k), with the same actions for each group of envs."""
    generator = torch.Generator(envs.device).manual_seed(_ALONE)
    span = envs.action_high - envs.action_low
    first, rows = envs.reset(), []
    for _ in range(_TRACED_STEPS):
        noise = torch.rand(envs.num_envs // groups, envs.action_size, generator=generator, device=envs.device)
        step = envs.step(envs.action_low + span * noise.repeat(groups, 1))
        inputs = (value.reshape(len(value), -1) for value in step.inputs.values())
        rows.append(torch.cat((step.observation, *inputs), 1))
    first = torch.nn.functional.pad(first, (0, rows[0].shape[1] - first.shape[1]))
    return torch.stack([first, *rows])


def _close(one: Tensor, other: Tensor) -> bool:
    # Batched operations may round differently at another batch size; a dependence shows far above that.
    return torch.allclose(one, other, rtol=1e-4, atol=1e-5, equal_nan=True)


def measurement_problems(task: Task, episode: Episode, together: int = 1) -> list[Problem]:
    """Check that fitness and success read only the steps lived, and each env (or game of `together` agents) alone."""
    measures, problems = measure_episodes(task, episode), []
    if not _equal(measures, measure_episodes(task, _with_other_padding(episode))):
        hint = "use `episode.mean`, `total`, `last`, `share` or `mask`, which heed each env's length"
        problems.append(Problem("fitness or success reads steps after an episode's end", hint))
    half = len(measures.fitness) // together // 2 * together
    for part in (slice(half), slice(half, None)):
        own = measures._replace(fitness=measures.fitness[part], success=measures.success[part])
        if not _equal(own, measure_episodes(task, episode.of_envs(part))):
            hint = "reduce over steps only, never over envs"
            return [*problems, Problem("the fitness or success of an env depends on the envs beside it", hint)]
    return problems


def _equal(one: EpisodeMeasures, other: EpisodeMeasures) -> bool:
    close = torch.allclose(one.fitness, other.fitness, rtol=1e-4, atol=1e-6)
    return close and bool((one.success == other.success).all())


def _with_other_padding(episode: Episode) -> Episode:
    """Return the same episodes with other values, and one more step, after each end."""
    values = {name: torch.cat((value, value[-1:])) for name, value in episode.items()}
    longer = Episode(values, episode.lengths, episode.terminated, episode.control_step_s, episode.max_steps)
    for value in values.values():
        value[~longer.mask] = _PADDING if value.is_floating_point() else 0
    return longer


# Class attributes.


def setting_problems(task: Task) -> list[Problem]:
    """Check the class attributes."""
    problems = [
        Problem(f"`{name}` is {value!r}, expected a positive whole number", f"set `{name} = 1` or more")
        for name in ("frame_skip", "episode_steps")
        if not isinstance(value := getattr(task, name, 1), int) or value < 1
    ]
    problems += [
        Problem(f"`{name}` is {value!r}, expected a number", f"set it to one, such as `{name} = 1.0`, or leave it out")
        for name in ("solved_fitness", "best_fitness")
        if not isinstance(value := getattr(task, name), int | float | None)
    ]
    declared, training = task.declared(), task.training
    if not declared:
        hint = 'declare some: `height = Var("m", "height of the torso")`'
        problems.append(Problem("no variables are declared", hint))
    for name, variable in declared.items():
        if name in ("action", "torch", "math") or name.startswith("prev_") or "__" in name:
            message = f"variable `{name}` cannot be an input of a reward"
            problems.append(Problem(message, f"choose another name: {_RESERVED}"))
        for lack, text in (("unit", variable.unit), ("meaning", variable.meaning)):
            if not text.strip():
                hint = f'write `{name} = Var("{variable.unit or "m"}", "...")`: {_DECLARED}'
                problems.append(Problem(f"variable `{name}` has no {lack}", hint))
    if not isinstance(training, Mapping) or not all(isinstance(one, TrainerSettings) for one in training.values()):
        kind = type(training).__name__ if isinstance(training, TrainerSettings) else repr(training)
        message = f"`training` is {kind}, expected the settings of trainers by their names"
        problems.append(Problem(message, 'write `training = {"ppo": PpoSettings(env_steps=300_000)}`'))
    return [*problems, *_value_problems(task)]


def _level_notes(task: Task) -> Iterator[Problem]:
    """Begin episodes at each level; find levels that begin as the task itself."""
    for level in task.levels:
        envs = task.make_envs([_SEED], PROBE_ENVS)
        own, known = envs.reset(anew=True), {name: values.clone() for name, values in envs.variables_now().items()}
        envs.ease(level)
        same = envs.reset(anew=True).equal(own)
        if same and all(values.equal(known[name]) for name, values in envs.variables_now().items()):
            yield Problem(f"episodes at level {level} begin as the task's own", "read `draw.difficulty` in `reset`")


def _unread_notes(task: Task) -> Iterator[Problem]:
    """Find values of the class that nothing reads, such as `control_dt = 0.02`."""
    source = task.path.read_text(errors="replace")
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)]
    read = {node.id for node in nodes if isinstance(node.ctx, ast.Load)}  # in the body of the class
    unread, names = unread_members(type(task), source)
    for name, value in unread.items():
        if name not in read and not hasattr(value, "__get__") and type(value).__module__ != quantities.__name__:
            close = nearest(name, names)
            hint = "delete it, or begin names of your own with `_`; docs/tasks.md lists the settings"
            yield Problem(
                f"nothing reads `{name}` of the class", f"did you mean `{close}`? or {hint}" if close else hint
            )


def _value_problems(task: Task) -> Iterator[Problem]:
    if not task.has_fitness:
        own = {name for base in type(task).__mro__ if not base.__module__.startswith(PACKAGE) for name in vars(base)}
        names = [name for name in ("success", METRIC, "solved_fitness", "best_fitness") if name in own]
        if names:
            message = f"the class has `{names[0]}`, and `{FITNESS} = None`"
            yield Problem(message, "leave one of them out: episodes of a task without a fitness are compared")
    nodes = ast.walk(ast.parse(task.path.read_text(errors="replace")))
    for part in (part for node in nodes if isinstance(node, ast.Compare) for part in node.comparators):
        match part:
            case ast.BinOp(left=ast.Constant(), op=ast.BitAnd() | ast.BitOr()):  # torch computes `x > 1 & flags`
                message = f"line {part.lineno}: `&` and `|` bind before comparisons, here in `{ast.unparse(part)}`"
                yield Problem(message, "write parentheses around each comparison")
    levels: Any = task.levels
    numbers = isinstance(levels, tuple | list) and all(isinstance(level, int | float) for level in levels)
    if not numbers or any(later <= earlier for earlier, later in itertools.pairwise((0.0, *levels, 1.0))):
        message = f"`levels` is {levels!r}, expected difficulties that rise between 0 and 1"
        yield Problem(message, "write `levels = (0.3, 0.6)`; the task itself, 1, comes last by itself")
    for name, value in vars(type(task)).items():
        if type(value).__module__ == quantities.__name__ and not isinstance(value, Var):
            names = [name for name in dir(value) if isinstance(getattr(type(value), name, None), property)]
            hint = f"say what is read of it, as in `{type(value).__name__}(...).{names[0]}`: {', '.join(names)}"
            yield Problem(f"`{name}` is a part of the model, and no variable", hint)


# Pairs, invariances and ends.


def declaration_problems(task: Task, action_size: int | None = None) -> list[Problem]:
    """Check `pairs`, `invariances`, `signals` and `ends`; the number of values of `action` once its size is known."""
    sizes: Sizes = {name: len(variable.parts) for name, variable in task.declared().items()} | {"action": action_size}
    problems: list[Problem] = []
    for name, kinds, check, example in (
        ("pairs", Pair, _pair_problems, 'Pair("near beats far", better={...}, worse={...})'),
        ("invariances", (Shift, Flip, Wrap), _invariance_problems, 'Shift("x_position", 3.0)'),
        ("signals", Signal, _signal_problems, 'Signal("height", at="max")'),
    ):
        declared: Any = getattr(task, name)
        if not isinstance(declared, tuple) or not all(isinstance(item, kinds) for item in declared):
            hint = f"write `{name} = ({example},)`"
            problems.append(Problem(f"`{name}` is not a tuple of what it should hold", hint))
        else:
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
    if not isinstance(ends, Mapping) or not all(isinstance(end, Outside) for end in ends.values()):
        hint = 'write `ends = {"fell": Outside("height", low=0.5)}`'
        return [Problem(f"`ends` is {ends!r}, expected conditions by their names", hint)]
    code = getattr(vars(type(task)).get("terminated"), "__code__", None)
    if ends and code and not {"super", "ends"}.intersection(code.co_names):
        hint = "return `{**super().terminated(sim, variables), ...}`, or leave out one of the two"
        return [Problem("nothing reads `ends`, for the task has its own `terminated`", hint)]
    return []


def _degree_notes(task: Task, met: set[str]) -> Iterator[Problem]:
    """Find ends other than those that episodes `met` whose bound of an angle looks like degrees."""
    declared = task.declared()
    for cause, end in getattr(task, "ends", {}).items():
        bounds = [bound for bound in (end.low, end.high) if 2.0 * math.pi < abs(bound) < math.inf]
        if bounds and cause not in met and declared[end.variable].unit == "rad":
            yield Problem(
                f"no episode ends by `{cause}`: `{end.variable}` is in radians, and {bounds[0]:g} looks like degrees",
                f"write {math.radians(bounds[0]):.3g} for {bounds[0]:g} degrees",
            )


def _pair_problems(pair: Pair, sizes: Sizes) -> Iterator[Problem]:
    where = f"pair `{pair.name}`"
    if set(pair.better) != set(pair.worse):
        names = ", ".join(f"`{name}`" for name in sorted(set(pair.better) ^ set(pair.worse)))
        yield Problem(f"{where} sets {names} on one side only", "set it on both")
    for name, value in (*pair.better.items(), *pair.worse.items()):
        yield from _situation_problems(where, name, value, sizes)


def _invariance_problems(invariance: Shift | Flip | Wrap, sizes: Sizes) -> Iterator[Problem]:
    where = f"{type(invariance).__name__} of {', '.join(f'`{name}`' for name in variables_of(invariance))}"
    for name in variables_of(invariance):
        if isinstance(invariance, Shift):
            yield from _situation_problems(where, name, invariance.amount, sizes)
        elif name not in sizes:
            yield _unknown(where, name, sizes)
        elif sizes[name] != (_QUATERNION if isinstance(invariance, Flip) else 0):
            kind = "a quaternion of four parts" if isinstance(invariance, Flip) else "a single angle"
            yield Problem(f"{where}: `{name}` is not {kind}", "declare its parts, such as w, x, y, z, accordingly")


def _situation_problems(where: str, name: str, value: Any, sizes: Sizes) -> Iterator[Problem]:
    if name not in sizes:
        yield _unknown(where, name, sizes)
    elif isinstance(value, Sequence) and sizes[name] not in (None, len(value)):
        hint = "give a number for all parts, or a tuple of one per part"
        yield Problem(f"{where}: `{name}` is given {len(value)} values and has {sizes[name] or 1} parts", hint)


def _signal_problems(signal: Signal, sizes: Sizes) -> Iterator[Problem]:
    if signal.variable not in sizes and signal.variable != TERMINATED:
        yield _unknown(f"signal `{signal.name}`", signal.variable, sizes)
    elif sizes.get(signal.variable):
        yield Problem(f"signal `{signal.name}` is about a vector", "name a scalar")
    if (
        signal.at not in ("mean", "last", "max", "min")
        or signal.better not in ("high", "low")
        or not signal.margin >= 0
    ):
        hint = "`at` is mean, last, max or min; `better` is high or low; `margin` is 0 or more"
        yield Problem(f"signal `{signal.name}` cannot be read", hint)


def _unknown(where: str, name: str, sizes: Sizes) -> Problem:
    return Problem(f"{where} names `{name}`, which is no variable", did_you_mean(name, sizes))


# The task's own rewards, and its metric.


def baseline_problems(task: Task, recordings: Sequence[Recording]) -> list[Problem]:
    """Check `human_reward` and `sparse_reward` on recorded episodes with every input of rewards."""
    problems: list[Problem] = []
    inputs = {
        name: torch.cat([recording.inputs[name][recording.episode.mask] for recording in recordings])
        for name in recordings[0].inputs
    }
    for name in BASELINES:
        with noted(problems):
            if program := own_program(task, name):
                faults = _form_problems(program, tuple(inputs)) or _value_faults(program, inputs)
                problems += faults or _contradictions(task, name, program, inputs)
    return problems


def metric_problems(task: Task) -> list[Problem]:
    """Check the form of the task's `metric`, if it has one."""
    problems: list[Problem] = []
    with noted(problems):
        if program := own_program(task, METRIC):
            hint = f"choose another name: `{METRIC}` has an input of that name"
            names = [name for name in METRIC_EXTRAS if name in task.declared()]
            problems += [Problem(f"variable `{name}` is no input of `{METRIC}`", hint) for name in names]
            problems += [] if names else _form_problems(program, metric_input_names(task.declared()))
    return problems


def _form_problems(program: OwnProgram, names: Sequence[str]) -> list[Problem]:
    # Stop at the signature: a misnamed input would show again where the body uses the right name.
    findings = check_signature(program.source, names) or check_language(program.source)
    faults = [program.fault(finding.line, finding.message, finding.hint) for finding in findings]
    return [Problem(fault.message, fault.hint) for fault in faults]


def _value_faults(program: OwnProgram, inputs: dict[str, Tensor]) -> list[Problem]:
    """Find a failure, and a component of one env that depends on the others."""
    half = len(next(iter(inputs.values()))) // 2
    try:
        reward = compile_reward(program.source)
        among = price_rows(reward, inputs)
        for part in (slice(half), slice(half, None)):
            alone = price_rows(reward, {name: values[part] for name, values in inputs.items()})
            for name, value in among.items():
                if not torch.allclose(value[part], alone[name], rtol=0.0, atol=1e-4 * float(value.abs().max())):
                    message = f"component `{name}` of one env changes with the other envs"
                    hint = "reduce over the last axis of (N, k) only: `.sum(-1)`"
                    raise RewardError(message, None, "exception", hint)
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
            message = f"`{name}` pays more for the worse side of the pair `{pair.name}`"
            problems.append(Problem(message, "one of the two is wrong: fix the pair or the reward"))
    return problems
