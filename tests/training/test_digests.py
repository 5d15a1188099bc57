import statistics

import pytest
import torch

from rewardgen.store.measurements import Stay, Swing, episode_rows
from rewardgen.store.records import SliceSpec
from rewardgen.training.shared.digests import (
    SliceEvaluation,
    component_points,
    episode_digests,
    evaluation_point,
    stage_readings,
)
from rewardgen.training.shared.slices import SliceLog


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
        "parts": {"near": torch.tensor([0.1, 0.5, torch.nan])},
        "rows": episode_rows({"height": (), "velocity": ("x", "y")}),
        "leading": {"height", "velocity"},
        "control_step_s": 0.5,
    }
    return SliceEvaluation(**(values | changes))


def test_returns_and_lengths_count_only_the_steps_of_the_episode():
    point = evaluation_point(evaluation(), env_steps=640)
    assert point.episode_return == pytest.approx((4 * 0 + 2 * 1 + 3 * 2) / 3)
    assert (point.episode_steps, point.fitness, point.success_rate) == pytest.approx((3.0, 0.2, 1 / 3))


def test_a_point_tells_how_its_episodes_ended_and_standard_errors_over_them():
    point = evaluation_point(evaluation(), env_steps=640)
    assert point.endings == {"time limit": 1 / 3, "fell": 2 / 3}
    assert point.fitness_spread == pytest.approx(0.1 / 3**0.5)
    assert point.return_spread == pytest.approx(statistics.stdev([0, 2, 6]) / 3**0.5)


def test_component_statistics_are_over_the_steps_of_the_episodes():
    points = component_points(evaluation(), env_steps=640)
    # 4 ones, 2 twos, 3 threes against 9 costs
    assert points["up"].mean == pytest.approx(17 / 9)
    assert points["up"].share == pytest.approx(17 / 26) and points["cost"].share == pytest.approx(9 / 26)
    assert (points["up"].activation, points["never"].activation, points["never"].share) == (1.0, 0.0, 0.0)
    assert points["up"].saturation == pytest.approx(3 / 9)  # three threes among nine steps
    assert points["cost"].saturation == 1.0


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
    assert (best.parts, median.parts, worst.parts) == ({}, {"near": 0.5}, {"near": pytest.approx(0.1)})


def test_a_failure_is_kept_for_one_evaluation_in_which_all_succeed():
    log = SliceLog(SliceSpec(candidate_id="a", seed=0))
    fitter = evaluation(success=torch.ones(3, dtype=torch.bool))
    shown = []
    for number, each in enumerate((evaluation(), evaluation(), fitter, fitter)):
        log.clipped.append(0.0)
        log.note(each, 100 * number)
        shown.append([episode.earlier for episode in log.episodes])
    assert shown == [[False] * 3, [False] * 3, [False] * 3 + [True], [False] * 3]


def test_digest_reads_the_episode_from_its_first_to_its_last_step():
    worst = episode_digests(evaluation())[2]
    assert worst.times_s == (0.5, 2.0), "it runs straight between them"
    assert worst.variables == {"height": (0.0, 3.0), "velocity x": (3.0, 3.0), "velocity y": (3.0, 3.0)}
    assert worst.components["up"] == (1.0, 1.0)


def test_digest_reads_the_episode_where_a_variable_turns_and_not_where_only_the_action_does():
    turns = {"height": torch.tensor([[0.0], [0.0], [4.0], [0.0], [0.0]]), "action": torch.zeros(5, 1, 1)}
    turns["action"][0] = 1.0
    one = {"lengths": torch.tensor([5]), "fitness": torch.zeros(1), "success": torch.zeros(1), "parts": {}}
    rows = episode_rows({"height": (), "action": ("push",)})
    best, *_ = episode_digests(evaluation(variables=turns, components={}, endings=["fell"], rows=rows, **one))
    assert best.times_s == (0.5, 1.0, 1.5, 2.0, 2.5)
    assert best.variables == {"height": (0.0, 0.0, 4.0, 0.0, 0.0), "action push": (1.0, 0.0, 0.0, 0.0, 0.0)}
    turns["height"] = torch.zeros(5, 1)
    best, *_ = episode_digests(evaluation(variables=turns, components={}, endings=["fell"], rows=rows, **one))
    assert best.times_s == (0.5, 2.5)


def test_digest_tells_when_a_switch_was_on():
    touch = torch.tensor([[0, 1, 0], [1, 0, 0], [1, 99, 0], [0, 99, 99], [1, 99, 99], [0, 99, 99]]).float()
    lengths = {"lengths": torch.tensor([6, 1, 3]), "components": {}}
    values = {"touch": touch, "height": 0.5 * touch, "never": touch * 0}
    rows = episode_rows({name: () for name in values})
    best, median, worst = episode_digests(evaluation(variables=values, rows=rows, **lengths))
    assert worst.stays == {"touch": Stay(first=1.0, visits=2, longest_s=1.0, last_left=3.0)}
    assert median.stays == {"touch": Stay(first=0.5, visits=1, longest_s=0.5)}
    assert best.stays == {}


def test_digest_tells_what_goes_to_and_fro_and_how_often():
    steps = torch.arange(41).unsqueeze(1)
    values = {
        "sway": 0.5 * torch.sin(steps * torch.pi / 5),
        "rate": torch.cos(steps * torch.pi / 5),
        "way": steps * 0.1,
        "once": (steps - 20.0).abs(),
        "hanging": torch.remainder(0.3 * torch.sin(steps * torch.pi / 5), 2 * torch.pi) - torch.pi,
    }
    one = {"lengths": torch.tensor([41]), "fitness": torch.zeros(1), "success": torch.zeros(1), "parts": {}}
    rows, leading = episode_rows({name: () for name in values}), {"sway", "way", "once", "hanging"}
    changes = {"variables": values, "components": {}, "endings": ["time limit"], "rows": rows, "leading": leading}
    best, *_ = episode_digests(evaluation(**changes, **one))
    hanging = best.swings.pop("hanging")
    assert hanging.crossings == 7 and hanging.high - hanging.low == pytest.approx(0.6, abs=0.05), "not pi to -pi"
    assert best.swings == {
        "sway": Swing(low=float(values["sway"].min()), high=float(values["sway"].max()), crossings=7)
    }


def test_stages_tell_when_and_for_how_long_the_episodes_are_in_them():
    stage = torch.tensor([[0, 0, 0], [1, 0, 0], [1, 9, 2], [2, 9, 9]])  # after the end of an episode: 9
    first, second, third, never = stage_readings(evaluation(stage=stage), 4)
    assert (first.entered, first.first_s) == (1.0, 0.0) and first.time == pytest.approx(5 / 9)
    assert (second.entered, second.first_s, second.last) == (pytest.approx(1 / 3), 1.0, 0.0)
    assert (third.entered, third.last) == (pytest.approx(2 / 3), pytest.approx(2 / 3))
    assert (never.entered, never.first_s, never.time) == (0.0, None, 0.0)
    assert stage_readings(evaluation(), 4) == ()
