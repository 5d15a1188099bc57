"""Worker jobs of exports. Only `reward_job` runs generated code, and it answers with numbers and names alone."""

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
from rewardgen.reward.pricing import price_rows
from rewardgen.reward.program import compile_reward
from rewardgen.sim.arrays import read_arrays
from rewardgen.sim.episodes import record_episodes, trivial_policies
from rewardgen.sim.vec_env import HIDDEN
from rewardgen.tasks.fingerprint import digests, fingerprint, made_of
from rewardgen.tasks.fitness import measure_episodes
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
        payload: `source`; `inputs`, a file with the inputs as `input.NAME`; `folder` to write to.
        report: Unused.

    Returns:
        `rows`; `difference`, the largest between the two, relative above 1.
    """
    arrays = read_arrays(Path(payload["inputs"]))
    program = compile_reward(payload["source"])
    if missing := [name for name in program.inputs if _INPUT + name not in arrays]:
        if missing[0] in HIDDEN:
            raise UsageError("the environment's own reward has no code to export", "export it as `gymnasium`")
        raise UsageError(f"the recorded transitions have no `{missing[0]}`", "they are of another task: delete them")
    columns = {name: arrays[_INPUT + name] for name in program.inputs}
    inputs = {name: torch.from_numpy(value.astype(np.float32)) for name, value in columns.items()}
    expected = price_rows(program, inputs)
    module: dict[str, Any] = {"__name__": "reward"}
    exec(compile(reward_file(payload["source"]), "reward.py", "exec", dont_inherit=True), module)
    total, components = module["reward_and_components"]({name: value.clone() for name, value in inputs.items()})
    differences = [_difference(total, expected.total)]
    differences += [_difference(components[name], value) for name, value in expected.items()]
    _save(payload, {"total": expected.total})
    return {"rows": len(total), "difference": max(differences)}


def _difference(one: Tensor, other: Tensor) -> float:
    return float(((one - other).abs() / other.abs().clamp(min=1.0)).max())


def task_job(payload: dict[str, Any], report: Report) -> dict[str, Any]:
    """Play an episode of a task, with a policy or at random, and list the task's parts.

    Args:
        payload: `task`, `folder` to write to, and perhaps a `policy`.
        report: Unused.

    Returns:
        `fingerprint` of the task; `model`, files of its MuJoCo model, the main one first; `needs`, packages of its
        simulator; `reads`; `fitness`.
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
        "model": [str(path) for path in task.model_files()],
        "needs": task.packages(),
        "reads": list(map(str, task.reads)),
        "fitness": float(measured.fitness[0]),
    }


def policy_job(payload: dict[str, Any], report: Report) -> dict[str, Any]:
    """Write a policy for other programs.

    Args:
        payload: `policy`, its file; `folder` to write to; `name`, `policy.zip` or `policy.onnx`; `discount`;
            `algorithm`, the class of Stable-Baselines3 that will load it.
        report: Unused.

    Returns:
        `difference`, the largest between actions of the written policy and of this package's.
    """
    path, policy = Path(payload["folder"], payload["name"]), load_policy(Path(payload["policy"]))
    network = network_of(policy)
    drawn = torch.randn(_ROWS, policy.observation_size, generator=torch.Generator("cpu").manual_seed(_SEED))
    observations = network.mean + 3.0 * drawn.clamp(-3.0, 3.0) / network.scale
    actions = policy.act(observations)
    if path.suffix == ".onnx":
        written = write_onnx(network, path, observations)
    else:
        written = write_sb3(network, path, payload["discount"], payload["algorithm"], observations)
        if network.policy.choices:
            actions = torch.stack([part.argmax(1) for part in actions.split(network.policy.choices, 1)], 1).squeeze(1)
    return {"difference": _difference(written, actions)}


def _save(payload: dict[str, Any], arrays: Mapping[str, Tensor]) -> None:
    content = io.BytesIO()
    plain: dict[str, Any] = {name: value.detach().numpy() for name, value in arrays.items()}
    np.savez(content, **plain)
    write_atomic(Path(payload["folder"], "expected.npz"), content.getvalue())
