"""Measure a task card: the description of a task for the designer, in words and in numbers from short rollouts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from rewardgen.core.errors import TaskError
from rewardgen.sim.episodes import Episode, Recording, TrivialPolicy, ending_shares, record_episodes, trivial_policies
from rewardgen.sim.variables import Var
from rewardgen.sim.vec_env import ENDED, ENV_REWARD, Step, VecEnv
from rewardgen.store.records import PolicyProbe, TaskCard, VariableCard
from rewardgen.tasks.fingerprint import digests, fingerprint, made_of
from rewardgen.tasks.fitness import measure_episodes
from rewardgen.tasks.loading import load_task
from rewardgen.tasks.measure import MeasuredTask
from rewardgen.tasks.members import baseline_sources, description, first_paragraph
from rewardgen.tasks.protocol import Task

PROBE_ENVS = 8
"""Episodes per trivial policy."""
_PROBE_SEED = 20_000_003
_MOST_ENTRIES = 256
"""Entries of an observation up to which variables are compared with it."""
_COMPARED = 250
"""Most steps of all envs for the comparison."""
_UNEXPLAINED = 0.045
"""Share of a variable's variance that functions of the observation must leave."""


def measure_job(payload: dict[str, Any], report: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Run the worker job `measure`: {"task": reference} to a `MeasuredTask`."""
    return measure_task(load_task(payload["task"]), payload["task"]).model_dump(mode="json")


def measure_task(task: Task, reference: str) -> MeasuredTask:
    """Measure everything that a run needs of a task, named by `reference`."""
    return MeasuredTask(
        card=measure_card(task, reference),
        baselines=baseline_sources(task),
        training={
            trainer: settings.model_dump(mode="json", exclude_unset=True) for trainer, settings in task.training.items()
        },
        environment=task.environment_id(),
        on_device=task.on_device,
        varies=task.varies,
        levels=task.levels,
        files=digests(made_of(task)),
    )


def measure_card(
    task: Task, reference: str | None = None, recordings: Mapping[TrivialPolicy, Recording] | None = None
) -> TaskCard:
    """Describe a task from its class and from episodes of two trivial policies, which are recorded here by default."""
    envs = task.make_envs([_PROBE_SEED], PROBE_ENVS)
    seen: list[Step] = []
    if recordings is None:
        watch = (lambda step, alive: seen.append(step)) if envs.observation_size <= _MOST_ENTRIES else None
        policies = trivial_policies(envs)
        recordings = {name: record_episodes(envs, policy, watch=watch) for name, policy in policies.items()}
    fixed = envs.beyond_actions()
    unobserved = tuple(_unobserved(seen, _known_at_start(envs)))
    read = _read_by_metric(task, next(iter(recordings.values())).episode)
    episodes = [recording.episode for recording in recordings.values()]
    return TaskCard(
        reference=reference or str(task.path),
        name=task.path.stem,
        fingerprint=fingerprint(digests(made_of(task))),
        description=description(task),
        variables=tuple(
            _described(name, variable, episodes, fixed.get(name, ())) for name, variable in task.declared().items()
        ),
        agents=envs.agents,
        choices=bool(envs.choices),
        action_size=envs.action_size,
        action_parts=envs.action_parts,
        action_low=rounded(envs.action_low),
        action_high=rounded(envs.action_high),
        observation_size=envs.observation_size,
        observation=first_paragraph(task, "observe"),
        unobserved=unobserved,
        read=tuple(name for name in task.declared() if name in read),
        body=envs.body_words,
        reset=first_paragraph(task, "reset"),
        termination=first_paragraph(task, "terminated"),
        termination_causes=envs.causes,
        success_terminates=task.success_terminates,
        benign_terminations=ENDED in envs.causes and _ends_pay(episodes),
        best_fitness=task.best_fitness,
        solved_fitness=task.solved_fitness,
        signals=task.signals,
        success=first_paragraph(task, "success"),
        fitness=first_paragraph(task, "fitness"),
        control_step_s=envs.control_step_s,
        episode_steps=task.episode_steps,
        probes=tuple(probe(task, name, recording) for name, recording in recordings.items()),
    )


def _known_at_start(envs: VecEnv) -> list[str]:
    """Return the variables that the start of an episode tells: an `observe` may read no other."""
    envs.reset()
    try:
        return [name for name, values in envs.variables_now().items() if bool(values.isfinite().all())]
    except TaskError:
        return []


def _unobserved(steps: Sequence[Step], names: Sequence[str]) -> Iterator[str]:
    """Yield the variables with a part that varies and that the observation does not tell.

    Neither a linear function of the observation tells it, nor one with a smooth rest (kernel ridge regression on three
    quarters of the envs, tried on the others): distances and cosines are told by positions and angles.
    """
    if not steps or not names:
        return
    some = steps[:: -(-len(steps) // _COMPARED)]
    columns = [[step.final_observation for step in some], *([step.inputs[name] for step in some] for name in names)]
    envs = len(columns[0][0])
    rows = [torch.cat(column).reshape(len(some) * envs, -1) for column in columns]
    whole = torch.cat(rows, 1).double()
    finite = whole.isfinite().all(1)
    whole, held_out = whole[finite], torch.arange(envs).repeat(len(some))[finite] >= 3 * envs // 4
    whole -= whole.mean(0)
    whole /= whole.std(0).clamp(min=1e-6)
    observed, values = whole.tensor_split((rows[0].shape[1],), 1)
    left = values - observed @ torch.linalg.lstsq(observed, values, driver="gelsd").solution
    nearness = torch.exp(-torch.cdist(observed, observed[~held_out]).square() / (2 * observed.shape[1]))
    ridge = nearness[~held_out] + 1e-3 * torch.eye(len(nearness[0]), dtype=torch.float64)
    rest = (left - nearness @ torch.linalg.solve(ridge, left[~held_out]))[held_out]
    shares = torch.minimum(left.square().mean(0), rest.square().mean(0))
    for name, parts in zip(names, shares.split([part.shape[1] for part in rows[1:]]), strict=True):
        if bool((parts > _UNEXPLAINED).any()):
            yield name


class _Noted(dict[str, Tensor]):
    """Variables that keep the names of those which are read."""

    def __init__(self, values: Mapping[str, Tensor]) -> None:
        super().__init__(values)
        self.names: set[str] = set()

    def __getitem__(self, name: str) -> Tensor:
        self.names.add(name)
        return super().__getitem__(name)


def _read_by_metric(task: Task, episode: Episode) -> set[str]:
    noted = _Noted(episode)
    lived = episode.lengths, episode.terminated, episode.control_step_s, episode.max_steps
    measure_episodes(task, Episode(noted, *lived))
    return noted.names


def _ends_pay(episodes: Sequence[Episode]) -> bool:
    """Return whether the environment's own reward is negative or zero while an episode lasts, and higher at its end.

    A goal that ends the episode is paid like this; environments whose ends are failures pay for living instead.
    """
    living = torch.cat([episode[ENV_REWARD][:-1][episode.mask[1:]] for episode in episodes]).double().mean()
    ends = torch.cat([episode.last(episode[ENV_REWARD])[episode.terminated] for episode in episodes]).double()
    return bool(living <= 0.0 and ends.median() > living) if len(ends) else bool(living < 0.0)


def probe(task: Task, policy: str, recording: Recording) -> PolicyProbe:
    """Measure the episodes of a policy that knows nothing, means over the episodes."""
    measures = measure_episodes(task, recording.episode)
    return PolicyProbe(
        policy=policy,
        fitness=rounded(measures.fitness.mean())[0],
        success_rate=float(measures.success.double().mean()),
        parts={name: rounded(values.mean())[0] for name, values in measures.parts.items()},
        episode_steps=rounded(recording.episode.lengths.double().mean())[0],
        terminations=ending_shares(recording.endings),
    )


def _described(name: str, variable: Var, episodes: Sequence[Episode], fixed: tuple[bool, ...]) -> VariableCard:
    """Return a variable with its range over all steps, and flags of its parts that no action changes."""
    values = torch.cat([episode[name][episode.mask].reshape(-1, *variable.shape) for episode in episodes])
    values = values.reshape(len(values), -1)
    return VariableCard(
        name=name,
        unit=variable.unit,
        meaning=variable.meaning,
        shape=variable.shape,
        parts=variable.parts,
        minimum=rounded(values.amin(0)),
        median=rounded(values.median(0).values),
        maximum=rounded(values.amax(0)),
        fixed_at_start=fixed,
    )


def rounded(values: Tensor) -> tuple[float, ...]:
    """Round to four significant digits, and numbers below a millionth to zero: a resting simulation is never still."""
    return tuple(float(f"{round(value, 6):.4g}") for value in values.reshape(-1).tolist())
