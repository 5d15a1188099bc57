"""Which moments of an episode are told."""

import math

import pytest
import torch

from rewardgen.sim.moments import choose_moments, crossings, leading_variables, row_values, spans, unwrapped


def moments(*rows, most=6):
    series = torch.tensor(rows, dtype=torch.float64).T
    names = [f"x{row}" for row in range(len(rows))]
    return choose_moments(series, spans(series, names, names), most)


LINE = [float(step) for step in range(101)]
LEVEL = [3.0] * 101
CONTACT = [0.0] * 40 + [2.0] * 10 + [0.0] * 51
TREMBLE = [0.01 * (-1) ** step for step in range(101)]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([LINE], [0, 100]),
        ([LINE, LEVEL], [0, 100]),
        ([[line + each for line, each in zip(LINE, TREMBLE, strict=True)]], [0, 100]),
        ([LINE, CONTACT], [0, 38, 40, 48, 50, 100]),
        ([[abs(line - 30) for line in LINE], LEVEL], [0, 30, 100]),
        ([[*LINE[:-1], float("nan")], CONTACT], [0, 38, 40, 48, 50, 100]),
        ([[5.0]], [0]),
        ([[5.0, 6.0]], [0, 1]),
    ],
    ids=["line", "constant", "tremble", "contact", "turn", "not finite", "one step", "two steps"],
)
def test_moments_are_those_where_rows_leave_the_straight_lines_between_the_others(rows, expected):
    assert moments(*rows) == expected


def test_there_are_no_more_moments_than_asked_for_and_of_equal_ones_the_earliest_is_chosen():
    zigzag = [2.0 * (step % 10 == 5) for step in range(101)]
    assert moments(zigzag, most=4) == [0, 5, 7, 100]


def test_rates_flags_and_the_tremble_of_a_part_do_not_choose():
    series = torch.tensor([LINE, [3.0 + 1e-3 * (-1) ** step for step in range(101)], CONTACT], dtype=torch.float64).T
    series = torch.cat((series, (series[:, 2:] > 0).double()), 1)
    span = spans(series, ["place", "place", "speed", "touching"], leading_variables({"place": "m", "speed": "m/s"}))
    assert span.tolist() == [100.0, 100.0, 0.0, 0.0]
    assert leading_variables({"speed": "m/s"}) == {"speed"}


def test_rows_are_parts_of_vectors_or_their_size():
    vector = torch.tensor([[[3.0, 4.0]], [[6.0, 8.0]]])
    assert row_values(vector, 1).tolist() == [[4.0], [8.0]]
    assert row_values(vector, None).tolist() == [[5.0], [10.0]]
    assert row_values(vector[..., 0], None).tolist() == [[3.0], [6.0]]


def test_angles_are_followed_across_the_seam():
    time = torch.linspace(0.0, 10.0, 501, dtype=torch.float64)
    hanging = math.pi + 0.4 * torch.sin(math.pi * time)
    hanging[300:350] -= torch.linspace(0.0, math.pi, 50, dtype=torch.float64)
    hanging[350:] -= math.pi
    angle = torch.atan2(hanging.sin(), hanging.cos())
    assert unwrapped(angle[:, None])[:, 0].tolist() == pytest.approx(hanging.tolist())
    assert crossings(angle) > 3
    assert crossings(unwrapped(angle[:, None])[:, 0]) == 1
    _, begins, ends, _ = moments(angle.tolist(), most=4)
    assert 290 <= begins <= 310 and 340 <= ends <= 370


def test_what_jumps_far_from_the_seam_is_no_angle():
    speed = torch.tensor([[2.0], [-2.0], [2.0]])
    assert unwrapped(speed).equal(speed)
