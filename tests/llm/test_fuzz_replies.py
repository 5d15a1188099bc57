"""A short part of `python -m tests.llm.fuzz_replies`, which reads replies for minutes."""

import pytest

from tests.llm.fuzz_replies import LIMIT_S, seconds, text


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2, 3))])
def test_replies_that_no_model_would_write_are_read_without_an_exception_and_soon(seed):
    spent = {number: seconds(text(seed, number)) for number in range(20)}
    assert {number: each for number, each in spent.items() if each > LIMIT_S} == {}


def test_a_text_can_be_made_again():
    assert text(3, 14) == text(3, 14) != text(3, 15)
