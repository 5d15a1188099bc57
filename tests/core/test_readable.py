import pytest

from rewardgen.core.readable import duration, money, number, roughly, tokens, with_spread


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, ""), (0.0, "0.00"), (0.0034, "0.003"), (0.912, "0.91"), (-42.27, "-42.3"), (1812.6, "1813")],
)
def test_numbers_keep_the_digits_that_matter(value, text):
    assert number(value) == text


def test_a_spread_is_told_to_the_digit_of_its_mean():
    assert with_spread(612.4, 31.6) == "612 ± 32"
    assert with_spread(0.91, 0.0312) == "0.91 ± 0.03"
    assert with_spread(612.4, 0.0) == "612"


@pytest.mark.parametrize(
    ("seconds", "text"), [(4.4, "4 s"), (59.7, "1 min 00 s"), (125, "2 min 05 s"), (3725, "1 h 02 min")]
)
def test_durations_use_two_units(seconds, text):
    assert duration(seconds) == text


def test_a_guess_has_no_false_digits():
    assert [roughly(each) for each in (20, 340, 9000)] == ["less than a minute", "about 6 min", "about 2.5 h"]


def test_tokens_and_prices_are_short():
    assert [tokens(each) for each in (950, 13_940, 2_000_000)] == ["950", "13.9k", "2.00M"]
    assert [money(each) for each in (0.0, 0.074, 1.5, None)] == ["$0.00", "$0.074", "$1.50", "price unknown"]
