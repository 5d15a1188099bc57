from pathlib import Path

import pytest

from rewardgen.store.records import RewardSpec, SliceSpec, TrainJob, TrainSettings
from rewardgen.tasks.baselines import baseline_program
from rewardgen.tasks.loading import load_task
from rewardgen.training.ppo.batch import SliceBatch
from tests.training.builders import job

SWING_UP = """
def compute_reward(cart_position, pole_upright, pole_velocity):
    centred = (1.0 + torch.exp(-cart_position.square())) / 2.0
    slow = (1.0 + torch.exp(-(pole_velocity / 5.0).square())) / 2.0
    return {"swing_up": (1.0 + pole_upright) / 2.0 * centred * slow}
"""


@pytest.mark.slow
def test_swing_up_is_learnt_in_seconds(tmp_path):
    settings = TrainSettings(env_steps=90_000, evaluation_phases=3)
    task = load_task("cartpole")
    results = SliceBatch(task, job(tmp_path, {"a": SWING_UP}, (0, 1), settings), lambda message: None).run()
    final = [result.curve[-1].fitness for result in results]
    # Untrained policies stay below 0.05; both seeds were above 0.8 when this was written.
    assert max(final) > 0.5 and min(final) > 0.2, final


POINT = str(Path(__file__).parents[1] / "tasks" / "point.py")


def fitness_at_the_point(folder, seeds, neighbours):
    """Final fitness of the point task's own reward with each seed, in one batch with other rewards' slices."""
    task = load_task(POINT)
    program = baseline_program(task, "human_reward")
    assert program is not None
    sources = {"own": program.source, **neighbours}
    the_job = TrainJob(
        task=POINT,
        rewards=tuple(RewardSpec(candidate_id=id, source=source) for id, source in sources.items()),
        slices=tuple(SliceSpec(candidate_id=id, seed=seed) for id in sources for seed in seeds),
        settings=task.training.model_copy(
            update={"env_steps": 8192, "evaluation_phases": 1, "evaluation_envs": 16},
        ),
        folder=str(folder),
    )
    results = SliceBatch(task, the_job, lambda message: None).run()
    return [each.curve[-1].fitness for each in results if each.candidate_id == "own"]


@pytest.mark.slow
def test_slices_reach_the_same_fitness_alone_and_among_fifteen_others(tmp_path):
    away = "def compute_reward(position):\n    return {'away': 1e3 * position.abs()}\n"
    seeds = range(8)
    alone = [fitness for seed in seeds for fitness in fitness_at_the_point(tmp_path, [seed], {})]
    among = fitness_at_the_point(tmp_path, seeds, {"away": away})
    # Rounding differs, and grows to other policies: seeds differ by up to 0.04 either way, their mean by 0.006.
    assert sum(alone) / 8 > 0.6
    assert sum(among) / 8 == pytest.approx(sum(alone) / 8, abs=0.03)
