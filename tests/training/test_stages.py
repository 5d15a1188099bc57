"""Policies that see the stages of their reward: trained, and measured by their actions alone."""

import numpy as np
import pytest
import torch

from rewardgen.sandbox.process import Limits
from rewardgen.store.records import RewardSpec, SliceSpec
from rewardgen.tasks.loading import load_task
from rewardgen.training.evaluation import evaluate, evaluate_job
from rewardgen.training.measuring import Play, act
from rewardgen.training.policies import load_policy, side_by_side
from rewardgen.training.ppo.learner import Learner
from rewardgen.training.ppo.policy import PpoPolicy
from rewardgen.training.protocol import TrainerSetup
from rewardgen.training.replayed_policy import ReplayedPolicy
from rewardgen.training.sac.learner import SacLearner
from rewardgen.training.sac.settings import SacJob, SacSettings
from rewardgen.training.shared.batch import SliceBatch
from rewardgen.training.shared.eyes import Eyes
from rewardgen.training.shared.rewards import Rewards
from rewardgen.training.shared.seeding import derive_seed
from rewardgen.training.shared.slices import input_names
from rewardgen.training.trainers import ppo_trainer
from tests.training.builders import TINY, UPRIGHT, job

STAGED = """
STAGES = ("low", "high")


def next_stage(stage, pole_upright):
    return torch.where(pole_upright > -0.98, 1, torch.where(pole_upright < -0.999, 0, stage))


def compute_reward(stage, pole_upright):
    return {"up": pole_upright + stage}
"""
SEEING = """
OBSERVED = ("position",)


def observe(pole_upright):
    return pole_upright[:, None]


def compute_reward(pole_upright):
    return {"up": pole_upright}
"""
SPEC = SliceSpec(candidate_id="a", seed=0)
EPISODES = 3


def trained(folder, rewards):
    the_job = job(folder, rewards)
    results = SliceBatch(load_task("cartpole"), the_job, lambda message: None, Learner).run()
    return {each.candidate_id: each for each in results}


def measured(folder):
    payload = {
        "task": "cartpole",
        "folder": str(folder),
        "slices": [SPEC.model_dump()],
        "seed": 0,
        "episodes": EPISODES,
    }
    return evaluate_job(payload, lambda message: None)["slices"][0]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A trained policy, replaced by its actions; the policy itself lies beside it."""
    folder = tmp_path_factory.mktemp("staged")
    assert not trained(folder, {"a": STAGED})["a"].failure
    (folder / "policy.npz").write_bytes((folder / "a-s0.npz").read_bytes())
    (folder / "a-s0-prev.npz").unlink()
    play = Play("a-s0.npz", RewardSpec(candidate_id="a", source=STAGED), "final evaluation 0")
    act("cartpole", [play], folder, folder, folder / "act", Limits(wall_s=60.0), 0, EPISODES)
    return folder


def test_policies_of_sac_see_stages_too(tmp_path):
    settings = SacSettings(env_steps=256, num_envs=4, evaluation_phases=1, evaluation_envs=1, batch=32, random_steps=64)
    the_job = SacJob.model_validate(job(tmp_path, {"a": STAGED}).model_dump() | {"settings": settings.model_dump()})
    (result,) = SliceBatch(load_task("cartpole"), the_job, lambda message: None, SacLearner).run()
    assert not result.failure and len(result.stages) == 2
    assert load_policy(tmp_path / "a-s0.npz").observation_size == 5 + 2


def test_a_policy_sees_a_number_for_each_stage(folder, tmp_path):
    trained(tmp_path, {"a": UPRIGHT})
    blind, seeing = (load_policy(path) for path in (tmp_path / "a-s0.npz", folder / "policy.npz"))
    assert seeing.observation_size == blind.observation_size + 2
    observation = torch.zeros(1, seeing.observation_size)
    other = observation.clone()
    observation[:, -2] = other[:, -1] = 1.0
    assert not torch.equal(seeing.act(observation), seeing.act(other))


def test_a_slice_with_stages_learns_the_same_alone_and_beside_others(folder, tmp_path):
    other = STAGED.replace("pole_upright + stage", "pole_upright - stage")
    trained(tmp_path, {"b": other, "a": STAGED})
    assert (tmp_path / "a-s0.npz").read_bytes() == (folder / "policy.npz").read_bytes()


def test_actions_are_measured_without_the_reward(folder):
    assert isinstance(load_policy(folder / "a-s0.npz"), ReplayedPolicy)
    answer = measured(folder)
    assert answer["problem"] == "" and len(answer["outcomes"]) == EPISODES
    task = load_task("cartpole")
    envs = task.make_envs([derive_seed(0, "final evaluation 0")], EPISODES)
    rewards = Rewards([RewardSpec(candidate_id="a", source=STAGED)], [SPEC], input_names(task))
    stack = side_by_side([load_policy(folder / "policy.npz")])
    seeing = evaluate(task, envs, stack, eyes=Eyes(rewards, envs))
    assert [outcome["fitness"] for outcome in answer["outcomes"]] == seeing.fitness.tolist()


def altered(folder, place, **changes):
    with np.load(folder / "a-s0.npz") as file:
        arrays = {name: file[name] for name in file.files}
    np.savez(
        place / "a-s0.npz", **{name: changes.get(name, lambda value: value)(value) for name, value in arrays.items()}
    )
    return place


def test_actions_that_do_not_lead_to_the_recorded_states_are_no_measurement(folder, tmp_path):
    with pytest.raises(Exception, match="lead elsewhere from step 2 on"):
        measured(altered(folder, tmp_path, actions=lambda actions: -actions))


@pytest.mark.parametrize(
    ("array", "change"),
    [
        ("lengths", lambda lengths: lengths + 1000),
        ("sums", lambda sums: sums[1:]),
        ("actions", lambda actions: actions.astype(np.float64)),
        ("actions", lambda actions: actions * np.float32("nan")),
    ],
)
def test_a_damaged_recording_is_no_policy(folder, tmp_path, array, change):
    answer = measured(altered(folder, tmp_path, **{array: change}))
    assert "is not a policy file" in answer["problem"]


def test_a_policy_that_cannot_act_is_told_with_its_reason(tmp_path):
    (tmp_path / "a-s0.npz").write_bytes(b"nothing")
    play = Play("a-s0.npz", RewardSpec(candidate_id="a", source=STAGED), "final evaluation 0")
    unable = act("cartpole", [play], tmp_path, tmp_path / "replays", tmp_path / "act", Limits(wall_s=60.0), 0, EPISODES)
    assert "cannot act" in unable["a-s0.npz"] and "not a policy file" in unable["a-s0.npz"]
    assert not (tmp_path / "replays").exists()


def test_pure_staged_and_observing_rewards_train_beside_each_other_and_policies_are_kept(tmp_path):
    results, sources = {}, {"a": UPRIGHT, "b": STAGED, "c": SEEING}
    setup = TrainerSetup("cartpole", TINY, 1, tmp_path / "scratch", Limits(wall_s=60.0))
    ppo_trainer(setup).train(
        [RewardSpec(candidate_id=id, source=source) for id, source in sources.items()],
        [SliceSpec(candidate_id=id, seed=0) for id in sources],
        folder=tmp_path / "policies",
        on_progress=lambda message: None,
        on_slice=lambda result: results.update({result.candidate_id: result}),
    )
    for result in results.values():
        assert not result.failure and result.final_fitness is not None and result.episodes_file
        assert isinstance(load_policy(tmp_path / "policies" / result.policy), PpoPolicy)
    assert len({len(result.outcomes) for result in results.values()}) == 1 and results["b"].stages
