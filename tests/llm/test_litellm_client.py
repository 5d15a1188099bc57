import json
import os
import subprocess
import sys

import pytest

from rewardgen.core.errors import CredentialsError, ModelError
from rewardgen.llm import factory
from rewardgen.llm.factory import RetryingLLM
from rewardgen.llm.litellm_client import LiteLLMClient
from rewardgen.llm.protocol import CallFailed, CallRefused
from rewardgen.store.messages import Usage
from rewardgen.testing.server import Answer, ChatServer
from tests.llm.requests import ask, ask_one, request

# LiteLLM's words on answers in an odd form; they do not reach a user, but each test has filters of its own.
pytestmark = pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")


@pytest.fixture(autouse=True)
def no_keys(monkeypatch):
    for name in [name for name in os.environ if name.endswith("_API_KEY")]:
        monkeypatch.delenv(name)


def client(server, **changes):
    return LiteLLMClient(**{"model": "openai/local-model", "api_base": server.api_base, "timeout_s": 60.0} | changes)


def failure(answer, **changes):
    """What one call raises."""
    with ChatServer(answer) as server, pytest.raises(Exception) as caught:
        ask_one(client(server, **changes))
    return caught.value


def test_reply_carries_text_and_the_tokens_that_the_server_counted():
    with ChatServer(Answer("def compute_reward(): ...", prompt_tokens=321, completion_tokens=45)) as server:
        reply = ask_one(client(server), request(content="write it", temperature=0.3))
    assert reply.text == "def compute_reward(): ..."
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens, reply.usage.calls) == (321, 45, 1)
    sent = server.bodies[0]
    assert sent["model"] == "local-model"
    assert sent["messages"][1] == {"role": "user", "content": "write it"}
    assert (sent["temperature"], sent["max_tokens"]) == (0.3, 200)


def test_model_name_without_a_provider_is_one_of_the_given_server():
    with ChatServer() as server:
        assert ask_one(client(server, model="qwen3:8b")).text == "hello"
    assert server.bodies[0]["model"] == "qwen3:8b"


def test_local_server_gets_a_placeholder_key_and_a_set_key_is_used(monkeypatch):
    with ChatServer() as server:
        ask_one(client(server))
        monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-user")
        ask_one(client(server))
    assert server.keys == ["Bearer no-key", "Bearer sk-of-the-user"]


def test_price_is_known_for_a_listed_model_and_none_for_another():
    with ChatServer(Answer(prompt_tokens=1_000_000, completion_tokens=0)) as server:
        assert ask_one(client(server, model="openai/gpt-4o-mini")).usage.cost_usd == pytest.approx(0.15, rel=1e-3)
        assert ask_one(client(server)).usage.cost_usd is None


def test_estimate_bounds_what_a_call_takes():
    with ChatServer(Answer(prompt_tokens=400)) as server:
        one = client(server, model="openai/gpt-4o-mini")
        asked = request(content="a sentence of words. " * 80)
        estimate, actual = one.estimate(asked), ask_one(one, asked).usage
    assert actual.tokens <= estimate.tokens
    assert 0 < actual.cost_usd <= estimate.cost_usd


def test_missing_key_is_told_before_any_call_with_the_variable_to_set():
    with pytest.raises(CredentialsError) as caught:
        LiteLLMClient("anthropic/claude-sonnet-4-5").check()
    assert "ANTHROPIC_API_KEY" in caught.value.hint


def test_nobody_at_an_address_that_never_answered_is_told_at_once_with_the_address():
    with ChatServer() as server:
        address = server.api_base
    with pytest.raises(ModelError) as caught:
        ask_one(RetryingLLM(LiteLLMClient("openai/some-model", api_base=address)))
    assert address in caught.value.message and "--api-base" in caught.value.hint


def test_server_that_answered_before_may_be_away_for_a_while():
    with ChatServer() as server:
        one = client(server)
        ask_one(one)
    with pytest.raises(CallFailed) as caught:
        ask_one(one, request("again"))
    assert caught.value.transient


def test_model_without_a_known_provider_is_told_before_any_call():
    with pytest.raises(ModelError) as caught:
        LiteLLMClient("gtp-four").check()
    assert "gtp-four" in caught.value.message
    assert "--api-base" in caught.value.hint


@pytest.mark.parametrize("status", [401, 403])
def test_refused_key_ends_the_run_with_the_variable_to_set(status, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret-key")
    error = failure(Answer("Incorrect API key provided: sk-very-secret-key", status=status))
    assert isinstance(error, CredentialsError)
    assert error.exit_code == 4
    assert "OPENAI_API_KEY" in error.hint
    assert "sk-very-secret-key" not in error.message


def test_a_key_that_a_server_echoes_is_not_kept(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret-key")
    with ChatServer(Answer("# Bearer sk-very-secret-key")) as server:
        assert ask_one(client(server)).text == "# Bearer ***"


@pytest.mark.parametrize(("base", "hint"), [("/v1", "/v1/models lists"), ("", "usually end in `/v1`")])
def test_unknown_model_of_a_server_says_where_to_look(base, hint):
    with ChatServer(Answer("no such model", status=404)) as server, pytest.raises(ModelError) as caught:
        ask_one(client(server, api_base=server.api_base.removesuffix("/v1") + base))
    assert "local-model" in caught.value.message and hint in caught.value.hint


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("<think>\nFirst idea.\n</think>\nDIAGNOSIS: it falls", "DIAGNOSIS: it falls"),
        ("First idea.\n</think>\nDIAGNOSIS: it falls", "DIAGNOSIS: it falls"),
        ("Keep `x < thinking` as it is", "Keep `x < thinking` as it is"),
    ],
)
def test_reasoning_that_a_server_leaves_in_a_reply_is_no_part_of_it(text, kept):
    with ChatServer(Answer(text)) as server:
        assert ask_one(client(server)).text.strip() == kept


@pytest.mark.parametrize("text", [None, "<think>\n```python\ndef compute_reward(x):\n    return x\n```\nNo, as"])
def test_reasoning_that_takes_all_tokens_is_not_bought_again(text):
    with ChatServer(Answer(text, finish_reason="length")) as server, pytest.raises(CallFailed) as caught:
        ask_one(RetryingLLM(client(server)))
    assert len(server.bodies) == 1 and "--effort" in caught.value.hint


def test_a_reply_that_comes_too_late_counts_as_a_whole_and_is_asked_for_once_more():
    with ChatServer(Answer(delay_s=30.0)) as server, pytest.raises(CallFailed) as caught:
        llm = client(server, model="openai/gpt-4o-mini", timeout_s=0.5)
        ask_one(RetryingLLM(llm))
    assert len(server.bodies) == 2 and "2 attempts" in caught.value.hint
    late = failure(Answer(delay_s=30.0), timeout_s=0.5)
    assert late.usage.completion_tokens == request().max_tokens


def test_a_message_of_refusal_is_not_asked_for_again():
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "refusal": "No."}}
    answer = Answer(body=json.dumps({"id": "x", "object": "chat.completion", "choices": [choice]}).encode())
    refused = failure(answer)
    assert isinstance(refused, CallRefused) and refused.hint


def test_too_many_requests_are_a_reason_to_wait_for_many_seconds():
    assert failure(Answer("slow down", status=429)).retry_after_s > 10.0


def test_a_reply_at_the_limit_of_tokens_says_so():
    with ChatServer(Answer("half", finish_reason="length")) as server:
        assert ask_one(client(server)).cut


@pytest.mark.parametrize(
    ("status", "code", "words"),
    [
        (400, "context_length_exceeded", "This model's maximum context length is 8192 tokens."),
        (400, "content_filter", "The response was filtered due to the prompt triggering the content policy"),
        (
            400,
            "invalid_prompt",
            "Invalid prompt: it was flagged, and quotes `insufficient_quota` and `model_not_found`" * 2,
        ),
        (400, None, "temperature is out of range"),
        (413, None, "too large"),
        (422, None, "cannot be processed"),
    ],
)
def test_refused_request_fails_with_the_servers_words_and_is_not_tried_again(status, code, words):
    error = failure(Answer(words, status=status, code=code))
    assert isinstance(error, CallRefused) and not error.transient
    assert words[:60] in error.message
    assert error.usage == Usage()


def test_reply_that_a_filter_took_is_refused_and_paid_for():
    choice = {"index": 0, "finish_reason": "content_filter", "message": {"role": "assistant", "content": ""}}
    counts = {"prompt_tokens": 70, "completion_tokens": 9}
    body = {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": counts}
    error = failure(Answer(body=json.dumps(body).encode()))
    assert isinstance(error, CallRefused)
    assert error.usage.tokens == 79


@pytest.mark.parametrize(
    "answer",
    [
        Answer("You exceeded your current quota, please check your plan", status=429, code="insufficient_quota"),
        Answer("quota", body=b'{"error": {"message": "quota", "code": "insufficient_quota"}}'),
        Answer("Your credit balance is too low to access the API", status=400),
        Answer("API key not valid. Please pass a valid API key.", status=400),
        Answer("Insufficient Balance", status=402),
    ],
)
def test_an_empty_account_is_no_passing_fault_and_ends_the_run_like_a_refused_key(answer):
    assert failure(answer).exit_code == 4


@pytest.mark.parametrize(
    "answer", [Answer("zzz is not a valid model ID", status=400), Answer("none", status=400, code="model_not_found")]
)
def test_a_model_that_there_is_not_is_told_so_whatever_the_status(answer):
    assert isinstance(failure(answer), ModelError)


@pytest.mark.parametrize("counts", [None, {}, {"prompt_tokens": -500, "completion_tokens": 10**18}])
def test_odd_counts_of_tokens_are_replaced_by_estimates_and_the_reply_is_kept(counts):
    asked = request(content="words " * 600)
    with ChatServer(Answer("a reward of some length " * 10, usage=counts)) as server:
        reply = ask_one(client(server, model="openai/gpt-4o-mini"), asked)
    usage = reply.usage
    assert reply.text.startswith("a reward of some length")
    assert usage.estimated_tokens > 0 and usage.calls == 1
    assert 600 < usage.prompt_tokens < 6000 and 0 < usage.completion_tokens < 300
    assert 0 < usage.cost_usd < 0.01


@pytest.mark.parametrize("cached", [-(10**9), 2000, 10**9])
def test_a_count_of_cached_tokens_that_cannot_be_changes_no_price(cached):
    counts = {"prompt_tokens": 1000, "completion_tokens": 10, "prompt_tokens_details": {"cached_tokens": cached}}
    with ChatServer(Answer("x", usage=counts)) as server:
        assert ask_one(client(server, model="openai/gpt-4o-mini")).usage.cost_usd == pytest.approx(156e-6)


@pytest.mark.parametrize(
    "answer",
    [Answer(body=b"<html>a proxy's page"), Answer(body=b"[]"), Answer("x" * 600, cut_after=300), Answer(delay_s=30.0)],
)
def test_an_answer_that_cannot_be_read_or_does_not_come_counts_its_prompt(answer):
    error = failure(answer, timeout_s=1.0)
    assert error.transient
    assert error.usage.prompt_tokens > 0 and error.usage.calls == 1
    assert error.usage.estimated_tokens == error.usage.tokens


@pytest.mark.parametrize("answer", [Answer("oops", status=500), Answer("slow down", status=429)])
def test_an_error_that_a_server_sends_costs_nothing_and_may_pass(answer):
    error = failure(answer)
    assert error.usage == Usage() and error.transient


@pytest.mark.parametrize("model", ["openai/local-model", "anthropic/claude-sonnet-4-5"])
def test_a_redirect_is_not_followed_so_that_no_other_host_gets_the_key(model, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-very-secret-key")
    with ChatServer() as other, ChatServer(Answer(status=307, headers={"Location": other.api_base})) as server:
        base = server.api_base if model[0] == "o" else server.api_base.replace("/v1", "/v1/chat/completions?")
        with pytest.raises(ModelError, match=f"redirects to {other.api_base}") as caught:
            ask_one(RetryingLLM(client(server, model=model, api_base=base)))
    assert len(server.bodies) == 1 and not other.bodies and "--api-base" in caught.value.hint


@pytest.mark.parametrize("text", [None, "  \n"])
def test_an_empty_reply_is_paid_for_and_may_be_asked_for_again(text):
    error = failure(Answer(text, prompt_tokens=7, completion_tokens=0))
    assert isinstance(error, CallFailed) and error.transient and error.usage.prompt_tokens == 7


@pytest.mark.parametrize(
    "answer",
    [
        Answer(usage={"prompt_tokens": 0.5, "completion_tokens": 1}, text=None),
        Answer(body=b'{"choices": [{"message": {"content": 5}}]}'),
        Answer(body=b'{"choices": {"a": 1}}'),
        Answer("half \ud83d \x1b]0;title\x07\nTraceback (most recent call last):\n  File x", status=500),
    ],
)
def test_a_failure_is_told_in_one_clean_line_without_a_traceback(answer):
    message = failure(answer).message
    assert "Traceback" not in message and "site-packages" not in message
    assert message.isprintable() and len(message) < 400
    message.encode()


@pytest.mark.parametrize("header", ["nan", "-5", "soon", "9" * 5000])
def test_a_wait_that_cannot_be_meant_does_no_harm(header, monkeypatch):
    monkeypatch.setattr(factory, "_LONGEST_WAIT_S", 0.01)
    with ChatServer(Answer(status=429, headers={"Retry-After": header})) as server, pytest.raises(CallFailed):
        ask_one(RetryingLLM(client(server)))
    assert len(server.bodies) == 6


def test_no_more_calls_in_flight_than_allowed():
    with ChatServer(Answer(delay_s=0.1)) as server:
        one = client(server, concurrency=3)
        replies = ask(one, *(request(f"call-{number}") for number in range(9)))
    assert server.most_at_once == 3
    assert [reply.text for reply in replies] == ["hello"] * 9


QUIET = """
import asyncio, sys
from rewardgen.llm.litellm_client import LiteLLMClient
from rewardgen.testing.server import Answer, ChatServer
from tests.llm.requests import ask, request
assert "litellm" not in sys.modules
with ChatServer(lambda number, body: Answer() if number % 2 else Answer("oops", status=500)) as server:
    llm = LiteLLMClient("some-model", api_base=server.api_base)
    for turn in range(2):
        ask(llm, request("a"), request("b"))
with ChatServer(Answer(usage={"prompt_tokens": "many", "completion_tokens": 0.5})) as server:
    ask(LiteLLMClient("some-model", api_base=server.api_base), request("a"))
import gc
import litellm
litellm.in_memory_llm_clients_cache.flush_cache()  # as it does by itself after an hour
gc.collect()
"""


@pytest.mark.slow
def test_litellm_is_imported_late_and_prints_nothing():
    done = subprocess.run([sys.executable, "-c", QUIET], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
