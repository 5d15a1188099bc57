"""The worker jobs of exports. Only `reward_job` runs generated code; what it answers are numbers and names."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

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
from rewardgen.tasks.gym_task import GymTask
from rewardgen.tasks.loading import load_task
from rewardgen.tasks.task_env import one_env
from rewardgen.training.mlp_policy import Activation, MlpPolicy, Squash
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
    network = _network(policy)
    size = policy.observation_size
    drawn = torch.randn(_ROWS, size, generator=torch.Generator("cpu").manual_seed(_SEED))
    observations = network.mean + 3.0 * drawn / network.scale
    actions = policy.act(observations)
    if payload["kind"] == "sb3":
        _write_sb3(network, folder / "policy.zip", payload["discount"], payload["algorithm"])
        if network.choices:
            actions = torch.stack([each.argmax(1) for each in actions.split(network.choices, 1)], 1).squeeze(1)
    else:
        _write_onnx(network, folder)
    _save(payload, {"observations": observations, "actions": actions})
    return {"observation_size": size, "action_size": len(policy.action_low)}


Layers = Sequence[tuple[Tensor, Tensor]]
"""Weight (out, in) and bias (out,) of each layer."""


class _Network(NamedTuple):
    """A policy, however it was trained: a normaliser, layers, and what becomes of their output.

    Attributes:
        mean: Of observations, (O,) float32.
        scale: Of observations, (O,) float32.
        limit: Of normalised observations; infinite where they are taken as they are.
        layers: Of the policy; where it is cut off and no more, the last gives actions in units of the actuators.
        activation: Between them.
        squash: As `MlpPolicy` has it.
        choices: As `MlpPolicy` has them.
        low: (A,).
        high: (A,).
        value: Layers of the value network, where it is kept.
        log_std: (A,), in units of the actuators, where it is kept.
    """

    mean: Tensor
    scale: Tensor
    limit: float
    layers: Layers
    activation: Activation
    squash: Squash
    choices: tuple[int, ...]
    low: Tensor
    high: Tensor
    value: Layers = ()
    log_std: Tensor | None = None


def _network(policy: Any) -> _Network:
    low, high = policy.action_low, policy.action_high
    middle, half = (high + low) / 2, (high - low) / 2
    if isinstance(policy, PpoPolicy):
        used = ObservationNormaliser(
            RunningMoments(policy.mean[None], policy.variance[None], policy.mean.new_ones(1, 1))
        )
        mean, scale = used._mean.flatten(), used._scale.flatten()
        layers, value = _layers(policy, "policy"), _layers(policy, "value")
        log_std = policy.parameters["log_std"][0] + half.log()
        kept: tuple[Activation, Squash, tuple[int, ...]] = "tanh", "clip", ()
        limit = 10.0
    elif isinstance(policy, MlpPolicy):
        plain = bool((policy.variance < 0).all())
        mean, limit = policy.mean.float(), math.inf if plain else 10.0
        scale = torch.ones_like(mean) if plain else (policy.variance + 1e-8).rsqrt().float()
        layers, value, log_std = list(policy.layers), (), None
        kept = policy.activation, policy.squash, policy.choices
    else:
        raise TypeError("it is no policy of this package")
    if kept[1] == "clip":
        weight, bias = layers[-1]
        layers[-1] = (half[:, None] * weight, middle + half * bias)
    return _Network(mean, scale, limit, layers, *kept, low, high, value, log_std)


def _layers(policy: PpoPolicy, network: str) -> list[tuple[Tensor, Tensor]]:
    """Weight (out, in) and bias (out,) of each layer."""
    named = policy.parameters
    return [
        (named[f"{network}.{index}.weight"].T.contiguous(), named[f"{network}.{index}.bias"][0])
        for index in range(len(policy.sizes.hidden) + 1)
    ]


def _write_sb3(network: _Network, path: Path, discount: float, algorithm: str) -> None:
    import cloudpickle
    import gymnasium
    import stable_baselines3

    from rewardgen.export.shipped import sb3_policy

    acted = gymnasium.spaces.Box(network.low.numpy(), network.high.numpy(), dtype=np.float32)
    if network.choices:
        one = len(network.choices) == 1
        acted = (
            gymnasium.spaces.Discrete(network.choices[0]) if one else gymnasium.spaces.MultiDiscrete([*network.choices])
        )

    class Spaces(gymnasium.Env):
        observation_space = gymnasium.spaces.Box(-math.inf, math.inf, (len(network.mean),), np.float32)
        action_space = acted

    options: dict[str, Any] = {
        "net_arch": [len(bias) for _, bias in network.layers[:-1]],
        "activation_fn": torch.nn.Tanh if network.activation == "tanh" else torch.nn.ReLU,
    }
    given: dict[str, Any] = {"gamma": discount, "device": "cpu"}
    if algorithm != "PPO":
        given["buffer_size"] = 1
    if network.squash == "tanh2":
        given["use_sde"] = True
    policy = sb3_policy.NormalisedPolicy if algorithm == "PPO" else "MlpPolicy"
    model = getattr(stable_baselines3, algorithm)(policy, Spaces(), policy_kwargs=options, **given)
    own = model.policy
    if algorithm == "PPO":
        for extractor in {own.features_extractor, own.pi_features_extractor, own.vf_features_extractor}:
            extractor.mean.copy_(network.mean)
            extractor.scale.copy_(network.scale)
        _put(network.layers, own.mlp_extractor.policy_net, own.action_net)
        if network.value:
            _put(network.value, own.mlp_extractor.value_net, own.value_net)
        if network.log_std is not None:
            own.log_std.data.copy_(network.log_std)
    elif algorithm == "SAC":
        _put(network.layers, own.actor.latent_pi, own.actor.mu)
    else:
        _put(network.layers, own.actor.mu)
        _put(network.layers, own.actor_target.mu)
    cloudpickle.register_pickle_by_value(sb3_policy)  # so that the zip needs no module of ours
    content = io.BytesIO()
    model.save(content)
    write_atomic(path, content.getvalue())


def _put(layers: Layers, *modules: torch.nn.Module) -> None:
    """Give the linear ones among some modules their weights and biases."""
    linear = [each for module in modules for each in module.modules() if isinstance(each, torch.nn.Linear)]
    for module, (weight, bias) in zip(linear, layers, strict=True):
        module.weight.data.copy_(weight)
        module.bias.data.copy_(bias)


def _fixed(value: Tensor) -> torch.nn.Parameter:
    return torch.nn.Parameter(value, requires_grad=False)


class _Acting(torch.nn.Module):
    """A policy for TorchScript."""

    mean: Tensor
    scale: Tensor
    low: Tensor
    high: Tensor

    def __init__(self, network: _Network) -> None:
        super().__init__()
        for name in ("mean", "scale", "low", "high"):
            self.register_buffer(name, getattr(network, name))
        parts: list[torch.nn.Module] = []
        for weight, bias in network.layers:
            linear = torch.nn.Linear(weight.shape[1], weight.shape[0])
            linear.weight, linear.bias = _fixed(weight), _fixed(bias)
            parts += [linear, torch.nn.Tanh() if network.activation == "tanh" else torch.nn.ReLU()]
        self.body = torch.nn.Sequential(*parts[:-1])
        self.limit, self.squash, self.choices = network.limit, network.squash, network.choices

    def forward(self, observation: Tensor) -> Tensor:
        """Actions (N, A) for observations (N, O)."""
        values = self.body(((observation - self.mean) * self.scale).clamp(-self.limit, self.limit))
        if self.choices:
            groups = values.split(self.choices, 1)
            return torch.cat([torch.nn.functional.one_hot(each.argmax(1), each.shape[1]).float() for each in groups], 1)
        if self.squash != "clip":
            cut = values.clamp(-2.0, 2.0) if self.squash == "tanh2" else values
            values = (self.high + self.low) / 2 + (self.high - self.low) / 2 * cut.tanh()
        return torch.minimum(torch.maximum(values, self.low), self.high)


def _write_onnx(network: _Network, folder: Path) -> None:
    import warnings

    from onnx import TensorProto, checker, helper, numpy_helper

    with warnings.catch_warnings(action="ignore"), torch.no_grad():
        traced = torch.jit.trace(_Acting(network).eval(), torch.zeros(2, len(network.mean)))
        content = io.BytesIO()
        torch.jit.save(traced, content)
    write_atomic(folder / "policy.pt", content.getvalue())

    constants: dict[str, Tensor] = {"mean": network.mean, "scale": network.scale}
    constants |= {"least": torch.tensor(-network.limit), "most": torch.tensor(network.limit)}
    nodes: list[Any] = []

    def then(operation: str, *further: str, to: str = "", **options: Any) -> None:
        """One step on what the last one gave."""
        before = nodes[-1].output[0] if nodes else "observation"
        nodes.append(helper.make_node(operation, [before, *further], [to or f"step{len(nodes)}"], **options))

    then("Sub", "mean")
    then("Mul", "scale")
    then("Clip", "least", "most")
    for index, (weight, bias) in enumerate(network.layers):
        constants |= {f"weight{index}": weight, f"bias{index}": bias}
        then("Gemm", f"weight{index}", f"bias{index}", transB=1)
        if index < len(network.layers) - 1:
            then("Tanh" if network.activation == "tanh" else "Relu")
    if network.choices:
        constants["counts"] = torch.tensor(network.choices)
        parts = [f"part{number}" for number in range(len(network.choices))]
        nodes.append(helper.make_node("Split", [nodes[-1].output[0], "counts"], parts, axis=1))
        nodes += [helper.make_node("Hardmax", [each], [f"chosen_{each}"], axis=1) for each in parts]
        nodes.append(helper.make_node("Concat", [f"chosen_{each}" for each in parts], ["action"], axis=1))
    else:
        constants |= {"low": network.low, "high": network.high}
        if network.squash == "tanh2":
            constants |= {"two": torch.tensor(2.0), "minus_two": torch.tensor(-2.0)}
            then("Clip", "minus_two", "two")
        if network.squash != "clip":
            constants |= {"middle": (network.high + network.low) / 2, "half": (network.high - network.low) / 2}
            then("Tanh")
            then("Mul", "half")
            then("Add", "middle")
        then("Max", "low")
        then("Min", "high", to="action")
    sizes = {"observation": len(network.mean), "action": len(network.low)}
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
