"""The worker jobs behind a film: policies play, a reward prices their steps, pictures are made."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import torch
from torch import Tensor

from rewardgen.core.errors import RewardgenError, TaskError
from rewardgen.core.files import write_atomic
from rewardgen.film.film_index import SCENE, motion_name
from rewardgen.film.scene import dressed, outlines, visible_geoms
from rewardgen.reward.pricing import price
from rewardgen.reward.program import compile_reward
from rewardgen.sim.episodes import Episode, Recording, record_episodes
from rewardgen.sim.kept_episodes import load_episodes, pack_episodes
from rewardgen.sim.vec_env import Step, VecEnv
from rewardgen.store.records import RewardSpec
from rewardgen.tasks.fitness import measure_episodes
from rewardgen.tasks.loading import load_task
from rewardgen.tasks.measure import task_files
from rewardgen.tasks.protocol import Task
from rewardgen.training.policies import PolicyStack, load_policy, misfit, side_by_side
from rewardgen.training.shared.seeding import derive_seed
from rewardgen.training.shared.slices import Report

_FASTEST, _USUAL = 30.0, 25.0
"""Most frames per second, and the rate where there are more control steps."""
_MOST_POINTS = 300
"""Frames at which the fitness so far is measured."""
_BELOW_M = 0.02
_SMOOTHED_S = 0.2
"""Time over which components are averaged, so that bars can be read [s]."""
_HEADLESS = {"SDL_VIDEODRIVER": "dummy", "SDL_AUDIODRIVER": "dummy"}
"""Environment variables by which games need no display."""


def rollout_job(payload: dict[str, Any], _: Report) -> dict[str, Any]:
    """Play policies from the same few starts and record one episode of each.

    Leaves in the working folder for each policy a file of the inputs of rewards. For films it also leaves the model as
    it is filmed, and for each policy the positions at each frame, or the pictures where the task's environment makes
    them.

    Args:
        payload: `task`; `folder` with the policy files; `policies`, file names without suffix; `own`, those trained
            with a reward of the task's own; `starts`, see `rewardgen.film.shooting.Starts`; longest `seconds` and
            playing `speed`; `kinds` of policies as in `POLICY_KINDS`; `renderer`, the `MUJOCO_GL` for an environment
            that makes its own pictures; empty for recordings without films.

    Returns:
        `played`: for each policy its `problem`, or the fields of `rewardgen.film.shooting.Played`.

    Raises:
        TaskError: The task has neither a MuJoCo model nor pictures, or cannot be simulated.
    """
    task = load_task(payload["task"])
    envs = _envs(task, payload["starts"], payload["renderer"])
    played, motions = [], []
    for name in payload["policies"]:
        try:
            path = Path(payload["folder"], f"{name}.npz")
            if problem := misfit(load_policy(path, payload["kinds"]), envs):
                raise TaskError(problem)
            facts, recording, motion = _played(task, envs, path, payload)
        except RewardgenError as error:
            played.append({"name": name, "problem": error.message})
            continue
        shown = _shortened(recording, facts["steps"][-1])
        write_atomic(Path(f"{name}-steps.npz"), pack_episodes(shown, [0], hidden=name in payload["own"]))
        if motion is not None:
            np.save(motion_name(name), motion)
            motions.append(motion)
        played.append({"name": name, **facts})
    if motions and envs.model is not None:
        _save_scene(task, envs.model, np.concatenate(motions))
    return {"played": played}


def _envs(task: Task, starts: dict[str, Any], renderer: str) -> VecEnv:
    seeds, episodes = [derive_seed(starts["seed"], starts["purpose"])], starts["episodes"]
    if not renderer:
        return task.make_envs(seeds, episodes)
    os.environ |= {**_HEADLESS, "MUJOCO_GL": renderer}
    try:
        envs = task.make_envs(seeds, episodes, pictures=True)
        if envs.agents and starts["index"] is None:
            envs = task.make_envs(seeds, episodes * len(envs.agents), pictures=True)
        if envs.model is None:
            envs.reset()
            envs.picture(0)
    except TaskError as error:
        hint = 'its environment has to take `render_mode="rgb_array"`, and `render` then return (H, W, 3) uint8'
        raise TaskError(f"films are not available here: {error.message}", hint) from error
    return envs


def _loaded(path: Path, kinds: dict[str, str]) -> PolicyStack:
    """Load a policy to act in the first episodes: recorded actions can be played once."""
    return side_by_side([load_policy(path, kinds)])  # as the clean evaluation, to the last digits


def _played(
    task: Task, envs: VecEnv, path: Path, payload: dict[str, Any]
) -> tuple[dict[str, Any], Recording, np.ndarray | None]:
    """Facts of an episode, its recording, and at its frames positions, (F, nq + 7 nmocap), or pictures, for films."""
    poses: list[Tensor] = []

    def keep_pose(*_: Any) -> None:
        if payload["renderer"] and envs.model is not None:
            poses.append(envs.pose())

    envs.reset(anew=True)
    keep_pose()
    recording = record_episodes(envs, _loaded(path, payload["kinds"]).act, anew=True, watch=keep_pose)
    starts, speed = payload["starts"], payload["speed"]
    index, facts = (starts["index"], {}) if starts["index"] is not None else _middle(task, envs, recording, starts)
    alone = recording.of_envs(slice(index, index + 1))
    length, step_s = int(alone.episode.lengths[0]), alone.episode.control_step_s
    shown = min(length, max(1, round(payload["seconds"] / step_s)))
    frame_s = max(step_s, speed * (step_s if 1.0 / step_s <= _FASTEST else 1.0 / _USUAL))
    count = int(shown * step_s / frame_s) + 1
    steps = np.unique(np.append((np.arange(count) * frame_s / step_s).round().clip(0, shown), shown).astype(int))
    at = steps.clip(max=length - 1)  # after the last step the next episode has begun
    if not payload["renderer"]:
        motion = None
    elif envs.model is None:
        motion = _pictures(envs, _loaded(path, payload["kinds"]), index, at.tolist(), length)
    else:
        motion = np.stack([poses[step][index].numpy() for step in at])
    if facts and task.has_fitness and not envs.agents:  # a game's fitness is not one agent's
        facts["so_far"] = _so_far(task, alone, steps)
    facts |= {
        "ending": alone.endings[0],
        "episode_s": length * step_s,
        "frame_s": frame_s,
        "steps": steps.tolist(),
        "step_s": step_s,
        "pictured": envs.model is None,
    }
    return facts, alone, motion


def _middle(task: Task, envs: VecEnv, recording: Recording, starts: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    """Index of the episode with the middle fitness, and facts that a caption tells of it."""
    measured = measure_episodes(task, recording.episode)
    middle = int(measured.fitness.argsort(stable=True)[envs.num_envs // 2])
    return middle, {
        "start": middle * starts["episodes"] // envs.num_envs + 1,
        "fitness": float(measured.fitness[middle]) if task.has_fitness else None,
        "success": bool(measured.success[middle]),
    }


def _pictures(envs: VecEnv, policy: PolicyStack, index: int, steps: list[int], length: int) -> np.ndarray:
    """Play an episode again; its pictures after some of its steps, (F, H, W, 3)."""
    from rewardgen.film.pictures import fitted  # not at the top, as in `render_job`

    envs.reset(anew=True)
    pictures, lived = {0: fitted(envs.picture(index))}, 0

    def watch(step: Step, alive: Tensor) -> None:
        nonlocal lived
        lived += int(alive[index])
        if bool(alive[index]) and lived in steps and lived < length:
            pictures[lived] = fitted(envs.picture(index))

    record_episodes(envs, policy.act, anew=True, watch=watch)
    if lived != length:
        what = f"an episode of {length} steps has {lived} when it is played again"
        raise TaskError(what, "draw all that is random from `self.np_random`, which `reset(seed=...)` sets")
    return np.stack([pictures[step] for step in steps])


def _shortened(recording: Recording, steps: int) -> Episode:
    whole = recording.episode
    values = {name: value[:steps] for name, value in whole.items()}
    return Episode(values, whole.lengths.clamp(max=steps), whole.terminated, whole.control_step_s, whole.max_steps)


def _so_far(task: Task, recording: Recording, steps: np.ndarray) -> list[float]:
    """Fitness at each frame, as if the episode had ended there; empty where that cannot be measured."""
    whole = recording.episode
    at = torch.from_numpy(np.unique(steps.clip(min=1)[:: -(-len(steps) // _MOST_POINTS)]))
    rows = torch.arange(int(at.max()))[:, None].minimum(at - 1)
    values = {name: value[rows, 0] for name, value in whole.items()}
    ended = (at == whole.lengths[0]) & whole.terminated[0]
    try:
        measured = measure_episodes(task, Episode(values, at, ended, whole.control_step_s, whole.max_steps))
    except TaskError:
        return []
    return np.interp(steps, at.numpy(), measured.fitness.numpy()).tolist()


def _save_scene(task: Task, model: mujoco.MjModel, motion: np.ndarray) -> None:
    moving = outlines(model, motion[:: -(-len(motion) // 100)], visible_geoms(model, moving=True))
    floor = float(moving[..., 2].min()) - _BELOW_M if moving.size else None
    size = float(np.ptp(moving, axis=1).max(1).mean().clip(0.01)) if moving.size else 1.0
    filmed = model
    if files := task.model_files():
        with suppress(ValueError):
            filmed = dressed(files[0], floor, size, task.edit_model)
    if (filmed.nq, filmed.nbody) != (model.nq, model.nbody):  # the task changed the model elsewhere
        filmed = model
    mujoco.mj_saveModel(filmed, SCENE, None)


def components_job(payload: dict[str, Any], _: Report) -> dict[str, Any]:
    """Price the frames of an episode, each component averaged over a moment.

    Args:
        payload: `file` of the inputs at each control step; `reward`; the `steps` of the frames, and `step_s`.

    Returns:
        `components`: name to a number for each frame.

    Raises:
        RewardgenError: The reward fails on them, or the file cannot be read.
    """
    reward = RewardSpec.model_validate(payload["reward"])
    kept = load_episodes(Path(payload["file"]))
    inputs = {name: values.unsqueeze(1) for name, values in kept.inputs.items()}
    last = sum(kept.lengths)
    begins = torch.zeros(last, 1, dtype=torch.bool)
    begins[0] = True
    priced, _ = price(compile_reward(reward.source), inputs, begins)
    components = priced.view(-1)
    half = max(0, round(_SMOOTHED_S / payload["step_s"] / 2))
    ends = torch.tensor(payload["steps"])
    # A step's pay is shown at its end; a frame at the very beginning shows the first step's.
    high, low = (ends + half).clamp(1, last), (ends - half - 1).clamp(0, last - 1)
    return {"components": {name: _means(values, low, high) for name, values in components.items()}}


def _means(values: Tensor, low: Tensor, high: Tensor) -> list[float]:
    sums = torch.cat((torch.zeros(1, dtype=torch.float64), values.double().cumsum(0)))
    return ((sums[high] - sums[low]) / (high - low)).tolist()


def render_job(payload: dict[str, Any], _: Report) -> dict[str, Any]:
    """See `rewardgen.film.pictures.make_pictures`."""
    # Not at the top: every worker is forked from a process that has imported this module.
    from rewardgen.film.pictures import make_pictures

    return make_pictures(payload)


def rollout_files(payload: dict[str, Any]) -> list[Path]:
    """The files of a task, and of the drivers by which its environment may render."""
    return [*task_files(payload), *driver_files(payload)]


def driver_files(payload: dict[str, Any]) -> list[Path]:
    """Folders in which a system lists its OpenGL drivers."""
    return [path for path in map(Path, ("/usr/share/glvnd", "/etc/glvnd", "/usr/share/drirc.d")) if path.is_dir()]
