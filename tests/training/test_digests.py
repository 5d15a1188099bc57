import statistics

import pytest
import torch

from rewardgen.training.ppo.digests import (
    SliceEvaluation,
    component_points,
    episode_digests,
    evaluation_point,
)


def evaluation(**changes):
    """Three episodes of 4, 2 and 3 steps; after its end an episode holds 99."""
    alive = torch.arange(4).unsqueeze(1) < torch.tensor([4, 2, 3])
    values = {
        "variables": {"height": torch.arange(4.0).unsqueeze(1).expand(4, 3), "velocity": torch.ones(4, 3, 2) * 3},
        "components": {
            "up": torch.where(alive, torch.tensor([1.0, 2.0, 3.0]), torch.tensor(99.0)),
            "never": torch.where(alive, 0.0, 99.0),
            "cost": torch.where(alive, -1.0, 99.0),
        },
        "lengths": torch.tensor([4, 2, 3]),
        "fitness": torch.tensor([0.1, 0.2, 0.3]),
        "success": torch.tensor([False, False, True]),
        "endings": ["time limit", "fell", "fell"],
        "control_step_s": 0.5,
    }
    return SliceEvaluation(**(values | changes))


def test_returns_and_lengths_count_only_the_steps_of_the_episode():
    point = evaluation_point(evaluation(), env_steps=640)
    assert point.episode_return == pytest.approx((4 * 0 + 2 * 1 + 3 * 2) / 3)
    assert (point.episode_steps, point.fitness, point.success_rate) == pytest.approx((3.0, 0.2, 1 / 3))


def test_spreads_are_standard_errors_over_the_episodes():
    point = evaluation_point(evaluation(), env_steps=640)
    assert point.fitness_spread == pytest.approx(0.1 / 3**0.5)
    assert point.return_spread == pytest.approx(statistics.stdev([0, 2, 6]) / 3**0.5)


def test_component_statistics_are_over_the_steps_of_the_episodes():
    points = component_points(evaluation(), env_steps=640)
    # 4 ones, 2 twos, 3 threes against 9 costs
    assert points["up"].mean == pytest.approx(17 / 9)
    assert points["up"].share == pytest.approx(17 / 26) and points["cost"].share == pytest.approx(9 / 26)
    assert (points["up"].activation, points["never"].activation, points["never"].share) == (1.0, 0.0, 0.0)


def test_correlation_with_fitness_is_none_where_a_side_is_constant():
    points = component_points(evaluation(), env_steps=640)
    assert points["up"].fitness_correlation == pytest.approx(1.0)
    assert points["cost"].fitness_correlation is None
    level = evaluation(fitness=torch.full((3,), 0.3))
    assert component_points(level, env_steps=640)["up"].fitness_correlation is None


def test_digests_are_of_the_best_the_median_and_the_worst_episode():
    best, median, worst = episode_digests(evaluation())
    assert [each.fitness for each in (best, median, worst)] == pytest.approx([0.3, 0.2, 0.1])
    assert (best.success, best.steps, best.ending) == (True, 3, "fell")
    assert (worst.steps, worst.ending) == (4, "time limit")


def test_digest_reads_the_episode_from_its_first_to_its_last_step():
    worst = episode_digests(evaluation())[2]
    assert worst.times_s == (0.5, 1.0, 1.5, 2.0)
    assert worst.variables["height"] == (0.0, 1.0, 2.0, 3.0)
    assert worst.variables["velocity"] == pytest.approx([18**0.5] * 4)
    assert worst.components["up"] == (1.0,) * 4


def test_saturation_is_the_share_of_steps_near_the_largest_value():
    points = component_points(evaluation(), env_steps=640)
    assert points["up"].saturation == pytest.approx(3 / 9)  # three threes among nine steps
    assert points["cost"].saturation == 1.0


def test_return_is_correlated_with_fitness_and_success_over_the_episodes():
    point = evaluation_point(evaluation(), env_steps=640)
    assert point.return_correlation == pytest.approx(0.982, abs=1e-3)  # returns 0, 2, 6 against 0.1, 0.2, 0.3
    assert point.success_correlation == pytest.approx(0.945, abs=1e-3)
    none = evaluation_point(evaluation(success=torch.zeros(3, dtype=torch.bool)), env_steps=640)
    assert none.success_correlation is None
