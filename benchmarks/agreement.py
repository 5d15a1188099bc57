"""Agreement of drafted metrics with a task's own, on episodes of mixed skill.

Both judge the same episodes, simulated once as the task's own: its expert policy mixed with noise, from none to all.
What a drafted metric reads is recorded beside the task's own variables, and brought to the draft's control step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import cast

import torch
from torch import Tensor

from benchmarks.figures import Figure, Report, Say
from rewardgen.core.errors import TaskError
from rewardgen.reward.program import compile_reward
from rewardgen.sim.episodes import Episode, record_episodes
from rewardgen.sim.quantities import Quantity
from rewardgen.sim.vec_env import VecEnv
from rewardgen.tasks.fitness import measure_episodes
from rewardgen.tasks.loading import load_task
from rewardgen.tasks.members import own_program
from rewardgen.tasks.mujoco_task import MujocoTask
from rewardgen.tasks.protocol import METRIC, Task
from rewardgen.training.expert_policy import load_expert

EPISODES = 240
_SEEDS = 8
_LEAST = 0.9
"""Agreement that a drafted success should have."""


def bench_agreement(own: str, drafts: Sequence[str], say: Say) -> Report:
    """Measure the agreement of drafted metrics with that of a task.

    Args:
        own: The task, which has an expert policy beside it.
        drafts: Task files with a metric, on the same robot.
        say: Told what goes on.

    Raises:
        TaskError: There is no expert, or a draft reads what the task's simulation does not have.
    """
    task, drafted = cast(MujocoTask, load_task(own)), [load_task(path) for path in drafts]
    read = [
        {name: each for name, each in one.declared().items() if isinstance(each, Quantity) and name in _read(one)}
        for one in drafted
    ]
    say(f"{EPISODES} episodes of {own}")
    kind = type(task)
    extra = {_named(number, name): each for number, one in enumerate(read) for name, each in one.items()}
    with_all = type("WithAll", (kind,), extra)
    with_all.path = kind.path
    envs = with_all().make_envs(list(range(_SEEDS)), EPISODES // _SEEDS)
    episode = record_episodes(envs, _mixed(task, envs)).episode
    ours = measure_episodes(task, episode)
    figures, notes = [], []
    for number, (path, one) in enumerate(zip(drafts, drafted, strict=True)):
        theirs = measure_episodes(one, _brought(episode, one, {name: _named(number, name) for name in read[number]}))
        subject = Path(path).parent.name or path
        same = float((ours.success == theirs.success).double().mean())
        correlation = float(torch.corrcoef(torch.stack((ours.fitness.double(), theirs.fitness.double())))[0, 1])
        figures += [
            Figure(name="same success", subject=subject, unit="", values=(same,), target=_LEAST),
            Figure(name="correlation of fitness", subject=subject, unit="", values=(correlation,)),
        ]
        counts = (
            f"{int(ours.success.sum())} successes by {own}'s own metric, {int(theirs.success.sum())} by the draft's"
        )
        notes.append(f"{subject}: {counts}, of {EPISODES}")
    settings = {"task": own, "episodes": EPISODES}
    return Report(bench="agreement", settings=settings, figures=tuple(figures), notes=tuple(notes))


def _read(task: Task) -> tuple[str, ...]:
    metric = own_program(task, METRIC)
    if metric is None:
        raise TaskError(f"{task.path.name} has no `metric`", "name drafted tasks, which have one")
    return compile_reward(metric.source).inputs


def _named(number: int, name: str) -> str:
    return f"draft_{number}_{name}"


def _mixed(task: MujocoTask, envs: VecEnv) -> Callable[[Tensor], Tensor]:
    """The expert in some envs, smooth noise in others, and all that lies between."""
    expert = load_expert(task)
    if expert is None:
        raise TaskError(f"{task.path.stem} has no expert policy", f"`rewardgen tasks expert {task.path}` makes one")
    draw = torch.Generator().manual_seed(1)
    low, high, count = envs.action_low, envs.action_high, envs.num_envs
    third = count // 3
    skill = torch.cat((torch.linspace(0, 1, third), 1 - torch.linspace(0, 0.4, count - third) ** 2.5)).unsqueeze(1)
    skill = skill[torch.randperm(count, generator=draw)]
    noise = torch.zeros(count, envs.action_size)

    def act(observation: Tensor) -> Tensor:
        nonlocal noise
        noise = 0.8 * noise + 0.6 * torch.randn(noise.shape, generator=draw)
        wild = (low + high) / 2 + (high - low) / 2 * noise.clamp(-1, 1)
        return (skill * expert(observation) + (1 - skill) * wild).clamp(low, high).to(low.dtype)

    return act


def _brought(episode: Episode, drafted: Task, names: Mapping[str, str]) -> Episode:
    """Episodes as a draft would have recorded them: at its control step, for as many steps."""
    own_s, recorded, steps = episode.control_step_s, len(episode["action"]), drafted.episode_steps
    step_s = drafted.make_envs([0], 1).control_step_s
    at = (((torch.arange(steps) + 1) * step_s) / own_s - 1e-6).floor().long().clamp(0, recorded - 1)
    lengths = ((episode.lengths * own_s) / step_s).round().long().clamp(1, steps)
    lengths = torch.where(episode.lengths >= episode.max_steps, steps, lengths)
    values = {name: episode[recorded_as][at] for name, recorded_as in names.items()} | {"action": episode["action"][at]}
    return Episode(values, lengths, episode.terminated, step_s, steps)
