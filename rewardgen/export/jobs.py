"""Worker jobs of exports. Only `reward_job` runs generated code, and it answers with numbers and names alone."""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from rewardgen.core.errors import UsageError
from rewardgen.core.files import write_atomic
from rewardgen.reward.export import reward_file
from rewardgen.reward.pricing import price
from rewardgen.reward.program import compile_reward
from rewardgen.sim.arrays import read_arrays
from rewardgen.sim.episodes import Recording, record_episodes, trivial_policies
from rewardgen.sim.vec_env import HIDDEN, ActFunction, VecEnv
from rewardgen.tasks.fingerprint import digests, fingerprint, made_of
from rewardgen.tasks.fitness import measure_episodes
from rewardgen.tasks.loading import load_task
from rewardgen.tasks.task_env import action_space, one_env
from rewardgen.training.mlp_policy import MlpPolicy, Squash
from rewardgen.training.policies import load_policy, misfit, side_by_side
from rewardgen.training.ppo.policy import PpoPolicy
from rewardgen.training.shared.seeding import derive_seed
from rewardgen.training.shared.slices import Report

_ROWS = 256
_SEED = 7
_INPUT = "input."


def reward_job(payload: dict[str, Any], _: Report) -> dict[str, Any]:
    """Compute a reward as trainings do, and as its file does.

    Args:
        payload: `source`; `inputs`, a file with the inputs of an episode as `input.NAME`; `folder` to write to.

    Returns:
        `rows`; `difference`, the largest between the two, relative above 1.
    """
    arrays = read_arrays(Path(payload["inputs"]))
    program = compile_reward(payload["source"])
    reads = dict.fromkeys((*program.inputs, *program.observes))
    if missing := [name for name in reads if _INPUT + name not in arrays]:
        if missing[0] in HIDDEN:
            raise UsageError("the environment's own reward has no code to export", "export it as `gymnasium`")
        raise UsageError(f"the recorded transitions have no `{missing[0]}`", "they are of another task: delete them")
    columns = {name: arrays[_INPUT + name] for name in reads}
    inputs = {name: torch.from_numpy(value.astype(np.float32)) for name, value in columns.items()}
    priced, _ = price(program, {name: value.unsqueeze(1) for name, value in inputs.items()})
    expected = priced.view(-1)
    module: dict[str, Any] = {"__name__": "reward"}
    exec(compile(reward_file(payload["source"]), "reward.py", "exec", dont_inherit=True), module)
    total, components = _by_the_file(module, {name: value.clone() for name, value in inputs.items()})
    differences = [_difference(total, expected.total)]
    differences += [_difference(components[name], value) for name, value in expected.items()]
    if "seen_besides" in module:
        stage = torch.zeros(len(total), dtype=torch.int64) if priced.stage is None else priced.stage[:, 0]
        differences.append(_difference(module["seen_besides"](inputs, stage), program.look(inputs, stage)))
    _save(payload, {"total": expected.total})
    return {"rows": len(total), "difference": max(differences)}


def _by_the_file(module: dict[str, Any], inputs: Mapping[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
    """Return reward and components of an episode, (T,) each; a reward with stages is called step by step."""
    compute = module["reward_and_components"]
    if "next_stage" not in module:
        return compute(inputs)
    stage, totals, parts = None, [], []
    for step in range(len(next(iter(inputs.values())))):
        total, components, stage = compute({name: value[step : step + 1] for name, value in inputs.items()}, stage)
        totals.append(total)
        parts.append(components)
    return torch.cat(totals), {name: torch.cat([part[name] for part in parts]) for name in parts[0]}


def _difference(one: Tensor, other: Tensor) -> float:
    return float(((one - other).abs() / other.abs().clamp(min=1.0)).max())


def task_job(payload: dict[str, Any], _: Report) -> dict[str, Any]:
    """Play an episode of a task, with a policy or at random, and list the task's parts.

    Args:
        payload: `task`, `folder` to write to, and perhaps a `policy`; `seed` and `starts`, the purpose for which the
            episode's seed is derived.

    Returns:
        `fingerprint` of the task; `model`, files of its MuJoCo model, the main one first; `needs`, packages of its
        simulator; `reads`; `fitness`; `measures`, the names of what the episode's end tells of fitness and success.
    """
    task = load_task(payload["task"])
    seed = derive_seed(payload["seed"], payload["starts"])
    envs = one_env(task, seed)
    act = load_policy(Path(payload["policy"])).act if payload.get("policy") else trivial_policies(envs)["random"]
    names = [*envs.variables, "action"]
    observations, recording = _observed(envs, act, [*names, *(f"prev_{name}" for name in names)])
    measured = measure_episodes(task, recording.episode)
    inputs = {_INPUT + name: value[:, 0] for name, value in recording.inputs.items()}
    facts = {"seed": torch.tensor(seed)}
    if task.has_fitness:
        facts |= {"fitness": measured.fitness[0]} | ({"success": measured.success[0]} if task.has_success else {})
    seen = observations[: int(recording.episode.lengths), 0]
    _save(payload, {**inputs, **facts, "observations": seen, "actions": recording.inputs["action"][:, 0]})
    return {
        "fingerprint": fingerprint(digests(made_of(task))),
        "model": [str(path) for path in task.model_files()],
        "needs": task.packages(),
        "reads": list(map(str, task.reads)),
        "fitness": float(measured.fitness[0]),
        "measures": [name for name in ("fitness", "success") if name in facts],
    }


def episodes_job(payload: dict[str, Any], _: Report) -> dict[str, Any]:
    """Play policies again in all starts of their evaluation, and write the episodes that were compared.

    Args:
        payload: `task`; `policies`, a folder; `plays`: name of each policy's file, purpose of its starts, and indices
            of the compared ones; `seed` and number of `episodes` of the starts; `answers`: `left`, `right` and
            `preference` of each, to write beside the episodes; `folder` to write to.

    Returns:
        `lengths` of the episodes in steps, in the order of the indices.
    """
    task = load_task(payload["task"])
    observations, actions = [], []
    for name, purpose, indices in payload["plays"]:
        envs = task.make_envs([derive_seed(payload["seed"], purpose)], payload["episodes"])
        policy = load_policy(Path(payload["policies"], name))
        if problem := misfit(policy, envs):
            raise UsageError(f"{name}: {problem}", "restore the task's files")
        seen, recording = _observed(envs, side_by_side([policy]).act)  # as the clean evaluation, to the last digits
        for index in indices:
            length = int(recording.episode.lengths[index])
            observations.append(seen[: length + 1, index])
            actions.append(recording.episode["action"][:length, index])
    lengths = list(map(len, actions))
    answers = {name: torch.tensor(values) for name, values in payload["answers"].items()}
    episodes = {"obs": torch.cat(observations), "acts": torch.cat(actions), "lengths": torch.tensor(lengths)}
    _save(payload, {**episodes, **answers})
    return {"lengths": lengths}


def _observed(envs: VecEnv, act: ActFunction, names: Sequence[str] = ()) -> tuple[Tensor, Recording]:
    """Play an episode in each of N envs; return observations (T + 1, N, O), first and after each step, and the rest."""
    seen = [envs.reset(anew=True).clone()]
    recording = record_episodes(
        envs, act, names=names, watch=lambda step, _: seen.append(step.final_observation.clone()), anew=True
    )
    return torch.stack(seen), recording


def policy_job(payload: dict[str, Any], _: Report) -> dict[str, Any]:
    """Write a policy for other programs.

    Args:
        payload: `policy`, its file; `folder` to write to; `name`, `policy.zip` or `policy.onnx`; `discount`;
            `algorithm`, the class of Stable-Baselines3 that will load it.

    Returns:
        `difference`, the largest between actions of the written policy and of this package's.
    """
    path, policy = Path(payload["folder"], payload["name"]), load_policy(Path(payload["policy"]))
    network = _network_of(policy)
    drawn = torch.randn(_ROWS, policy.observation_size, generator=torch.Generator("cpu").manual_seed(_SEED))
    observations = network.mean + 3.0 * drawn.clamp(-3.0, 3.0) * _varied(network.policy) / network.scale
    actions = policy.act(observations)
    if path.suffix == ".onnx":
        written = _write_onnx(network, path, observations)
    else:
        written = _write_sb3(network, path, payload["discount"], payload["algorithm"], observations)
        if network.policy.choices:
            actions = torch.stack([part.argmax(1) for part in actions.split(network.policy.choices, 1)], 1).squeeze(1)
    return {"difference": _difference(written, actions)}


def _save(payload: dict[str, Any], arrays: Mapping[str, Tensor]) -> None:
    content = io.BytesIO()
    plain: dict[str, Any] = {name: value.detach().numpy() for name, value in arrays.items()}
    np.savez(content, **plain)
    write_atomic(Path(payload["folder"], "expected.npz"), content.getvalue())


_Layers = Sequence[tuple[Tensor, Tensor]]
"""Weight (out, in) and bias (out,) of each layer."""

_NO_VARIANCE = 1e-9


class _Network(NamedTuple):
    """A policy of any trainer, as other programs need it."""

    policy: MlpPolicy
    mean: Tensor
    """Mean of observations, (O,) float32."""
    scale: Tensor
    """Inverse standard deviation of observations, (O,) float32."""
    layers: _Layers
    """Layers of the policy; without a tanh at the end, the last gives actions in actuator units."""
    log_std: Tensor | None = None
    """(A,), in actuator units, if it was saved."""


def _network_of(policy: Any) -> _Network:
    low, high = policy.action_low, policy.action_high
    middle, half = (high + low) / 2, (high - low) / 2
    log_std = None
    if isinstance(policy, PpoPolicy):
        choices = policy.choices
        log_std = None if choices else policy.parameters["log_std"][0] + half.log()
        squash: Squash = "choice" if choices else "clip"
        policy = MlpPolicy(_layers(policy), "tanh", squash, choices, policy.mean, policy.variance, low, high)
    plain = bool((policy.variance < 0).all())
    scale = torch.ones_like(policy.mean).float() if plain else (policy.variance + 1e-8).rsqrt().float()
    layers = policy.layers
    if policy.squash == "clip":
        weight, bias = layers[-1]
        layers = (*layers[:-1], (half[:, None] * weight, middle + half * bias))
    return _Network(policy, policy.mean.float(), scale, layers, log_std)


def _layers(policy: PpoPolicy) -> tuple[tuple[Tensor, Tensor], ...]:
    parameters = policy.parameters
    return tuple(
        (parameters[f"policy.{index}.weight"].T.contiguous(), parameters[f"policy.{index}.bias"][0])
        for index in range(len(policy.sizes.hidden) + 1)
    )


def _write_sb3(network: _Network, path: Path, discount: float, algorithm: str, observations: Tensor) -> Tensor:
    """Write a policy as Stable-Baselines3 saves a model, and return the file's actions for observations (N, O).

    The normaliser is folded into the first layer, so the zip holds SB3's own policy class and no code of ours.
    """
    import gymnasium
    import stable_baselines3

    policy, low, high = network.policy, network.policy.action_low, network.policy.action_high
    actions = action_space(low, high, policy.choices)

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
    if algorithm != "PPO":
        model.buffer_size = 1_000_000  # for further training; none of it is needed here
    content = io.BytesIO()
    model.save(content)
    write_atomic(path, content.getvalue())
    loaded = getattr(stable_baselines3, algorithm).load(path, device="cpu", custom_objects={"buffer_size": 1})
    return torch.from_numpy(loaded.predict(observations.numpy(), deterministic=True)[0])


def _folded(network: _Network) -> _Layers:
    """Layers that take observations without normalisation; entries that never varied in training have no weight."""
    (weight, bias), *rest = network.layers
    # Divided by a deviation of nothing they would be large numbers that cancel, and float32 cannot.
    scaled = weight.double() * network.scale.double() * _varied(network.policy)
    return [(scaled.float(), (bias.double() - scaled @ network.mean.double()).float()), *rest]


def _varied(policy: MlpPolicy) -> Tensor:
    """Return which entries of the observation varied in training, (O,) bool."""
    return policy.variance.abs() > _NO_VARIANCE


def _put(layers: _Layers, *modules: torch.nn.Module) -> None:
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


def _write_onnx(network: _Network, path: Path, observations: Tensor) -> Tensor:
    """Write a policy as ONNX, `observation` (N, O) to `action` (N, A), and return the file's actions."""
    from onnxruntime import InferenceSession

    ends: dict[str, Any] = {"input_names": ["observation"], "output_names": ["action"]}
    ends["dynamic_axes"] = {name: {0: "N"} for name in ("observation", "action")}
    with warnings.catch_warnings(action="ignore"):
        # The exporter that torch prefers needs one more package.
        torch.onnx.export(_Acting(network.policy), (observations,), str(path), **ends, dynamo=False)
    session = InferenceSession(path, providers=["CPUExecutionProvider"])
    return torch.from_numpy(session.run(None, {"observation": observations.numpy()})[0])
