"""Checking a task file: every breach of the task contract at once, each with a hint, and what was measured."""

from __future__ import annotations

import inspect
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import torch

from rewardgen.core.errors import RewardgenError
from rewardgen.sim import quantities
from rewardgen.sim.contract import (
    Named,
    Problem,
    state_problems,
    tensor_problems,
    termination_problems,
    variable_problems,
)
from rewardgen.sim.episodes import Recording, record_episodes, trivial_policies
from rewardgen.sim.faults import task_faults
from rewardgen.sim.mujoco_env import MujocoVecEnv
from rewardgen.sim.quantities import TurnCounter
from rewardgen.sim.variables import Var
from rewardgen.sim.vec_env import Step
from rewardgen.sim.view import Draws, SimView, stream_keys
from rewardgen.store.records import PolicyProbe, TrainerSettings
from rewardgen.tasks.card import PROBE_ENVS, probe
from rewardgen.tasks.check_declarations import declaration_problems, end_problems
from rewardgen.tasks.check_independence import independence_problems, measurement_problems
from rewardgen.tasks.check_rewards import baseline_problems, metric_problems
from rewardgen.tasks.fitness import measure_episodes
from rewardgen.tasks.mujoco_task import MujocoTask
from rewardgen.tasks.protocol import Task
from rewardgen.tasks.suspicions import fitness_notes, success_notes, unit_notes
from rewardgen.tasks.wording import wording_problems, wordless_notes

_SEED = 40_000_003
_NUM_ENVS = 5
"""Envs of the first look; odd, so that no other axis is mistaken for theirs."""
_FINITE_HINT = "guard its divisions, roots and logarithms, as with `.clamp(min=1e-6)`"

_DECLARED = "the designer of rewards knows of it only what is declared; the unit of a pure number is `1`"
_TAKEN = "`action`, `torch`, `math`, what begins with `prev_` and what has `__` in it are taken"


class Checked(NamedTuple):
    """What a check found.

    Attributes:
        problems: Breaches of the task contract.
        notes: What may be meant, and often is not.
        measured: What was measured: `observation_size`, `control_steps_per_second`, `probes` (fitness, success rate and
            endings of no action and random actions).
    """

    problems: list[Problem]
    notes: list[Problem]
    measured: dict[str, Any]


def check_task(task: Task) -> Checked:
    """Look at a task's words and settings, call each method once, then run whole episodes if that went well.

    Args:
        task: The task.

    """
    ends = end_problems(task)
    blocking = [*setting_problems(task), *ends, *([] if ends else call_problems(task))]
    problems = [*blocking, *([] if ends else wording_problems(task))]
    found = Checked(problems, [*unit_notes(task), *wordless_notes(task)], {})
    if not blocking:
        with noted(problems):
            problems += independence_problems(task)
            _check_episodes(task, found)
    return found._replace(problems=list(dict.fromkeys(problems)))


@contextmanager
def noted(problems: list[Problem]) -> Iterator[None]:
    """Turn an error that has a hint into a problem.

    Args:
        problems: It is added to them.
    """
    try:
        yield
    except RewardgenError as error:
        problems.append(Problem(error.message, error.hint))


# The class.


def setting_problems(task: Task) -> list[Problem]:
    """What is wrong with the class attributes."""
    problems = [
        Problem(f"`{name}` is {value!r}, expected a positive whole number", f"set `{name} = 1` or more")
        for name in ("frame_skip", "episode_steps")
        if not isinstance(value := getattr(task, name, 1), int) or value < 1
    ]
    problems += _value_problems(task)
    declared = task.declared()
    if not declared:
        problems.append(
            Problem("no variables are declared", 'declare some: `height = Var("m", "height of the torso")`')
        )
    problems += [
        Problem(f"variable `{name}` cannot be an input of a reward", f"choose another name: {_TAKEN}")
        for name in declared
        if name in ("action", "torch", "math") or name.startswith("prev_") or "__" in name
    ]
    training = task.training
    if not isinstance(training, Mapping) or not all(isinstance(each, TrainerSettings) for each in training.values()):
        shown = type(training).__name__ if isinstance(training, TrainerSettings) else repr(training)
        what = f"`training` is {shown}, expected the settings of trainers by their names"
        problems.append(Problem(what, 'write `training = {"ppo": PpoSettings(env_steps=300_000)}`'))
    problems += [
        Problem(
            f"variable `{name}` has no {lack}", f'write `{name} = Var("{variable.unit or "m"}", "...")`: {_DECLARED}'
        )
        for name, variable in declared.items()
        for lack, text in (("unit", variable.unit), ("meaning", variable.meaning))
        if not text.strip()
    ]
    return [*problems, *_signature_problems(task)]


def _value_problems(task: Task) -> Iterator[Problem]:
    """What is wrong with a fitness that counts as solved, and with attributes that only look like declarations."""
    solved, best = task.solved_fitness, task.best_fitness
    for name, value in (("solved_fitness", solved), ("best_fitness", best)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
            yield Problem(f"`{name}` is {value!r}, expected a number", f"write `{name} = 0.8`, or leave it out")
            return
    if solved is not None and best is not None and solved > best:
        what = f"`solved_fitness` is {solved}, which nothing reaches: `best_fitness` is {best}"
        yield Problem(what, "set it to a fitness that a good policy reaches")
    if not isinstance(task.slow, bool):
        yield Problem(f"`slow` is {task.slow!r}, expected True or False", "write `slow = True`, or leave it out")
    for name, value in vars(type(task)).items():
        if type(value).__module__ == quantities.__name__ and not isinstance(value, Var):
            read = [each for each in dir(value) if isinstance(getattr(type(value), each, None), property)]
            what = f"`{name}` is a part of the model, and no variable"
            yield Problem(
                what, f"say what is read of it, as in `{type(value).__name__}(...).{read[0]}`: {', '.join(read)}"
            )


def _signature_problems(task: Task) -> Iterator[Problem]:
    """Methods that cannot be called as they will be."""
    base = next(each for each in type(task).__mro__ if each.__module__.startswith("rewardgen."))
    scripted = ["scripted"] if base is MujocoTask and hasattr(task, "scripted") else []
    known = [
        name for name in ("reset", "variables", "observe", "terminated", "fitness", "success") if hasattr(base, name)
    ]
    for name in (*known, *scripted):  # which no base class has, and which takes what `observe` takes
        of_base = getattr(base, name if name in known else "observe")
        given = [each for each in inspect.signature(of_base).parameters if each != "self"]
        try:
            inspect.signature(getattr(task, name)).bind(*given)
        except (TypeError, ValueError):
            what = f"`{name}` cannot be called with {', '.join(f'`{each}`' for each in given)}"
            yield Problem(what, f"begin it with `def {name}(self, {', '.join(given)}):`")


# One call of each method.


def call_problems(task: Task) -> list[Problem]:
    """What is wrong with the model, and with what each method returns at the start of an episode."""
    problems: list[Problem] = []
    if isinstance(task, MujocoTask):
        with noted(problems):
            _call_each(task, problems)
    return problems


def _call_each(task: MujocoTask, problems: list[Problem]) -> None:
    simulator = task.make_simulator(_NUM_ENVS)
    view, variables = SimView(simulator), Named("variables", {})
    TurnCounter.of(view, task.declared().values())
    with noted(problems), task_faults(task.path, "reset"):
        ids = torch.arange(_NUM_ENVS, device=simulator.device)
        state = task.reset(view, Draws(stream_keys(ids)))
        wrong = state_problems(state, _NUM_ENVS, view.model.nq, view.model.nv)
        problems += wrong
        if not wrong:
            view.begin(ids, state)
    with noted(problems), task_faults(task.path, "variables"), _unchanged(view, "variables", problems):
        variables = task.read(view)
        problems += variable_problems(task.declared(), variables, _NUM_ENVS)
    for name, each in task.declared().items():
        # What is wrong with it is told; that others cannot do with it is not.
        if tensor_problems(name, variables.get(name), (_NUM_ENVS, *each.shape)):
            variables[name] = torch.zeros(_NUM_ENVS, *each.shape, dtype=torch.float64, device=simulator.device)
    with noted(problems), task_faults(task.path, "observe"), _unchanged(view, "observe", problems):
        problems += tensor_problems("the observation", task.observe(view, variables), (_NUM_ENVS, -1))
    with noted(problems), task_faults(task.path, "terminated"), _unchanged(view, "terminated", problems):
        causes = task.terminated(view, variables)
        wrong = termination_problems(causes, _NUM_ENVS)
        problems += wrong or _ended_at_start(causes)
    problems += declaration_problems(task, int(view.model.nu))
    if hasattr(task, "scripted"):
        with noted(problems), task_faults(task.path, "scripted"), _unchanged(view, "scripted", problems):
            action = task.scripted(view, variables)  # type: ignore[attr-defined]
            problems += tensor_problems("the action of `scripted`", action, (_NUM_ENVS, int(view.model.nu)))


@contextmanager
def _unchanged(view: SimView, method: str, problems: list[Problem]) -> Iterator[None]:
    """Add a problem if a method writes into the simulation: variables may be views of its state."""
    before = view.qpos.clone(), view.qvel.clone()
    yield
    if not (_same(before[0], view.qpos) and _same(before[1], view.qvel)):
        hint = "change a copy, as with `x.clone()`: tensors of `sim`, and variables taken from them, are its own state"
        problems.append(Problem(f"`{method}` changes the state of the simulation", hint))


def _same(one: torch.Tensor, other: torch.Tensor) -> bool:
    return torch.allclose(one, other, rtol=0.0, atol=0.0, equal_nan=True)


def _ended_at_start(causes: dict[str, torch.Tensor]) -> list[Problem]:
    return [
        Problem(f"an episode is over as it begins: {cause}", "fix `reset` or the condition in `terminated`")
        for cause, holds in causes.items()
        if bool(holds.any())
    ]


def _hidden_goals(task: MujocoTask, view: SimView) -> list[Problem]:
    """That policies, which see positions and velocities alone, are not told what is drawn for an episode."""
    if type(task).observe is not MujocoTask.observe:
        return []
    hint = "write `observe(self, sim, variables)`, with `super().observe(sim, variables)` and this, as columns (N, k)"
    return [
        Problem(f"policies do not see `{name}`, which is drawn for each episode", f'{hint}: `sim.goal("{name}")`')
        for name in view.goals
    ]


# Whole episodes.


def _check_episodes(task: Task, checked: Checked) -> None:
    problems, notes, measured = checked
    envs = task.make_envs([_SEED], PROBE_ENVS)
    measured["observation_size"] = envs.observation_size
    recordings: list[Recording] = []
    probes: list[PolicyProbe] = []
    values: list[float] = []
    previous = [f"prev_{name}" for name in (*envs.variables, "action")]
    started, steps = time.perf_counter(), 0
    for name, policy in trivial_policies(envs).items():
        wild: list[int] = []
        recording = record_episodes(envs, policy, names=previous, watch=partial(_note_wild, wild))
        steps += int(recording.episode.lengths.sum())
        recordings.append(recording)
        problems += finiteness_problems(recording, name)
        if wild:
            what = f"the observation is not finite at step {wild[0]} with {name} actions"
            problems.append(Problem(what, _FINITE_HINT))
    measured["control_steps_per_second"] = round(steps / (time.perf_counter() - started))
    if isinstance(task, MujocoTask) and isinstance(envs, MujocoVecEnv):
        notes += _hidden_goals(task, envs.view)
    problems += baseline_problems(task, recordings)
    unfit = metric_problems(task)
    problems += unfit
    with noted(problems):
        for name, recording in () if unfit else zip(("zero", "random"), recordings, strict=True):
            found = probe(task, name, recording)
            probes.append(found)
            values += measure_episodes(task, recording.episode).fitness.tolist()
            if task.solved_fitness is not None and found.fitness >= task.solved_fitness:
                what = f"`solved_fitness` is {task.solved_fitness}, and {name} actions reach {found.fitness}"
                problems.append(
                    Problem(what, "set it to what only a policy that does the task reaches, or leave it out")
                )
            if task.best_fitness is not None and found.fitness > task.best_fitness:
                what = f"`best_fitness` is {task.best_fitness}, and {name} actions reach {found.fitness}"
                problems.append(Problem(what, "set it to what no fitness exceeds, or leave it out"))
            problems += measurement_problems(task, recording.episode, len(getattr(envs, "agents", "1")))
    notes += [*fitness_notes(values), *success_notes([each.success_rate for each in probes])]
    measured["probes"] = [each.model_dump(mode="json") for each in probes]


def _note_wild(steps: list[int], step: Step, alive: torch.Tensor) -> None:
    """Note the step of the episode at which an observation is not finite."""
    wrong = alive & ~step.final_observation.isfinite().all(1)
    steps += step.episode_step[wrong][:1].tolist()


def finiteness_problems(recording: Recording, policy: str) -> list[Problem]:
    """Variables that are not finite at some step that an env lived.

    Args:
        recording: Recorded episodes.
        policy: What acted, for the message.
    """
    problems = []
    for name, values in recording.episode.items():
        wrong = ~values.isfinite().reshape(*values.shape[:2], -1).all(2) & recording.episode.mask
        if bool(wrong.any()):
            step = int(wrong.any(1).nonzero()[0]) + 1
            what = f"variable `{name}` is not finite at step {step} with {policy} actions"
            problems.append(Problem(what, _FINITE_HINT))
    return problems
