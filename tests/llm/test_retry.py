import time

import pytest

from rewardgen.core.errors import CredentialsError
from rewardgen.llm.factory import RetryingLLM
from rewardgen.llm.litellm_client import LiteLLMClient
from rewardgen.llm.protocol import CallFailed
from rewardgen.testing.scripted import ScriptedLLM
from rewardgen.testing.server import Answer, ChatServer
from tests.llm.requests import ask_one, request


def over(server, **changes):
    inner = LiteLLMClient("openai/local", api_base=server.api_base, timeout_s=1.0)
    return RetryingLLM(inner, **changes)


@pytest.mark.parametrize(
    "fault",
    [
        Answer("slow down", status=429, headers={"Retry-After": "0"}),
        Answer("oops", status=500),
        Answer(body=b"{"),
        Answer(text=None),
        Answer(delay_s=20.0),
    ],
)
def test_passing_fault_is_followed_by_a_reply(fault):
    with ChatServer(lambda number, _: fault if number == 0 else Answer("fine")) as server:
        assert ask_one(over(server)).text == "fine"
    assert len(server.bodies) == 2


def test_wait_is_as_long_as_the_server_asks():
    limited = Answer("slow down", status=429, headers={"Retry-After": "1"})
    with ChatServer(lambda number, _: limited if number == 0 else Answer()) as server:
        started = time.monotonic()
        ask_one(over(server))
    assert time.monotonic() - started >= 1.0


def test_fault_that_stays_is_a_failed_call_after_six_attempts_and_each_try_is_told_once():
    notes = []
    with ChatServer(Answer("oops", status=503)) as server, pytest.raises(CallFailed) as caught:
        llm = over(server, note=notes.append)
        ask_one(llm, request("g00-k0/designer/draft"))
    assert len(server.bodies) == 6
    assert [note.partition("; ")[2] for note in notes] == [f"try {number} of 6 in 0 s" for number in range(2, 7)]
    assert notes[0].startswith("g00-k0/designer/draft: call of openai/local failed: ")
    assert "6 attempts" in caught.value.hint


def test_the_fix_for_a_call_that_is_not_tried_again_is_told_once():
    notes = []
    with ChatServer(Answer(text=None, finish_reason="length")) as server:
        llm = over(server, note=notes.append)
        for label in ("g00-k0/designer/draft", "g00-k1/designer/draft"):
            with pytest.raises(CallFailed):
                ask_one(llm, request(label))
    assert len([note for note in notes if "give an `--effort`" in note]) == 1


def test_refused_key_is_not_tried_again():
    llm = ScriptedLLM(CredentialsError("the key was refused", "set it"))
    with pytest.raises(CredentialsError):
        ask_one(RetryingLLM(llm))
    assert len(llm.requests) == 1
