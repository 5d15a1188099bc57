"""Our PPO next to Stable-Baselines3's, on the same envs, reward, sizes and steps: it must learn as well."""

import pytest

from rewardgen.store.records import RewardSpec, SliceSpec
from rewardgen.tasks.baselines import baseline_sources
from rewardgen.tasks.loading import load_task
from rewardgen.training.ppo.batch import SliceBatch
from rewardgen.training.ppo.settings import PpoJob
from rewardgen.training.sb3.settings import Sb3Job, Sb3PpoSettings
from rewardgen.training.sb3.train_job import train_sb3_job

pytestmark = pytest.mark.slow

STEPS = 60_000
SEEDS = (0, 1)


def test_our_ppo_learns_the_swing_up_as_well_as_stable_baselines3(tmp_path):
    task = load_task("cartpole")
    asked = {
        "task": "cartpole",
        "rewards": (RewardSpec(candidate_id="human", source=baseline_sources(task)["human"]),),
        "slices": tuple(SliceSpec(candidate_id="human", seed=seed) for seed in SEEDS),
        "folder": str(tmp_path),
    }
    measured = {"env_steps": STEPS, "evaluation_phases": 1, "evaluation_envs": 16}
    settings = task.training["ppo"].model_copy(update=measured)
    same = {
        "n_steps": settings.rollout_steps,
        "batch_size": settings.num_envs * settings.rollout_steps // settings.minibatches,
        "n_epochs": settings.epochs,
    }
    sizes = {"num_envs": settings.num_envs, "hidden": settings.hidden, "discount": settings.discount}
    sb3 = Sb3PpoSettings(**measured, **sizes, learning_rate=1e-3, options=same)
    ours = SliceBatch(task, PpoJob(**asked, settings=settings), lambda message: None).run()
    theirs = train_sb3_job(Sb3Job(**asked, settings=sb3).model_dump(mode="json"), lambda message: None)["slices"]
    own, other = [each.curve[-1].fitness for each in ours], [each["curve"][-1]["fitness"] for each in theirs]
    print(f"fitness after {STEPS} steps: ours {own}, Stable-Baselines3 {other}")
    assert sum(own) >= sum(other) - 0.1 * len(SEEDS)
    assert min(own) > 0.5
