"""Finished runs to export from: made without training, on tasks as they are, with policies as trainings leave them."""

from __future__ import annotations

from itertools import pairwise

import torch

from rewardgen.sim.transitions import save_transitions
from rewardgen.store.records import Training
from rewardgen.store.run_folder import RunFolder
from rewardgen.tasks.fingerprint import digests, fingerprint, made_of
from rewardgen.tasks.loading import expert_file, load_task, shipped_tasks
from rewardgen.tasks.record_transitions import record_transitions
from rewardgen.training.mlp_policy import MlpPolicy, unnormalised
from rewardgen.training.policies import load_policy
from rewardgen.training.ppo.networks import ActorCritic, NetworkSizes, initial_parameters
from rewardgen.training.ppo.policy import StackedPolicy
from rewardgen.training.shared.normaliser import ObservationNormaliser, RunningMoments
from rewardgen.training.shared.seeding import slice_generators
from tests.search.parts import Crew, a_search

CHOSEN = "g00-k3"
REWARDS = {
    "cartpole": '''def compute_reward(pole_upright, cart_position, prev_cart_position, action, *, weight: float = 2.0):
    """Upright, in the middle, without haste."""
    upright = weight * tolerance(pole_upright, lower=0.9, upper=1.0, margin=1.5)
    upright += 0.1  # always
    moved = cart_position - prev_cart_position
    return upright.sum() * 0.0 + upright - moved.abs(), {"upright": upright, "effort": -0.01 * action.square().sum(-1)}
''',
    "hopper": """import numpy as np


def compute_reward(x_velocity, joint_velocity, prev_joint_velocity, healthy):
    jerk = np.abs(joint_velocity - prev_joint_velocity).amax(-1)
    return {"forward": np.clip(x_velocity, -1.0, 4.0), "smooth": -0.01 * jerk, "healthy": healthy, "bias": 0.5}
""",
}


def a_run(tmp_path, task="cartpole", source=None, transitions=True, trainer="ppo", eyes=0):
    """Folder and history of a finished run on a task, whose chosen reward has a policy for each final seed.

    Policies of `ppo` see `eyes` numbers more than the task's observation.
    """
    folder = RunFolder(tmp_path / "run")
    search, history = a_search(folder.path, Crew(), generations=1)
    search()
    loaded = load_task(task)
    envs = loaded.make_envs([0], 1)
    found = {
        "name": loaded.path.stem,
        "fingerprint": fingerprint(digests(made_of(loaded))),
        "control_step_s": envs.control_step_s,
        "choices": bool(envs.choices),
    }
    history.card = history.card.model_copy(update=found)
    history.config = history.config.model_copy(update={"task": task})
    history.training = Training(trainer=trainer, settings={"env_steps": 1})
    candidate = history.designed[CHOSEN, 0]
    history.designed[CHOSEN, 0] = candidate.model_copy(update={"source": source or REWARDS[task]})
    (folder.policies / "final").mkdir(parents=True)
    for seed in history.final_seeds:
        name = f"{CHOSEN}-s{seed}.npz"
        result = history.trained["final", CHOSEN, seed]
        history.trained["final", CHOSEN, seed] = result.model_copy(update={"policy": name})
        path = folder.policies / "final" / name
        write_policy(task, envs, path, eyes) if trainer == "ppo" else write_network(trainer, envs, path)
    if transitions:
        save_transitions(folder.transitions, record_transitions(loaded))
    return folder, history


def write_policy(task, envs, path, eyes=0):
    """The expert of a task, or a policy that knows nothing but acts up."""
    expert = expert_file(shipped_tasks()[task]) if task in shipped_tasks() else None
    if expert and expert.is_file():
        path.write_bytes(expert.read_bytes())
        return
    sizes = NetworkSizes(envs.observation_size + eyes, envs.action_size, (32, 16))
    networks = ActorCritic(sizes, 40 * initial_parameters(sizes, slice_generators([1], "networks", envs.device), 1.0))
    normaliser = ObservationNormaliser(RunningMoments.zeros(1, sizes.observation, envs.device))
    normaliser.update(torch.randn(1, 50, sizes.observation) + 3)
    StackedPolicy(networks, normaliser, envs.action_low[None], envs.action_high[None], envs.choices).save(0, path)


def write_network(trainer, envs, path):
    """A policy as the algorithms of Stable-Baselines3 and RSL-RL leave it, that acts up."""
    generator, choices = torch.Generator().manual_seed(2), envs.choices
    sizes = [envs.observation_size, 16, 8, envs.action_size]
    layers = [(torch.randn(out, into, generator=generator), torch.zeros(out)) for into, out in pairwise(sizes)]
    moments = dict(unnormalised(envs.observation_size))
    if trainer == "sb3-ppo":
        moments = {"mean": moments["mean"] + 0.01, "variance": moments["variance"] * -0.1}
    MlpPolicy(
        layers=tuple(layers),
        activation={"sb3-ppo": "tanh", "rsl-rl": "elu"}.get(trainer, "relu"),
        squash="choice" if choices else "clip" if trainer in ("sb3-ppo", "rsl-rl") else "tanh",
        choices=choices,
        **moments,
        action_low=envs.action_low,
        action_high=envs.action_high,
    ).save(path)


def the_policy(folder, history):
    """The policy that is exported."""
    best = history.result("final", CHOSEN).typical
    return load_policy(folder.policies / "final" / best.policy)
