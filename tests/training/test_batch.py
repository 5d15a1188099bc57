import pytest
import torch

from rewardgen.sim.mujoco_cpu import CpuSimulator
from rewardgen.tasks.loading import load_task
from rewardgen.training.policies import load_policy
from rewardgen.training.ppo.learner import Learner
from rewardgen.training.shared.batch import SliceBatch, evaluation_updates, unobservable
from rewardgen.training.shared.rollout import Rollout
from tests.training.builders import TINY, UPRIGHT, job

NEVER = "def compute_reward(pole_upright):\n    return {'x': torch.log(pole_upright - 2.0)}\n"
HUGE = "def compute_reward(pole_upright):\n    return {'x': 1e30 * pole_upright}\n"


def train(the_job):
    """Results by candidate and seed, and what was reported."""
    reported = []
    results = SliceBatch(load_task("cartpole"), the_job, reported.append, Learner).run()
    return {(each.candidate_id, each.seed): each for each in results}, reported


def weights(folder, name):
    return torch.cat([value.flatten() for value in load_policy(folder / name).parameters.values()])


WRONG_ONCE_UP = {
    "non-finite": "torch.log(0.8 - pole_upright)",
    "shape": "pole_upright[pole_upright < 0.8]",
    "exception": "torch.zeros(1)[(pole_upright >= 0.8).long()]",
}


LONGER = TINY.model_copy(update={"env_steps": 4096})


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """Two sound candidates beside each other: the results of the first and its policy's weights."""
    folder = tmp_path_factory.mktemp("sound")
    return train(job(folder, {"a": UPRIGHT, "b": UPRIGHT}, settings=LONGER))[0]["a", 0], weights(folder, "a-s0.npz")


@pytest.mark.parametrize("kind", WRONG_ONCE_UP)
def test_a_failing_slice_leaves_the_others_exactly_as_they_were(tmp_path, undisturbed, kind):
    wrong = f"def compute_reward(pole_upright):\n    return {{'up': pole_upright, 'x': {WRONG_ONCE_UP[kind]}}}\n"
    mixed, _ = train(job(tmp_path, {"a": UPRIGHT, "b": wrong}, settings=LONGER))
    failure = mixed["b", 0].failure
    assert failure and failure.kind == kind and failure.env_steps > 512  # not in the first rollout
    sound, policy = undisturbed
    assert sound.curve == mixed["a", 0].curve
    assert sound.components == mixed["a", 0].components
    assert torch.equal(policy, weights(tmp_path, "a-s0.npz"))


def test_training_ends_when_every_slice_has_failed(tmp_path):
    results, reported = train(job(tmp_path, {"a": NEVER}, settings=TINY.model_copy(update={"env_steps": 10**9})))
    assert results["a", 0].env_steps == 512 and not reported


def test_a_failed_slice_costs_no_physics(tmp_path, monkeypatch):
    stepped, step = [], CpuSimulator.step

    def counted(simulator, control, ids=None):
        if simulator.num_envs == 2 * TINY.num_envs:
            stepped.append(simulator.num_envs if ids is None else len(ids))
        step(simulator, control, ids)

    monkeypatch.setattr(CpuSimulator, "step", counted)
    results, _ = train(job(tmp_path, {"a": UPRIGHT, "b": NEVER}))
    assert results["b", 0].failure and results["a", 0].failure is None
    first = stepped.index(TINY.num_envs)
    assert first <= TINY.rollout_steps + 1 and set(stepped[first:]) == {TINY.num_envs}


def test_parameters_that_stop_being_finite_are_a_failure(tmp_path):
    # Without the scaling of rewards, the norm of the gradient overflows.
    settings = TINY.model_copy(update={"normalise_reward": False})
    results, _ = train(job(tmp_path, {"a": UPRIGHT, "b": HUGE}, settings=settings))
    failed = results["b", 0].failure
    assert failed and failed.kind == "diverged"
    assert results["a", 0].failure is None


def test_results_tell_curve_components_endings_and_episodes(tmp_path):
    results, reported = train(job(tmp_path, {"a": UPRIGHT}))
    result = results["a", 0]
    assert [point.env_steps for point in result.curve] == [1024, 2048] == [each["env_steps"] for each in reported]
    assert set(reported[0]) == {"candidate_id", "seed", "env_steps", "fitness", "success_rate"}
    ((name, points),) = result.components.items()
    assert name == "upright" and len(points) == 2 and points[0].share == 1.0
    # The only component is the whole reward, and every episode has 250 steps.
    assert abs(points[-1].mean * 250 - result.curve[-1].episode_return) < 1e-3
    assert result.terminations == {"time limit": 1.0}
    assert [each.rank for each in result.episodes] == ["best", "median", "worst"]
    assert (tmp_path / "a-s0.npz").exists() and (tmp_path / "a-s0-prev.npz").exists()


def test_curve_tells_what_was_cut_off_of_a_reward_that_pays_at_few_steps(tmp_path):
    rare = "def compute_reward(pole_velocity):\n    return {'bonus': (pole_velocity.abs() < 0.01).float()}\n"
    settings = TINY.model_copy(update={"discount": 0.0})  # then so few steps hold a bonus that is rare enough
    results, _ = train(job(tmp_path, {"rare": rare}, settings=settings))
    assert 0.1 < results["rare", 0].curve[0].clipped < 1.0


def test_evaluations_are_spread_evenly_and_end_with_the_training():
    assert evaluation_updates(100, 4) == [25, 50, 75, 100]
    assert evaluation_updates(3, 8) == [1, 2, 3]


def test_a_slice_whose_observation_is_not_finite_is_found():
    sound = torch.zeros(4, 3, 2, 5)
    broken = sound.clone()
    broken[2, 1, 0, 4] = torch.inf
    flags = torch.zeros(4, 3, 2, dtype=torch.bool)
    others = {"action": sound, "mean": sound, "terminated": flags, "done": flags, "begins": flags, "inputs": {}}
    assert unobservable(Rollout(observation=sound, final_observation=sound, **others)) == []
    assert unobservable(Rollout(observation=broken, final_observation=sound, **others)) == [1]
    assert unobservable(Rollout(observation=sound, final_observation=broken, **others)) == [1]


def test_a_reward_with_stages_tells_how_far_its_episodes_come(tmp_path):
    machine = "STAGES = ('low', 'high')\ndef next_stage(stage, pole_upright):\n"
    machine += "    return torch.where(pole_upright > -0.9, 1, stage)\n"
    staged = machine + "def compute_reward(pole_upright, stage):\n    return {'up': pole_upright + stage}\n"
    results, _ = train(job(tmp_path, {"b": staged}))
    low, high = results["b", 0].stages
    assert low.entered == 1.0 and low.time + high.time == pytest.approx(1.0)
    assert not results["b", 0].failure
