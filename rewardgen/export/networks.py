"""Policies as plain networks, and these as files for other programs: Stable-Baselines3, TorchScript, ONNX."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from rewardgen.core.files import write_atomic
from rewardgen.training.mlp_policy import MlpPolicy
from rewardgen.training.ppo.policy import PpoPolicy

Layers = Sequence[tuple[Tensor, Tensor]]
"""Weight (out, in) and bias (out,) of each layer."""


class Network(NamedTuple):
    """A policy, however it was trained, and what other programs need of it.

    Attributes:
        policy: As a plain network.
        mean: Of observations, (O,) float32.
        scale: Of observations, (O,) float32.
        limit: Of normalised observations; infinite where they are taken as they are.
        layers: Of the policy; where it is cut off and no more, the last gives actions in units of the actuators.
        value: Layers of the value network, where it is kept.
        log_std: (A,), in units of the actuators, where it is kept.
    """

    policy: MlpPolicy
    mean: Tensor
    scale: Tensor
    limit: float
    layers: Layers
    value: Layers = ()
    log_std: Tensor | None = None


def network_of(policy: Any) -> Network:
    """What a policy computes.

    Args:
        policy: A `PpoPolicy` or an `MlpPolicy`.
    """
    low, high = policy.action_low, policy.action_high
    middle, half = (high + low) / 2, (high - low) / 2
    value, log_std = (), None
    if isinstance(policy, PpoPolicy):
        value, log_std = _layers(policy, "value"), policy.parameters["log_std"][0] + half.log()
        layers = _layers(policy, "policy")
        policy = MlpPolicy(layers, "tanh", "clip", (), policy.mean, policy.variance, low, high)
    if not isinstance(policy, MlpPolicy):
        raise TypeError("it is no policy of this package")
    plain = bool((policy.variance < 0).all())
    scale = torch.ones_like(policy.mean).float() if plain else (policy.variance + 1e-8).rsqrt().float()
    layers = policy.layers
    if policy.squash == "clip":
        weight, bias = layers[-1]
        layers = (*layers[:-1], (half[:, None] * weight, middle + half * bias))
    return Network(policy, policy.mean.float(), scale, math.inf if plain else 10.0, layers, value, log_std)


def _layers(policy: PpoPolicy, network: str) -> tuple[tuple[Tensor, Tensor], ...]:
    """Weight (out, in) and bias (out,) of each layer."""
    named = policy.parameters
    return tuple(
        (named[f"{network}.{index}.weight"].T.contiguous(), named[f"{network}.{index}.bias"][0])
        for index in range(len(policy.sizes.hidden) + 1)
    )


def write_sb3(network: Network, path: Path, discount: float, algorithm: str) -> None:
    """Write a policy as Stable-Baselines3 saves a model.

    Args:
        network: The policy.
        path: The zip.
        discount: Per control step.
        algorithm: The class that is to load it.
    """
    import cloudpickle
    import gymnasium
    import stable_baselines3

    from rewardgen.export.shipped import sb3_policy

    policy, low, high = network.policy, network.policy.action_low, network.policy.action_high
    acted = gymnasium.spaces.Box(low.numpy(), high.numpy(), dtype=np.float32)
    if policy.choices:
        one = len(policy.choices) == 1
        acted = (
            gymnasium.spaces.Discrete(policy.choices[0]) if one else gymnasium.spaces.MultiDiscrete([*policy.choices])
        )

    class Spaces(gymnasium.Env):
        observation_space = gymnasium.spaces.Box(-math.inf, math.inf, (len(network.mean),), np.float32)
        action_space = acted

    options: dict[str, Any] = {
        "net_arch": [len(bias) for _, bias in network.layers[:-1]],
        "activation_fn": {"tanh": torch.nn.Tanh, "relu": torch.nn.ReLU, "elu": torch.nn.ELU}[policy.activation],
    }
    given: dict[str, Any] = {"gamma": discount, "device": "cpu"}
    if algorithm != "PPO":
        given["buffer_size"] = 1
    if policy.squash == "tanh2":
        given["use_sde"] = True
    kind = sb3_policy.NormalisedPolicy if algorithm == "PPO" else "MlpPolicy"
    model = getattr(stable_baselines3, algorithm)(kind, Spaces(), policy_kwargs=options, **given)
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


def write_onnx(network: Network, folder: Path) -> None:
    """Write a policy as `policy.pt`, for TorchScript, and as `policy.onnx`; (N, O) to (N, A)."""
    import warnings

    from onnx import TensorProto, checker, helper, numpy_helper

    policy, low, high = network.policy, network.policy.action_low, network.policy.action_high
    with warnings.catch_warnings(action="ignore"), torch.no_grad():
        traced = torch.jit.trace(policy.act, torch.zeros(2, len(network.mean)))
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
            then(policy.activation.capitalize())
    if policy.choices:
        constants["counts"] = torch.tensor(policy.choices)
        parts = [f"part{number}" for number in range(len(policy.choices))]
        nodes.append(helper.make_node("Split", [nodes[-1].output[0], "counts"], parts, axis=1))
        nodes += [helper.make_node("Hardmax", [each], [f"chosen_{each}"], axis=1) for each in parts]
        nodes.append(helper.make_node("Concat", [f"chosen_{each}" for each in parts], ["action"], axis=1))
    else:
        constants |= {"low": low, "high": high}
        if policy.squash == "tanh2":
            constants |= {"two": torch.tensor(2.0), "minus_two": torch.tensor(-2.0)}
            then("Clip", "minus_two", "two")
        if policy.squash != "clip":
            constants |= {"middle": (high + low) / 2, "half": (high - low) / 2}
            then("Tanh")
            then("Mul", "half")
            then("Add", "middle")
        then("Max", "low")
        then("Min", "high", to="action")
    sizes = {"observation": len(network.mean), "action": len(low)}
    ends = {name: helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", size]) for name, size in sizes.items()}
    stored = [numpy_helper.from_array(value.detach().numpy(), name) for name, value in constants.items()]
    graph = helper.make_graph(nodes, "policy", [ends["observation"]], [ends["action"]], stored)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    checker.check_model(model)
    write_atomic(folder / "policy.onnx", model.SerializeToString())
