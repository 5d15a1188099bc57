import pytest

from rewardgen.core.formatting import duration, money, number, percent, roughly, tokens, with_interval, with_spread
from rewardgen.core.statistics import Interval


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, ""), (0.0, "0"), (-0.0, "0"), (0.0034, "0.0034"), (0.912, "0.912"), (-42.27, "-42.3"), (1812.6, "1813")],
)
def test_numbers_keep_three_digits(value, text):
    assert number(value) == text


def test_a_mean_has_its_spread_or_its_interval_beside_it():
    assert with_spread(612.4, 31.6) == "612 ± 32" and with_spread(0.912, 0.0312) == "0.912 ± 0.031"
    assert with_spread(612.4, 0.0) == "612" and with_spread(None, 1.0) == ""
    assert with_interval(Interval(value=0.84, low=0.8, high=0.853)) == "0.84 [0.8, 0.853]"


def test_a_share_is_never_rounded_to_none_or_all():
    assert [percent(each) for each in (None, 0.0, 0.001, 0.5, 0.999, 1.0)] == [
        "",
        "0 %",
        "<1 %",
        "50 %",
        ">99 %",
        "100 %",
    ]


@pytest.mark.parametrize(
    ("seconds", "text"), [(4.4, "4 s"), (59.7, "1 min 00 s"), (125, "2 min 05 s"), (3725, "1 h 02 min")]
)
def test_durations_use_two_units(seconds, text):
    assert duration(seconds) == text


def test_a_guess_has_no_false_digits():
    guesses = ["less than a minute", "about 6 min", "about 2.5 h", "about 3.0 days"]
    assert [roughly(seconds) for seconds in (20, 340, 9000, 260_880)] == guesses


def test_tokens_and_prices_are_short():
    assert [tokens(number) for number in (950, 13_940, 2_000_000)] == ["950", "13.9k", "2.00M"]
    assert [money(usd) for usd in (0.0, 0.074, 1.5, None)] == ["$0.00", "$0.074", "$1.50", "price unknown"]
