"""Check a task file: call each method once, run whole episodes, and list every breach of the contract with a hint."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor

from rewardgen.core.errors import RewardgenError
from rewardgen.sim.contract import (
    Named,
    Problem,
    state_problems,
    tensor_problems,
    termination_problems,
    variable_problems,
)
from rewardgen.sim.draws import Draws, stream_keys
from rewardgen.sim.episodes import Episode, Recording, record_episodes, trivial_policies
from rewardgen.sim.faults import task_faults
from rewardgen.sim.mujoco_env import MujocoVecEnv
from rewardgen.sim.quantities import TurnCounter
from rewardgen.sim.sim_view import SimView
from rewardgen.sim.vec_env import Step, VecEnv
from rewardgen.store.records import PolicyProbe
from rewardgen.tasks.card import PROBE_ENVS, probe
from rewardgen.tasks.check_declarations import (
    baseline_problems,
    declaration_problems,
    end_problems,
    metric_problems,
    setting_problems,
)
from rewardgen.tasks.fitness import measure_episodes
from rewardgen.tasks.mujoco_task import MujocoTask
from rewardgen.tasks.protocol import EpisodeMeasures, Task
from rewardgen.tasks.wording import wording_problems

_SEED, _ALONE, _BESIDE = 40_000_003, 50_000_017, 50_000_021
_NUM_ENVS = 5
"""Envs of the first calls; odd, to be told from every other axis."""
_GROUP, _TRACED_STEPS = 4, 25
_PADDING = 1e4
_FINITE_HINT = "guard its divisions, roots and logarithms, as with `.clamp(min=1e-6)`"


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


def check_task(task: Task) -> Checked:
    """Check a task's words and settings, call each method once, then run whole episodes if nothing is wrong."""
    ends = end_problems(task)
    blocking = [*setting_problems(task), *ends, *([] if ends else call_problems(task))]
    problems = [*blocking, *([] if ends else wording_problems(task))]
    checked = Checked(problems, [], {})
    if not blocking:
        with noted(problems):
            problems += independence_problems(task)
            _check_episodes(task, checked)
    return checked._replace(problems=list(dict.fromkeys(problems)))


@contextmanager
def noted(problems: list[Problem]) -> Iterator[None]:
    """Add an error to a list of problems instead of raising it."""
    try:
        yield
    except RewardgenError as error:
        problems.append(Problem(error.message, error.hint))


# One call of each method.


def call_problems(task: Task) -> list[Problem]:
    """Check the model, and the result of each method at the start of an episode."""
    problems: list[Problem] = []
    if isinstance(task, MujocoTask):
        with noted(problems):
            _call_methods(task, problems)
    return problems


def _call_methods(task: MujocoTask, problems: list[Problem]) -> None:
    simulator = task.make_simulator(_NUM_ENVS)
    view, variables = SimView(simulator), Named("variables", {})
    TurnCounter.of(view, task.declared().values())
    with noted(problems), task_faults(task.path, "reset"):
        ids = torch.arange(_NUM_ENVS, device=simulator.device)
        state = task.reset(view, Draws(stream_keys(ids)))
        faults = state_problems(state, _NUM_ENVS, view.model.nq, view.model.nv)
        problems += faults
        if not faults:
            view.begin(ids, state)
    with noted(problems), _unchanged(task, view, "variables", problems):
        variables = task.read(view)
        problems += variable_problems(task.declared(), variables, _NUM_ENVS)
    for name, variable in task.declared().items():
        # Replace a wrong value, whose problem is listed, so that it causes no further ones.
        if tensor_problems(name, variables.get(name), (_NUM_ENVS, *variable.shape)):
            variables[name] = torch.zeros(_NUM_ENVS, *variable.shape, dtype=torch.float64, device=simulator.device)
    with noted(problems), _unchanged(task, view, "observe", problems):
        problems += tensor_problems("the observation", task.observe(view, variables), (_NUM_ENVS, -1))
    with noted(problems), _unchanged(task, view, "terminated", problems):
        causes = task.terminated(view, variables)
        faults = termination_problems(causes, _NUM_ENVS)
        problems += faults or [
            Problem(f"an episode is over as it begins: {cause}", "fix `reset` or the condition in `terminated`")
            for cause, holds in causes.items()
            if bool(holds.any())
        ]
    problems += declaration_problems(task, int(view.model.nu))
    if task.scripted is not None:
        with noted(problems), _unchanged(task, view, "scripted", problems):
            action = task.scripted(view, variables)
            problems += tensor_problems("the action of `scripted`", action, (_NUM_ENVS, int(view.model.nu)))


@contextmanager
def _unchanged(task: Task, view: SimView, method: str, problems: list[Problem]) -> Iterator[None]:
    """Add a problem if a method writes into the simulation: variables may be views of its state."""
    before = view.qpos.clone(), view.qvel.clone()
    with task_faults(task.path, method):
        yield
    same = (
        torch.allclose(one, now, rtol=0.0, atol=0.0, equal_nan=True)
        for one, now in zip(before, (view.qpos, view.qvel), strict=True)
    )
    if not all(same):
        hint = "change a copy, as with `x.clone()`: tensors of `sim`, and variables taken from them, are its own state"
        problems.append(Problem(f"`{method}` changes the state of the simulation", hint))


# Whole episodes.


def _check_episodes(task: Task, checked: Checked) -> None:
    problems, notes, measured = checked
    envs = task.make_envs([_SEED], PROBE_ENVS)
    measured["observation_size"] = envs.observation_size
    recordings: list[Recording] = []
    previous = [f"prev_{name}" for name in (*envs.variables, "action")]
    started, steps = time.perf_counter(), 0
    for name, policy in trivial_policies(envs).items():
        infinite: list[int] = []
        recording = record_episodes(envs, policy, names=previous, watch=partial(_note_infinite, infinite))
        steps += int(recording.episode.lengths.sum())
        recordings.append(recording)
        problems += finiteness_problems(recording, name)
        if infinite:
            what = f"the observation is not finite at step {infinite[0]} with {name} actions"
            problems.append(Problem(what, _FINITE_HINT))
    measured["control_steps_per_second"] = round(steps / (time.perf_counter() - started))
    if isinstance(task, MujocoTask) and isinstance(envs, MujocoVecEnv):
        notes += _hidden_goals(task, envs.view)
    problems += baseline_problems(task, recordings)
    faults = metric_problems(task)
    problems += faults
    with noted(problems):
        _check_measures(task, checked, [] if faults else recordings, max(1, len(envs.agents)))


def _check_measures(task: Task, checked: Checked, recordings: Sequence[Recording], agents: int) -> None:
    problems, notes, measured = checked
    probes: list[PolicyProbe] = []
    values: list[float] = []
    measured["probes"] = []
    for name, recording in zip(("zero", "random"), recordings, strict=False):
        result = probe(task, name, recording)
        probes.append(result)
        measured["probes"].append(result.model_dump(mode="json"))
        values += measure_episodes(task, recording.episode).fitness.tolist()
        if task.solved_fitness is not None and result.fitness >= task.solved_fitness:
            what = f"`solved_fitness` is {task.solved_fitness}, and {name} actions reach {result.fitness}"
            problems.append(Problem(what, "set it to what only a policy that does the task reaches, or leave it out"))
        if task.best_fitness is not None and result.fitness > task.best_fitness:
            what = f"`best_fitness` is {task.best_fitness}, and {name} actions reach {result.fitness}"
            problems.append(Problem(what, "set it to what no fitness exceeds, or leave it out"))
        problems += measurement_problems(task, recording.episode, agents)
    if len(set(values)) == 1:
        what = f"the fitness is {values[0]:g} in all {len(values)} episodes of no action and of random actions"
        hint = "that is right if all do equally badly, but a fitness that grows on the way there tells rewards apart"
        notes.append(Problem(what, hint))
    if probes and all(result.success_rate == 1.0 for result in probes):
        what = "every episode of no action and of random actions is a success"
        notes.append(Problem(what, "ask in `success` for what only a policy that does the task reaches"))


def _note_infinite(steps: list[int], step: Step, alive: Tensor) -> None:
    """Note the steps of the episode at which an observation is not finite."""
    wrong = alive & ~step.final_observation.isfinite().all(1)
    steps += step.episode_step[wrong][:1].tolist()


def finiteness_problems(recording: Recording, policy: str) -> list[Problem]:
    """Find variables that are not finite at some step of the recorded episodes of a policy."""
    problems = []
    for name, values in recording.episode.items():
        wrong = ~values.isfinite().reshape(*values.shape[:2], -1).all(2) & recording.episode.mask
        if bool(wrong.any()):
            step = int(wrong.any(1).nonzero()[0]) + 1
            what = f"variable `{name}` is not finite at step {step} with {policy} actions"
            problems.append(Problem(what, _FINITE_HINT))
    return problems


def _hidden_goals(task: MujocoTask, view: SimView) -> list[Problem]:
    """Find goals that are drawn for an episode and that policies do not observe."""
    if type(task).observe is not MujocoTask.observe:
        return []
    hint = "write `observe(self, sim, variables)`, with `super().observe(sim, variables)` and this, as columns (N, k)"
    return [
        Problem(f"policies do not see `{name}`, which is drawn for each episode", f'{hint}: `sim.goal("{name}")`')
        for name in view.goals
    ]


# Independence.


def independence_problems(task: Task) -> list[Problem]:
    """Check that a seed gives the same episodes again, and the same among other envs as alone.

    Raises:
        TaskError: Task code raised.
    """
    first, again = (_trace(task.make_envs([_ALONE], _GROUP), 1) for _ in range(2))
    if not _close(first, again):
        hint = "draw all random numbers from `draw` and keep nothing on the task between calls"
        if not isinstance(task, MujocoTask):
            hint = "draw random numbers from `self.np_random`, after `super().reset(seed=seed)`, and forget the rest"
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
    """Check that fitness and success read only the steps lived, and each env by itself.

    Args:
        task: The task.
        episode: Recorded episodes of several envs.
        together: Agents of a game, whose episodes may depend on each other.

    Raises:
        TaskError: Fitness or success raised or broke the contract.
    """
    measures, problems = measure_episodes(task, episode), []
    if not _equal(measures, measure_episodes(task, _with_other_padding(episode))):
        hint = "use `episode.mean`, `total`, `last`, `share` or `mask`, which heed each env's length"
        problems.append(Problem("fitness or success reads steps after an episode's end", hint))
    half = len(measures.fitness) // together // 2 * together
    first = measures._replace(fitness=measures.fitness[:half], success=measures.success[:half])
    if not _equal(first, measure_episodes(task, episode.of_envs(slice(half)))):
        hint = "reduce over steps (axis 0) only, never over envs (axis 1)"
        problems.append(Problem("the fitness or success of an env depends on the envs beside it", hint))
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
