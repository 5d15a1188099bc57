"""The worker jobs of exports. Only `reward_job` runs generated code; what it answers are numbers and names."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rewardgen.core.errors import UsageError
from rewardgen.core.files import write_atomic
from rewardgen.reward.export import reward_file
from rewardgen.reward.program import compile_reward
from rewardgen.sim.arrays import read_arrays
from rewardgen.sim.episodes import record_episodes, trivial_policies
from rewardgen.sim.vec_env import HIDDEN
from rewardgen.tasks.fingerprint import digests, fingerprint, made_of
from rewardgen.tasks.fitness import measure_episodes
from rewardgen.tasks.loading import load_task
from rewardgen.training.policies import load_policy
from rewardgen.training.ppo.normaliser import ObservationNormaliser, RunningMoments
from rewardgen.training.ppo.policy import PpoPolicy

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
        `fingerprint` of the task; `model`, its files, the main one first; `reads`; `steps`; `fitness`; `success`.
    """
    task = load_task(payload["task"])
    envs = task.make_envs([_SEED], 1)
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
        "reads": list(map(str, task.reads)),
        "steps": len(seen),
        "fitness": float(measured.fitness[0]),
        "success": bool(measured.success[0]),
    }


def policy_job(payload: dict[str, Any], report: Report) -> dict[str, Any]:
    """Write a policy for other programs.

    Args:
        payload: `policy`, its file; `folder` to write to; `kind`, `sb3` or `onnx`; `discount`.
        report: Not used.

    Returns:
        `observation_size` and `action_size`.
    """
    folder, policy = Path(payload["folder"]), load_policy(Path(payload["policy"]))
    if not isinstance(policy, PpoPolicy):
        raise TypeError("it is no policy of PPO")
    normaliser = _normaliser(policy)
    spread = policy.variance.sqrt().float()
    drawn = torch.randn(_ROWS, policy.observation_size, generator=torch.Generator("cpu").manual_seed(_SEED))
    observations = policy.mean.float() + 3.0 * spread * drawn
    _save(payload, {"observations": observations, "actions": policy.act(observations)})
    if payload["kind"] == "sb3":
        _write_sb3(policy, normaliser, folder / "policy.zip", payload["discount"])
    else:
        _write_onnx(policy, normaliser, folder)
    return {"observation_size": policy.observation_size, "action_size": policy.sizes.action}


def _normaliser(policy: PpoPolicy) -> dict[str, Tensor]:
    """Mean and scale of observations, (O,) float32, as trainings have them."""
    moments = RunningMoments(policy.mean[None], policy.variance[None], policy.mean.new_ones(1, 1))
    used = ObservationNormaliser(moments)
    return {"mean": used._mean.flatten(), "scale": used._scale.flatten()}


def _layers(policy: PpoPolicy, network: str) -> list[tuple[Tensor, Tensor]]:
    """Weight (out, in) and bias (out,) of each layer; the policy's last one gives actions in actuator units."""
    named = policy.parameters
    found = [
        (named[f"{network}.{index}.weight"].T.contiguous(), named[f"{network}.{index}.bias"][0])
        for index in range(len(policy.sizes.hidden) + 1)
    ]
    if network == "policy":
        middle, half = (policy.action_high + policy.action_low) / 2, (policy.action_high - policy.action_low) / 2
        weight, bias = found[-1]
        found[-1] = (half[:, None] * weight, middle + half * bias)
    return found


def _write_sb3(policy: PpoPolicy, normaliser: Mapping[str, Tensor], path: Path, discount: float) -> None:
    import cloudpickle
    import gymnasium
    from stable_baselines3 import PPO

    from rewardgen.export.shipped import sb3_policy

    class Spaces(gymnasium.Env):
        observation_space = gymnasium.spaces.Box(-math.inf, math.inf, (policy.observation_size,), np.float32)
        action_space = gymnasium.spaces.Box(policy.action_low.numpy(), policy.action_high.numpy(), dtype=np.float32)

    hidden = list(policy.sizes.hidden)
    options = {"net_arch": {"pi": hidden, "vf": hidden}, "activation_fn": torch.nn.Tanh}
    model = PPO(sb3_policy.NormalisedPolicy, Spaces(), policy_kwargs=options, gamma=discount, device="cpu")
    own = model.policy
    for extractor in {own.features_extractor, own.pi_features_extractor, own.vf_features_extractor}:
        for name, value in normaliser.items():
            getattr(extractor, name).copy_(value)
    nets = {
        "policy": (own.mlp_extractor.policy_net, own.action_net),
        "value": (own.mlp_extractor.value_net, own.value_net),
    }
    with torch.no_grad():
        for network, (body, head) in nets.items():
            modules = [each for each in body if isinstance(each, torch.nn.Linear)] + [head]
            for module, (weight, bias) in zip(modules, _layers(policy, network), strict=True):
                module.weight.copy_(weight)
                module.bias.copy_(bias)
        half = (policy.action_high - policy.action_low) / 2
        own.log_std.copy_(policy.parameters["log_std"][0] + half.log())
    cloudpickle.register_pickle_by_value(sb3_policy)  # so that the zip needs no module of ours
    content = io.BytesIO()
    model.save(content)
    write_atomic(path, content.getvalue())


def _fixed(value: Tensor) -> torch.nn.Parameter:
    return torch.nn.Parameter(value, requires_grad=False)


class _Acting(torch.nn.Module):
    """A policy for TorchScript."""

    mean: Tensor
    scale: Tensor
    low: Tensor
    high: Tensor

    def __init__(self, policy: PpoPolicy, normaliser: Mapping[str, Tensor]) -> None:
        super().__init__()
        bounds = {"low": policy.action_low, "high": policy.action_high}
        for name, value in {**normaliser, **bounds}.items():
            self.register_buffer(name, value)
        parts: list[torch.nn.Module] = []
        for weight, bias in _layers(policy, "policy"):
            linear = torch.nn.Linear(weight.shape[1], weight.shape[0])
            linear.weight, linear.bias = _fixed(weight), _fixed(bias)
            parts += [linear, torch.nn.Tanh()]
        self.body = torch.nn.Sequential(*parts[:-1])

    def forward(self, observation: Tensor) -> Tensor:
        """Actions (N, A) for observations (N, O)."""
        values = ((observation - self.mean) * self.scale).clamp(-10.0, 10.0)
        return torch.minimum(torch.maximum(self.body(values), self.low), self.high)


def _write_onnx(policy: PpoPolicy, normaliser: Mapping[str, Tensor], folder: Path) -> None:
    import warnings

    from onnx import TensorProto, checker, helper, numpy_helper

    with warnings.catch_warnings(action="ignore"), torch.no_grad():
        traced = torch.jit.trace(_Acting(policy, normaliser).eval(), torch.zeros(1, policy.observation_size))
        content = io.BytesIO()
        torch.jit.save(traced, content)
    write_atomic(folder / "policy.pt", content.getvalue())

    constants = {**normaliser, "low": policy.action_low, "high": policy.action_high}
    constants |= {"least": torch.tensor(-10.0), "most": torch.tensor(10.0)}
    nodes = [
        helper.make_node("Sub", ["observation", "mean"], ["centred"]),
        helper.make_node("Mul", ["centred", "scale"], ["scaled"]),
        helper.make_node("Clip", ["scaled", "least", "most"], ["values0"]),
    ]
    layers = _layers(policy, "policy")
    for index, (weight, bias) in enumerate(layers):
        constants |= {f"weight{index}": weight, f"bias{index}": bias}
        nodes.append(
            helper.make_node("Gemm", [f"values{index}", f"weight{index}", f"bias{index}"], [f"sum{index}"], transB=1)
        )
        if index < len(layers) - 1:
            nodes.append(helper.make_node("Tanh", [f"sum{index}"], [f"values{index + 1}"]))
    nodes.append(helper.make_node("Max", [f"sum{len(layers) - 1}", "low"], ["above"]))
    nodes.append(helper.make_node("Min", ["above", "high"], ["action"]))
    sizes = {"observation": policy.observation_size, "action": policy.sizes.action}
    ends = {name: helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", size]) for name, size in sizes.items()}
    stored = [numpy_helper.from_array(value.detach().numpy(), name) for name, value in constants.items()]
    graph = helper.make_graph(nodes, "policy", [ends["observation"]], [ends["action"]], stored)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    checker.check_model(model)
    write_atomic(folder / "policy.onnx", model.SerializeToString())


def _save(payload: dict[str, Any], arrays: Mapping[str, Tensor]) -> None:
    content = io.BytesIO()
    found: dict[str, Any] = {name: value.detach().numpy() for name, value in arrays.items()}
    np.savez(content, **found)
    write_atomic(Path(payload["folder"], "expected.npz"), content.getvalue())
