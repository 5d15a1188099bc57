"""Coroutines run from plain code are as if they had been run by themselves."""

import asyncio
import signal
from contextvars import ContextVar

import pytest

from rewardgen.core.asynchrony import blocking, run_coroutine

SAID: ContextVar[str] = ContextVar("said", default="nothing")


async def fail():
    raise ValueError("of its own")


async def said():
    return SAID.get()


async def from_a_loop(work):
    """As a cell of a notebook does."""
    return run_coroutine(work)


def test_an_error_has_no_other_error_as_its_context():
    with pytest.raises(ValueError, match="of its own") as caught:
        run_coroutine(fail())
    assert caught.value.__context__ is None


def test_what_the_context_holds_is_known_in_the_work_also_where_a_loop_runs():
    token = SAID.set("something")
    try:
        assert run_coroutine(said()) == asyncio.run(from_a_loop(said())) == "something"
    finally:
        SAID.reset(token)


def test_a_ctrl_c_ends_a_question_at_once_that_a_coroutine_asks():
    heard = []

    async def work():
        with blocking():
            signal.raise_signal(signal.SIGINT)
            heard.append("an answer")

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(work())
    assert not heard
