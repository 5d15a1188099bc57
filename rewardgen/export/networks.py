"""Policies as plain networks, and these as files for Stable-Baselines3 and ONNX."""

from __future__ import annotations

import io
import math
import warnings
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
    """A policy of any trainer, as other programs need it."""

    policy: MlpPolicy
    mean: Tensor
    """Observation moments, (O,) float32."""
    scale: Tensor
    """Observation moments, (O,) float32."""
    layers: Layers
    """Layers of the policy; without a tanh at the end, the last gives actions in actuator units."""
    log_std: Tensor | None = None
    """(A,), in actuator units, if it was saved."""


def network_of(policy: Any) -> Network:
    """The network of a `PpoPolicy` or an `MlpPolicy`."""
    low, high = policy.action_low, policy.action_high
    middle, half = (high + low) / 2, (high - low) / 2
    log_std = None
    if isinstance(policy, PpoPolicy):
        log_std = policy.parameters["log_std"][0] + half.log()
        policy = MlpPolicy(_layers(policy), "tanh", "clip", (), policy.mean, policy.variance, low, high)
    plain = bool((policy.variance < 0).all())
    scale = torch.ones_like(policy.mean).float() if plain else (policy.variance + 1e-8).rsqrt().float()
    layers = policy.layers
    if policy.squash == "clip":
        weight, bias = layers[-1]
        layers = (*layers[:-1], (half[:, None] * weight, middle + half * bias))
    return Network(policy, policy.mean.float(), scale, layers, log_std)


def _layers(policy: PpoPolicy) -> tuple[tuple[Tensor, Tensor], ...]:
    parameters = policy.parameters
    return tuple(
        (parameters[f"policy.{index}.weight"].T.contiguous(), parameters[f"policy.{index}.bias"][0])
        for index in range(len(policy.sizes.hidden) + 1)
    )


def write_sb3(network: Network, path: Path, discount: float, algorithm: str, observations: Tensor) -> Tensor:
    """Write a policy as Stable-Baselines3 saves a model.

    The normaliser is folded into the first layer, so the zip holds SB3's own policy class and no code of ours.

    Args:
        network: The policy.
        path: The zip.
        discount: Per control step.
        algorithm: Class that will load it.
        observations: (N, O), to try the file on.

    Returns:
        The actions of the file.
    """
    import gymnasium
    import stable_baselines3

    policy, low, high = network.policy, network.policy.action_low, network.policy.action_high
    actions: gymnasium.Space[Any] = gymnasium.spaces.Box(low.numpy(), high.numpy(), dtype=np.float32)
    if len(policy.choices) == 1:
        actions = gymnasium.spaces.Discrete(policy.choices[0])
    elif policy.choices:
        actions = gymnasium.spaces.MultiDiscrete([*policy.choices])

    class Spaces(gymnasium.Env):
        observation_space = gymnasium.spaces.Box(-math.inf, math.inf, (len(network.mean),), np.float32)
        action_space = actions

    layout: dict[str, Any] = {
        "net_arch": [len(bias) for _, bias in network.layers[:-1]],
        "activation_fn": {"tanh": torch.nn.Tanh, "relu": torch.nn.ReLU, "elu": torch.nn.ELU}[policy.activation],
    }
    options: dict[str, Any] = {"gamma": discount, "device": "cpu"}
    options |= {"buffer_size": 1} if algorithm != "PPO" else {}
    options |= {"use_sde": True} if policy.squash == "tanh2" else {}
    model = getattr(stable_baselines3, algorithm)("MlpPolicy", Spaces(), policy_kwargs=layout, **options)
    target, layers = model.policy, _folded(network)
    if algorithm == "PPO":
        _put(layers, target.mlp_extractor.policy_net, target.action_net)
        if network.log_std is not None:
            target.log_std.data.copy_(network.log_std)
    elif algorithm == "SAC":
        _put(layers, target.actor.latent_pi, target.actor.mu)
    else:
        _put(layers, target.actor.mu)
        _put(layers, target.actor_target.mu)
    content = io.BytesIO()
    model.save(content)
    write_atomic(path, content.getvalue())
    loaded = getattr(stable_baselines3, algorithm).load(path, device="cpu")
    return torch.from_numpy(loaded.predict(observations.numpy(), deterministic=True)[0])


def _folded(network: Network) -> Layers:
    """Layers that take observations as simulated."""
    (weight, bias), *rest = network.layers
    scaled = weight.double() * network.scale.double()
    return [(scaled.float(), (bias.double() - scaled @ network.mean.double()).float()), *rest]


def _put(layers: Layers, *modules: torch.nn.Module) -> None:
    """Copy weights and biases into the linear layers of modules."""
    linear = [layer for module in modules for layer in module.modules() if isinstance(layer, torch.nn.Linear)]
    for module, (weight, bias) in zip(linear, layers, strict=True):
        module.weight.data.copy_(weight)
        module.bias.data.copy_(bias)


class _Acting(torch.nn.Module):
    def __init__(self, policy: MlpPolicy) -> None:
        super().__init__()
        self._policy = policy

    def forward(self, observation: Tensor) -> Tensor:
        return self._policy.act(observation)


def write_onnx(network: Network, path: Path, observations: Tensor) -> Tensor:
    """Write a policy as ONNX, `observation` (N, O) to `action` (N, A); the actions of the file.

    Args:
        network: The policy.
        path: The file.
        observations: (N, O), to try the file on.
    """
    from onnxruntime import InferenceSession

    ends: dict[str, Any] = {"input_names": ["observation"], "output_names": ["action"]}
    ends["dynamic_axes"] = {name: {0: "N"} for name in ("observation", "action")}
    with warnings.catch_warnings(action="ignore"):
        # The exporter that torch prefers needs one more package.
        torch.onnx.export(_Acting(network.policy), (observations,), str(path), **ends, dynamo=False)
    session = InferenceSession(path, providers=["CPUExecutionProvider"])
    return torch.from_numpy(session.run(None, {"observation": observations.numpy()})[0])
