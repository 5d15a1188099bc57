"""The worker jobs of exports. Only `reward_job` runs generated code; what it answers are numbers and names."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rewardgen.core.errors import UsageError
from rewardgen.core.files import write_atomic
from rewardgen.export.networks import network_of, write_onnx, write_sb3
from rewardgen.reward.export import reward_file
from rewardgen.reward.program import compile_reward
from rewardgen.sim.arrays import read_arrays
from rewardgen.sim.episodes import record_episodes, trivial_policies
from rewardgen.sim.vec_env import HIDDEN
from rewardgen.tasks.fingerprint import digests, fingerprint, made_of
from rewardgen.tasks.fitness import measure_episodes
from rewardgen.tasks.gym_task import GymTask
from rewardgen.tasks.loading import load_task
from rewardgen.tasks.task_env import one_env
from rewardgen.training.policies import load_policy

_ROWS = 256
_SEED = 7
_INPUT = "input."

Report = Callable[[dict[str, Any]], None]


def reward_job(payload: dict[str, Any], report: Report) -> dict[str, Any]:
    """Compute a reward as trainings do, and as its file does.

    Args:
        payload: `source`; `inputs`, a file that has them under `input.`; `rows`, how many of them are taken at most;
            `folder` to write to.
        report: Not used.

    Returns:
        `components`, their names; `rows`; `difference`, the largest between the two, relative where it is above 1.
    """
    arrays = read_arrays(Path(payload["inputs"]))
    program = compile_reward(payload["source"])
    if missing := [name for name in program.inputs if _INPUT + name not in arrays]:
        if missing[0] in HIDDEN:
            what = "the environment's own reward is computed by the environment: there is no code of it to export"
            raise UsageError(what, "export it as `gymnasium`, with its environment")
        raise UsageError(f"the recorded transitions have no `{missing[0]}`", "they are of another task: delete them")
    given = {name: arrays[_INPUT + name] for name in program.inputs}
    count = len(next(iter(given.values())))
    rows = np.unique(np.linspace(0, count - 1, min(count, payload.get("rows", _ROWS))).astype(int))
    inputs = {name: torch.from_numpy(value[rows].astype(np.float32)) for name, value in given.items()}
    expected = program(inputs)
    own: dict[str, Any] = {"__name__": "reward"}
    exec(compile(reward_file(payload["source"]), "reward.py", "exec", dont_inherit=True), own)
    both = next(own[name] for name in own if name.rstrip("_") == "reward_and_components" and name + "_" not in own)
    total, components = both({name: value.clone() for name, value in inputs.items()})
    differences = [_difference(total, expected.total)]
    differences += [_difference(components[name], value) for name, value in expected.items()]
    found = {f"component.{name}": value for name, value in expected.items()} | {"total": expected.total}
    _save(payload, {**{_INPUT + name: value for name, value in inputs.items()}, **found})
    return {"components": list(expected), "rows": len(rows), "difference": max(differences)}


def _difference(one: Tensor, other: Tensor) -> float:
    return float(((one - other).abs() / other.abs().clamp(min=1.0)).max())


def task_job(payload: dict[str, Any], report: Report) -> dict[str, Any]:
    """Play an episode of a task, with a policy or at random, and tell what the task is made of.

    Args:
        payload: `task`, `folder` to write to, and a `policy` if there is one.
        report: Not used.

    Returns:
        `fingerprint` of the task; `model`, the files of its MuJoCo model, the main one first; `needs`, the packages of
        its simulator; `reads`; `steps`; `fitness`; `success`.
    """
    task = load_task(payload["task"])
    envs = one_env(task, _SEED)
    act = load_policy(Path(payload["policy"])).act if payload.get("policy") else trivial_policies(envs)["random"]
    observations: list[Tensor] = []

    def acting(observation: Tensor) -> Tensor:
        observations.append(observation.clone())
        return act(observation)

    names = [*envs.variables, "action"]
    recording = record_episodes(envs, acting, names=[*names, *(f"prev_{name}" for name in names)], anew=True)
    measured = measure_episodes(task, recording.episode)
    inputs = {_INPUT + name: value[:, 0] for name, value in recording.inputs.items()}
    facts = {"fitness": measured.fitness[0], "success": measured.success[0], "seed": torch.tensor(_SEED)}
    seen = torch.cat(observations)[: int(recording.episode.lengths)]
    _save(payload, {**inputs, **facts, "observations": seen, "actions": recording.inputs["action"][:, 0]})
    return {
        "fingerprint": fingerprint(digests(made_of(task))),
        "model": [] if isinstance(task, GymTask) else [str(path) for path in task.model_files()],
        "needs": task.packages() if isinstance(task, GymTask) else ["mujoco"],
        "reads": list(map(str, task.reads)),
        "steps": len(seen),
        "fitness": float(measured.fitness[0]),
        "success": bool(measured.success[0]),
    }


def policy_job(payload: dict[str, Any], report: Report) -> dict[str, Any]:
    """Write a policy for other programs.

    Args:
        payload: `policy`, its file; `folder` to write to; `kind`, `sb3` or `onnx`; `discount`; `algorithm`, the class
            of Stable-Baselines3 that is to load it.
        report: Not used.

    Returns:
        `observation_size` and `action_size`.
    """
    folder, policy = Path(payload["folder"]), load_policy(Path(payload["policy"]))
    network = network_of(policy)
    size = policy.observation_size
    drawn = torch.randn(_ROWS, size, generator=torch.Generator("cpu").manual_seed(_SEED))
    observations = network.mean + 3.0 * drawn / network.scale
    actions = policy.act(observations)
    if payload["kind"] == "sb3":
        write_sb3(network, folder / "policy.zip", payload["discount"], payload["algorithm"])
        if network.policy.choices:
            actions = torch.stack([each.argmax(1) for each in actions.split(network.policy.choices, 1)], 1).squeeze(1)
    else:
        write_onnx(network, folder)
    _save(payload, {"observations": observations, "actions": actions})
    return {"observation_size": size, "action_size": len(policy.action_low)}


def _save(payload: dict[str, Any], arrays: Mapping[str, Tensor]) -> None:
    content = io.BytesIO()
    found: dict[str, Any] = {name: value.detach().numpy() for name, value in arrays.items()}
    np.savez(content, **found)
    write_atomic(Path(payload["folder"], "expected.npz"), content.getvalue())
