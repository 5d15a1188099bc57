"""What comes out of a slice is the same to the last bit alone, among others, at any place and beside any failure."""

from itertools import pairwise
from pathlib import Path

import pytest
import torch

from rewardgen.store.records import RewardSpec, SliceSpec
from rewardgen.tasks.loading import load_task
from rewardgen.training.ppo.learner import Learner
from rewardgen.training.ppo.mlp import StackedMLP, Weights
from rewardgen.training.ppo.settings import PpoJob, PpoSettings
from rewardgen.training.sac.learner import SacLearner
from rewardgen.training.sac.settings import SacJob, SacSettings
from rewardgen.training.shared.batch import SliceBatch
from tests.devices import kernels  # noqa: F401

REWARDS = {
    "cartpole": {
        "a": "def compute_reward(pole_upright, action):\n"
        "    return {'up': pole_upright.exp(), 'effort': -0.01 * action.square().sum(-1)}\n",
        "b": "def compute_reward(pole_upright):\n    return {'up': (2.0 * pole_upright).tanh()}\n",
        "nan": "def compute_reward(cart_velocity):\n    return {'slow': torch.log(0.9 - cart_velocity.abs())}\n",
    },
    "hopper": {
        "a": "def compute_reward(x_velocity, height, action):\n"
        "    return {'speed': x_velocity, 'up': torch.exp(-(height - 1.25) ** 2), 'e': -action.square().sum(-1)}\n",
        "b": "def compute_reward(height):\n    return {'up': height}\n",
        "nan": "def compute_reward(height, prev_height):\n"
        "    return {'rise': torch.log(height - prev_height + 1e-4)}\n",
    },
    "walker2d": {
        "a": "def compute_reward(x_velocity, height, action):\n"
        "    return {'speed': x_velocity, 'up': torch.exp(-(height - 1.25) ** 2), 'e': -action.square().sum(-1)}\n",
        "b": "def compute_reward(height, joint_velocity):\n    return {'up': height - joint_velocity.norm(dim=-1)}\n",
        "nan": "def compute_reward(height, prev_height):\n"
        "    return {'rise': torch.log(height - prev_height + 0.01)}\n",
    },
}
USUAL = PpoSettings(env_steps=512, num_envs=16, rollout_steps=16, evaluation_phases=2, evaluation_envs=3)
ODD = USUAL.model_copy(
    update={
        "env_steps": 300,
        "num_envs": 7,
        "rollout_steps": 21,
        "hidden": (20, 9),
        "evaluation_envs": 1,
        "recompute_advantages": True,
    }
)
RND, COUNT = ({"bonus": bonus, "rollout_steps": 7} for bonus in ("rnd", "count"))  # several rollouts with a bonus
SAC = SacSettings(env_steps=320, num_envs=16, batch=32, random_steps=128, evaluation_phases=2, evaluation_envs=3)
ODD_SAC = SAC.model_copy(
    update={
        "env_steps": 350,
        "num_envs": 7,
        "rollout_steps": 5,
        "hidden": (48, 16),
        "random_steps": 70,
        "replay": 230,
        "evaluation_envs": 1,
        "n_step": 4,
    }
)
FIVE_SAC = SAC.model_copy(update={"env_steps": 200, "num_envs": 5, "evaluation_envs": 1})
BESIDE = {
    "alone": [("a", 7)],
    "first of two": [("a", 7), ("b", 1)],
    "between a failure and another seed": [("nan", 0), ("a", 7), ("a", 8)],
    "last of five": [("b", 2), ("b", 1), ("nan", 3), ("a", 2), ("a", 7)],
}


def trained(job):
    """What comes out of each slice, by candidate and seed: its result but for the time, and its policy file."""
    learner = SacLearner if isinstance(job, SacJob) else Learner
    results = SliceBatch(load_task(job.task), job, lambda message: None, learner).run()
    return {
        (each.candidate_id, each.seed): (
            each.model_dump(exclude={"wall_s"}),
            Path(job.folder, each.policy).read_bytes() if each.policy else b"",
        )
        for each in results
    }


def job(task, folder, slices, settings):
    folder.mkdir()
    rewards = (
        RewardSpec(candidate_id=name, source=REWARDS[task][name]) for name in dict.fromkeys(n for n, _ in slices)
    )
    specs = (SliceSpec(candidate_id=name, seed=seed) for name, seed in slices)
    kind = SacJob if isinstance(settings, SacSettings) else PpoJob
    return kind(task=task, rewards=tuple(rewards), slices=tuple(specs), settings=settings, folder=str(folder))


@pytest.mark.slow
@pytest.mark.usefixtures("kernels")
def test_on_a_device_too(tmp_path):
    settings = USUAL.on("warp-cpu")
    alone = trained(job("cartpole", tmp_path / "alone", BESIDE["alone"], settings))
    beside = trained(job("cartpole", tmp_path / "beside", BESIDE["between a failure and another seed"], settings))
    assert beside["a", 7] == alone["a", 7] and alone["a", 7][0]["failure"] is None
    assert beside["nan", 0][0]["failure"] and not beside["a", 8][0]["failure"]


@pytest.mark.parametrize(
    ("task", "settings"),
    [
        pytest.param("cartpole", USUAL, id="cartpole-usual"),
        pytest.param("walker2d", ODD, id="walker2d-odd"),
        pytest.param("cartpole", USUAL.model_copy(update=RND), id="cartpole-rnd", marks=pytest.mark.slow),
        pytest.param("walker2d", ODD.model_copy(update=RND), id="walker2d-odd-rnd"),
        pytest.param("walker2d", ODD.model_copy(update=COUNT), id="walker2d-odd-count"),
        pytest.param("cartpole", SAC, id="cartpole-sac", marks=pytest.mark.slow),
        pytest.param("walker2d", ODD_SAC, id="walker2d-odd-sac"),
        pytest.param("hopper", FIVE_SAC, id="hopper-five-sac"),
    ],
)
def test_a_slice_trains_to_the_same_bits_alone_and_among_others(tmp_path, task, settings):
    found = {name: trained(job(task, tmp_path / name, slices, settings)) for name, slices in BESIDE.items()}
    expected = found["alone"]["a", 7]
    assert expected[0]["failure"] is None and expected[0]["curve"] and expected[1]
    assert [name for name, each in found.items() if each["a", 7] != expected] == []
    assert all(each["nan", 3][0]["failure"] for each in found.values() if ("nan", 3) in each)


def stacked(parameters, rows, gradient, sizes):
    """Outputs and parameters' gradients of perceptrons whose parameters lie side by side, as those of networks do."""
    flat, gradients = parameters.clone(), torch.zeros_like(parameters)

    def layers(of):
        parts, start = [], 3
        for fan_in, fan_out in pairwise(sizes):
            weight = of[:, start : start + fan_in * fan_out].view(-1, fan_in, fan_out)
            start += fan_in * fan_out
            parts.append(Weights(weight, of[:, start : start + fan_out].view(-1, 1, fan_out)))
            start += fan_out
        return parts

    network = StackedMLP(layers(flat), layers(gradients))
    outputs = network(rows.clone()), network.forward(rows.clone())
    network.backward(gradient.clone())
    return torch.cat([*(each.flatten(1) for each in outputs), gradients], dim=1)


@pytest.mark.parametrize("rows", [1, 3, 8, 10, 16, 17, 64, 100])
@pytest.mark.parametrize("sizes", [(5, 64, 64, 1), (17, 64, 64, 6), (27, 32, 8), (348, 64, 17), (1, 20, 3), (3, 10, 1)])
def test_networks_round_alike_at_any_place_in_a_batch_of_any_size(rows, sizes):
    generator = torch.Generator().manual_seed(rows)
    count = sum((fan_in + 1) * fan_out for fan_in, fan_out in pairwise(sizes)) + 5
    parameters = torch.randn(7, count, generator=generator)
    inputs = torch.randn(7, rows, sizes[0], generator=generator)
    gradient = torch.randn(7, rows, sizes[-1], generator=generator)
    every = stacked(parameters, inputs, gradient, sizes)
    for chosen in ([0], [3], [6], [0, 1], [5, 2], [3, 3], [1, 2, 3], [6, 4, 0], [0, 2, 4, 6, 1]):
        assert torch.equal(stacked(parameters[chosen], inputs[chosen], gradient[chosen], sizes), every[chosen]), chosen


def test_advantages_estimated_anew_differ_from_the_second_epoch_on(tmp_path):
    def policy(name, epochs, anew):
        changed = {"env_steps": 256, "evaluation_phases": 1, "epochs": epochs, "recompute_advantages": anew}
        settings = USUAL.model_copy(update=changed)
        ((_, content),) = trained(job("cartpole", tmp_path / name, BESIDE["alone"], settings)).values()
        return content

    assert policy("one", 1, False) == policy("one anew", 1, True)
    assert policy("two", 2, False) != policy("two anew", 2, True)
