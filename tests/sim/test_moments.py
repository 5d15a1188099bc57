"""Which moments of an episode are told."""

import pytest
import torch

from rewardgen.sim.moments import choose_moments, leading_variables, row_values, spans


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
