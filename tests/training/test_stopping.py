"""A slice whose reward rises while its fitness falls is stopped: no failure, and nothing that others notice."""

import pytest
import torch

from rewardgen.sandbox.process import Limits
from rewardgen.sim.mujoco_cpu import CpuSimulator
from rewardgen.store.records import RewardSpec, SliceSpec
from rewardgen.tasks.loading import load_task
from rewardgen.training.policies import load_policy
from rewardgen.training.ppo.batch import SliceBatch
from rewardgen.training.ppo.trainer import ppo_trainer
from rewardgen.training.ppo.update import StackedAdam
from rewardgen.training.protocol import TrainerSetup
from tests.training.stopping import AWAY, EPISODE_STEPS, SETTINGS, STAY, stayer, stayer_job


def run(folder, sources, **options):
    """Results by candidate, and what was reported."""
    the_job = stayer_job(folder, sources, **options)
    reported = []
    results = SliceBatch(load_task(the_job.task), the_job, reported.append).run()
    return {each.candidate_id: each for each in results}, reported


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stopped")
    return folder, *run(folder, {"stay": STAY, "away": AWAY}, stop_hacking=True)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    return folder, *run(folder, {"stay": STAY, "away": AWAY}, stop_hacking=False)


def weights(folder, name):
    return torch.cat([value.flatten() for value in load_policy(folder / name).parameters.values()])


def test_a_reward_that_rises_while_fitness_falls_is_stopped_with_the_reason_and_the_step(stopped):
    _, results, _ = stopped
    away = results["away"]
    assert away.stopped and away.failure is None
    assert 4096 <= away.env_steps == away.stopped.env_steps == away.curve[-1].env_steps < 8192
    assert away.stopped.message.startswith("reward rose from ")
    assert "fitness fell from 1 to 0;" in away.stopped.message
    assert away.stopped.message.endswith(f"stopped at step {away.env_steps} of 8192")


def test_a_stopped_slice_leaves_the_others_exactly_as_they_were(stopped, whole):
    (folder, results, _), (whole_folder, expected, _) = stopped, whole
    assert results["stay"] == expected["stay"].model_copy(update={"wall_s": results["stay"].wall_s})
    for name in ("stay-s0.npz", "stay-s0-prev.npz"):
        assert torch.equal(weights(folder, name), weights(whole_folder, name))


def test_nothing_is_stopped_unless_the_job_asks_for_it(stopped, whole):
    _, results, _ = whole
    assert results["away"].stopped is None and results["away"].env_steps == 8192
    told = stopped[1]["away"].curve
    assert results["away"].curve[: len(told)] == told


@pytest.mark.parametrize("order", [("stay", "away"), ("away", "stay")], ids=" ".join)
def test_a_stopped_slice_costs_neither_physics_nor_update_nor_evaluation(tmp_path, monkeypatch, order):
    simulated, updated = [], []
    step, learn = CpuSimulator.step, StackedAdam.step

    def simulate(simulator, control, ids=None):
        simulated.append(len(control) if ids is None else len(ids))
        step(simulator, control, ids)

    def update(optimiser, gradient):
        updated.append(len(gradient))
        learn(optimiser, gradient)

    monkeypatch.setattr(CpuSimulator, "step", simulate)
    monkeypatch.setattr(StackedAdam, "step", update)
    results, _ = run(tmp_path, {name: {"stay": STAY, "away": AWAY}[name] for name in order}, stop_hacking=True)
    assert results["away"].stopped and not results["stay"].stopped
    trained = sum(each.env_steps for each in results.values())
    idle, evaluations = 4, SETTINGS.evaluation_envs * sum(len(each.curve) for each in results.values())
    assert sum(simulated) == trained + EPISODE_STEPS * (idle + evaluations)
    per_rollout = SETTINGS.num_envs * SETTINGS.rollout_steps
    assert sum(updated) == trained // per_rollout * SETTINGS.epochs * SETTINGS.minibatches


def test_a_stopped_slice_is_measured_by_the_policies_that_it_had(tmp_path):
    found = []
    trainer = ppo_trainer(TrainerSetup(stayer(tmp_path), SETTINGS, 1, tmp_path / "scratch", Limits(wall_s=120.0)))
    trainer.train(
        [RewardSpec(candidate_id="away", source=AWAY)],
        [SliceSpec(candidate_id="away", seed=0)],
        folder=tmp_path / "policies",
        on_progress=lambda fields: None,
        on_slice=found.append,
        stop_hacking=True,
    )
    (result,) = found
    assert result.stopped and result.failure is None
    assert result.final_fitness == 0.0
    assert (tmp_path / "policies" / str(result.policy)).exists() and len(result.kept) == 3
