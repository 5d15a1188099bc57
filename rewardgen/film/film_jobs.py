"""The worker jobs behind a film: saved policies played anew, what a reward pays on their steps, and the pictures."""

# MuJoCo's compiled modules carry no type stubs.
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import torch
from torch import Tensor

from rewardgen.core.errors import RewardgenError, TaskError
from rewardgen.core.files import write_atomic
from rewardgen.film.film_index import SCENE, motion_name
from rewardgen.film.scene import dressed, moving_geoms, outlines
from rewardgen.reward.pricing import price
from rewardgen.reward.program import compile_reward
from rewardgen.sim.episodes import Episode, Recording, record_episodes
from rewardgen.sim.gym_env import GymVecEnv
from rewardgen.sim.kept_episodes import load_episodes, pack_episodes
from rewardgen.sim.mujoco_env import MujocoVecEnv
from rewardgen.sim.vec_env import Step
from rewardgen.store.records import RewardSpec
from rewardgen.tasks.fitness import measure_episodes
from rewardgen.tasks.gym_task import GymTask
from rewardgen.tasks.loading import load_task
from rewardgen.tasks.measure import task_files
from rewardgen.tasks.protocol import Task
from rewardgen.training.policies import Policy, load_policy, misfit
from rewardgen.training.protocol import POLICY_KINDS
from rewardgen.training.shared.seeding import derive_seed

STARTS = 5
"""Episodes of which the middle one by fitness is filmed."""
_SEED = 0
_FASTEST, _USUAL = 30.0, 25.0
"""Frames per second at most, and where there are more control steps than that."""
_MOST_POINTS = 300
"""At which the fitness so far is measured."""
_BELOW_M = 0.02
_SMOOTHED_S = 0.2
"""Time over which what a component pays is averaged, so that a bar can be read [s]."""
_HEADLESS = {"SDL_VIDEODRIVER": "dummy", "SDL_AUDIODRIVER": "dummy"}
"""Variables by which games draw and sound without a display."""

Report = Callable[[dict[str, Any]], None]


def rollout_job(payload: dict[str, Any], report: Report) -> dict[str, Any]:
    """Play policies, each on the same few starts, and record of each the episode in the middle by fitness.

    It leaves in its own folder the model as it is filmed, and of each policy a file of what rewards read and one of the
    positions at each frame; or of the pictures, where the task is an environment that makes its own.

    Args:
        payload: `task`; `folder` with the policy files; `policies`, names of files in it without suffix; `own`, which
            of them were trained with a reward of the task's own; `seconds` of an episode that are shown at most, and
            their `speed`, 1 in real time; `kinds` of policies as in `POLICY_KINDS`; `renderer`, the `MUJOCO_GL` by
            which an environment that makes its own pictures is to render.
        report: Told `ready` once it is known that there is something to film.

    Returns:
        `played`: for each policy its `problem`, or what the episode was: see `rewardgen.film.shooting.Played`.

    Raises:
        TaskError: The task has neither a MuJoCo model nor pictures of its own, or cannot be simulated.
    """
    torch.set_num_threads(1)
    for kind, target in payload["kinds"].items():
        if kind not in POLICY_KINDS:
            POLICY_KINDS.register(kind, target)
    task = load_task(payload["task"])
    envs = _envs(task, payload["renderer"])
    report({"ready": True})
    played, motions = [], []
    for name in payload["policies"]:
        policy = _usable(Path(payload["folder"], f"{name}.npz"), envs)
        if isinstance(policy, str):
            played.append({"name": name, "problem": policy})
            continue
        try:
            told, own, motion = _played(task, envs, policy, payload["seconds"], payload["speed"])
        except TaskError as error:
            played.append({"name": name, "problem": error.message})
            continue
        kept = pack_episodes(_shortened(own, told["steps"][-1]), [0], hidden=name in payload["own"])
        write_atomic(Path(f"{name}-steps.npz"), kept)
        np.save(motion_name(name), motion)
        motions.append(motion)
        played.append({"name": name, **told})
    if motions and isinstance(envs, MujocoVecEnv):
        _save_scene(task, envs.view.model, np.concatenate(motions))
    return {"played": played}


def _envs(task: Task, renderer: str) -> MujocoVecEnv | GymVecEnv:
    seeds = [derive_seed(_SEED, "film")]
    if isinstance(task, GymTask):
        os.environ |= {**_HEADLESS, "MUJOCO_GL": renderer}
        try:
            pictured = task.make_envs(seeds, STARTS * max(1, len(task.known().agents)), pictures=True)
            pictured.reset()
            pictured.picture(0)
        except TaskError as error:
            hint = 'its environment has to take `render_mode="rgb_array"`, and `render` then return (H, W, 3) uint8'
            raise TaskError(f"films are not available here: {error.message}", hint) from error
        return pictured
    envs = task.make_envs(seeds, STARTS)
    if not isinstance(envs, MujocoVecEnv):
        raise TaskError("films are not available here: the task has no MuJoCo model", "film a `MujocoTask`")
    return envs


def _usable(path: Path, envs: MujocoVecEnv | GymVecEnv) -> Policy | str:
    try:
        policy = load_policy(path)
    except RewardgenError as error:
        return error.message
    return misfit(policy, envs) or policy


def _played(
    task: Task, envs: MujocoVecEnv | GymVecEnv, policy: Policy, seconds: float, speed: float
) -> tuple[dict[str, Any], Recording, np.ndarray]:
    """What became of the episode in the middle, it, and at its frames positions, (F, nq + 7 nmocap), or pictures."""
    path: list[Tensor] = []

    def keep_positions(*_: Any) -> None:
        if isinstance(envs, MujocoVecEnv):
            path.append(_now(envs))

    envs.reset(anew=True)
    keep_positions()
    recording = record_episodes(envs, policy.act, anew=True, watch=keep_positions)
    measured = measure_episodes(task, recording.episode)
    chosen = int(measured.fitness.argsort(stable=True)[envs.num_envs // 2])
    own = recording.of_envs(slice(chosen, chosen + 1))
    length, step_s = int(own.episode.lengths[0]), own.episode.control_step_s
    shown = min(length, max(1, round(seconds / step_s)))
    frame_s = max(step_s, speed * (step_s if 1.0 / step_s <= _FASTEST else 1.0 / _USUAL))
    count = int(shown * step_s / frame_s) + 1
    steps = np.unique(np.append((np.arange(count) * frame_s / step_s).round().clip(0, shown), shown).astype(int))
    # Where an episode has ended, the next one has begun: its last state is that before.
    at = steps.clip(max=length - 1)
    if isinstance(envs, GymVecEnv):
        motion = _pictures(envs, policy, chosen, at.tolist(), length)
    else:
        motion = np.stack([path[step][chosen].numpy() for step in at])
    found = {
        "start": chosen * STARTS // envs.num_envs + 1,
        "starts": STARTS,
        "fitness": float(measured.fitness[chosen]),
        "success": bool(measured.success[chosen]),
        "ending": own.endings[0],
        "episode_s": length * step_s,
        "frame_s": frame_s,
        "steps": steps.tolist(),
        "step_s": step_s,
        "so_far": [] if hasattr(envs, "agents") else _so_far(task, own, steps),  # of a game, not of one agent
        "pictured": isinstance(envs, GymVecEnv),
    }
    return found, own, motion


def _now(envs: MujocoVecEnv) -> Tensor:
    view = envs.view
    mocap = (torch.cat((view.field("mocap_pos"), view.field("mocap_quat")), 2),) if view.model.nmocap else ()
    return torch.cat((view.qpos, *(each.flatten(1) for each in mocap)), 1)


def _pictures(envs: GymVecEnv, policy: Policy, chosen: int, steps: list[int], length: int) -> np.ndarray:
    """An episode played again, with its pictures after some of its steps, (F, H, W, 3)."""
    from rewardgen.film.pictures import fitted  # not at the top, as in `render_job`

    envs.reset(anew=True)
    found, lived = {0: fitted(envs.picture(chosen))}, [0]

    def watch(step: Step, alive: Tensor) -> None:
        lived[0] += int(alive[chosen])
        if bool(alive[chosen]) and lived[0] in steps and lived[0] < length:
            found[lived[0]] = fitted(envs.picture(chosen))

    record_episodes(envs, policy.act, anew=True, watch=watch)
    if lived != [length]:
        what = f"an episode of {length} steps has {lived[0]} when it is played again"
        raise TaskError(what, "draw all that is random from `self.np_random`, which `reset(seed=...)` sets")
    return np.stack([found[step] for step in steps])


def _shortened(recording: Recording, steps: int) -> Episode:
    whole = recording.episode
    values = {name: each[:steps] for name, each in whole.items()}
    return Episode(values, whole.lengths.clamp(max=steps), whole.terminated, whole.control_step_s, whole.max_steps)


def _so_far(task: Task, recording: Recording, steps: np.ndarray) -> list[float]:
    """The fitness at each frame, as if the episode had ended there; empty where that cannot be measured."""
    whole = recording.episode
    at = torch.from_numpy(np.unique(steps.clip(min=1)[:: -(-len(steps) // _MOST_POINTS)]))
    rows = torch.arange(int(at.max()))[:, None].minimum(at - 1)
    values = {name: each[rows, 0] for name, each in whole.items()}
    ended = (at == whole.lengths[0]) & whole.terminated[0]
    try:
        fitness = measure_episodes(
            task, Episode(values, at, ended, whole.control_step_s, whole.max_steps)
        ).fitness.numpy()
    except TaskError:
        return []
    return np.interp(steps, at.numpy(), fitness).tolist()


def _save_scene(task: Task, model: mujoco.MjModel, motion: np.ndarray) -> None:
    """Keep the model as it is filmed, with all that it includes, in one file."""
    every = -(-len(motion) // 100)
    moving = outlines(model, motion[::every], moving_geoms(model))
    floor = float(moving[..., 2].min()) - _BELOW_M if moving.size else None
    size = float(np.ptp(moving, axis=1).max(1).mean().clip(0.01)) if moving.size else 1.0
    files = task.model_files()
    try:
        filmed = dressed(files[0], floor, size, getattr(task, "edit_model", None)) if files else model
    except ValueError:
        filmed = model
    if (filmed.nq, filmed.nbody) != (model.nq, model.nbody):  # the task made more of the file than it says
        filmed = model
    mujoco.mj_saveModel(filmed, SCENE, None)


def components_job(payload: dict[str, Any], report: Report) -> dict[str, Any]:
    """What a reward pays at the frames of an episode, each component averaged over a moment.

    Args:
        payload: `file` of what it reads at each control step; `reward`; the `steps` of the frames,
            and `step_s`.
        report: Not used.

    Returns:
        `components`: name to a number for each frame.

    Raises:
        RewardgenError: The reward fails on them, or there is no such file.
    """
    torch.set_num_threads(1)
    reward = RewardSpec.model_validate(payload["reward"])
    kept = load_episodes(Path(payload["file"]))
    inputs = {name: values.unsqueeze(1) for name, values in kept.inputs.items()}
    begins = torch.zeros(sum(kept.lengths), 1, dtype=torch.bool)
    begins[[sum(kept.lengths[:index]) for index in range(len(kept.lengths))]] = True
    priced = price(compile_reward(reward.source), inputs, begins, tunables=reward.tunables)
    components = priced.components.view(-1)
    half = max(0, round(_SMOOTHED_S / payload["step_s"] / 2))
    last = sum(kept.lengths)
    ends = torch.tensor(payload["steps"])
    # What is paid for a step is told at its end; a frame at the very beginning shows the first.
    high, low = (ends + half).clamp(1, last), (ends - half - 1).clamp(0, last - 1)
    return {"components": {name: _means(each, low, high) for name, each in components.items()}}


def _means(values: Tensor, low: Tensor, high: Tensor) -> list[float]:
    sums = torch.cat((torch.zeros(1, dtype=torch.float64), values.double().cumsum(0)))
    return ((sums[high] - sums[low]) / (high - low)).tolist()


def render_job(payload: dict[str, Any], report: Report) -> dict[str, Any]:
    """Make films of recorded positions, as MP4, animated WebP and PNG in the worker's own folder.

    Args:
        payload: `how`: `egl`, `osmesa`, `cgl`, `draw`, or `keep` for pictures that are there already; `folder` with the
            model and the motions; `films`, each with
            `name`, `title`, `frame_s`, `speed`, `motions`, names of one or two policies, and `sides`, for each of
            these what a `rewardgen.film.layout.Side` has.
        report: Told the number of each film that is finished, as `done`.

    Returns:
        `renderer`: what made the pictures.

    Raises:
        UsageError: Nothing here renders in that way.
    """
    # Not at the top: every worker is forked from a process that has imported this module.
    from rewardgen.film.pictures import make_pictures

    return make_pictures(payload, report)


def rollout_files(payload: dict[str, Any]) -> list[Path]:
    """The files of a task, and of the drivers by which its environment may render."""
    return [*task_files(payload), *driver_files(payload)]


def driver_files(payload: dict[str, Any]) -> list[Path]:
    """Where a system says which of its drivers render."""
    return [path for path in map(Path, ("/usr/share/glvnd", "/etc/glvnd", "/usr/share/drirc.d")) if path.is_dir()]
