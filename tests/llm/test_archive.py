import asyncio
import json
import os
from pathlib import Path

import pytest

from rewardgen.core.errors import BudgetExhausted, CredentialsError, ModelError, RunFolderError
from rewardgen.llm.archive import ArchivedLLM, archived_usage, call_name, outdate_refusals, read_archive, read_call
from rewardgen.llm.factory import RetryingLLM
from rewardgen.llm.litellm_client import LiteLLMClient
from rewardgen.llm.protocol import CallFailed, CallRefused
from rewardgen.store.messages import LLMRequest, Usage
from rewardgen.testing.scripted import ScriptedLLM
from rewardgen.testing.server import Answer, ChatServer
from tests.llm.requests import ask, ask_one, request


def test_resumed_run_calls_only_for_what_was_not_answered(tmp_path):
    calls = [request(f"g00-k{number}/designer/draft") for number in range(6)]
    with ChatServer(lambda number, _: Answer(f"reply {number}")) as server:
        client = LiteLLMClient("local", api_base=server.api_base)
        before = ask(ArchivedLLM(client, tmp_path), *calls[:4])
        after = ask(ArchivedLLM(client, tmp_path), *calls)
    assert len(server.bodies) == 6
    assert after[:4] == before


def test_changed_prompt_is_another_call(tmp_path):
    llm = ScriptedLLM("x")
    for content in ("one prompt", "another prompt"):
        ask_one(ArchivedLLM(llm, tmp_path), request(content=content))
    assert len(llm.requests) == 2
    assert len(read_archive(tmp_path)) == 2


def test_a_new_field_at_its_default_renames_no_call_and_recorded_runs_keep_their_names():
    class Later(LLMRequest):
        effort: str = ""

    known, later = request(), Later.model_validate(request().model_dump())
    assert call_name(later) == call_name(known)
    assert call_name(later.model_copy(update={"effort": "high"})) != call_name(known)
    paths = list((Path(__file__).parents[1] / "recorded").rglob("llm/*.json"))
    assert paths and all(path.name.startswith(f"{call_name(read_call(path).request)}.") for path in paths)


def test_usage_counts_every_call_once_over_all_sessions(tmp_path):
    llm = ScriptedLLM("x", Usage(prompt_tokens=10, completion_tokens=5, cost_usd=0.01, calls=1))
    first = ArchivedLLM(llm, tmp_path)
    ask(first, request("a"), request("b"))
    second = ArchivedLLM(llm, tmp_path)
    ask(second, request("a"), request("b"), request("c"))
    assert second.usage() == archived_usage(tmp_path)
    assert (second.usage().tokens, second.usage().calls) == (45, 3)
    assert second.usage().cost_usd == pytest.approx(0.03)


def test_failed_attempts_are_kept_apart_and_their_usage_counts(tmp_path):
    faults = [Answer(text=None, prompt_tokens=70, completion_tokens=30), Answer("oops", status=500)]
    with ChatServer(lambda number, _: (*faults, Answer("fine"))[number]) as server:
        archive = ArchivedLLM(LiteLLMClient("local", api_base=server.api_base), tmp_path)
        assert ask_one(RetryingLLM(archive)).text == "fine"
    kept = read_archive(tmp_path)
    assert sorted(bool(each.failure) for each in kept) == [False, True, True]
    assert any("empty reply" in each.failure for each in kept)
    assert archive.usage().tokens == server.served.tokens == 250


def test_refused_call_is_paid_once_and_made_again_only_of_another_model(tmp_path):
    paid = Usage(prompt_tokens=70, calls=1)
    for _ in range(3):
        archive = ArchivedLLM(ScriptedLLM(CallRefused("too long", "shorten it", usage=paid)), tmp_path)
        with pytest.raises(CallRefused, match="too long") as caught:
            ask_one(archive)
        assert caught.value.hint == "shorten it"
    assert archive.usage() == archived_usage(tmp_path) == paid
    outdate_refusals(tmp_path)
    for error in (CallFailed("timed out"), CallRefused("a filter objects", usage=paid)):
        with pytest.raises(type(error), match=error.message):
            ask_one(ArchivedLLM(ScriptedLLM(error), tmp_path))
    with pytest.raises(CallRefused, match="a filter objects"):
        ask_one(ArchivedLLM(ScriptedLLM("fine"), tmp_path))
    assert archived_usage(tmp_path) == paid + paid


def test_refused_request_is_kept_and_a_refused_key_is_not(tmp_path):
    for error in (ModelError("will not accept it"), CredentialsError("refused")):
        with pytest.raises(type(error)):
            ask_one(ArchivedLLM(ScriptedLLM(error), tmp_path))
    assert [each.failure for each in read_archive(tmp_path)] == ["will not accept it"]


def test_call_in_flight_counts_what_was_sent_also_if_it_is_interrupted(tmp_path):
    with ChatServer(Answer(delay_s=30.0)) as server:
        client = LiteLLMClient("local", api_base=server.api_base)
        archive = ArchivedLLM(client, tmp_path, sent=client.sent)

        async def interrupted():
            call = asyncio.create_task(archive.complete(request()))
            while not server.bodies:
                await asyncio.sleep(0.01)
            in_flight = archived_usage(tmp_path)  # all that is left if the process is killed now
            call.cancel()
            await asyncio.gather(call, return_exceptions=True)
            return in_flight

        in_flight = asyncio.run(interrupted())
    assert in_flight.estimated_tokens > 0
    assert in_flight == archived_usage(tmp_path) == archive.usage()


@pytest.mark.parametrize(
    "end", ["fine", CallFailed("timed out"), BudgetExhausted("spent"), CredentialsError("refused")]
)
def test_call_that_has_ended_counts_what_it_took_and_no_more(tmp_path, end):
    sent = Usage(prompt_tokens=9, calls=1, estimated_tokens=9)
    archive = ArchivedLLM(ScriptedLLM(end), tmp_path, sent=lambda _: sent)
    ask(archive, request())
    assert archived_usage(tmp_path) == archive.usage()
    assert archive.usage().estimated_tokens == 0


def test_conversation_can_be_read_with_what_it_took(tmp_path):
    llm = ScriptedLLM("a reward")
    ask_one(
        ArchivedLLM(llm, tmp_path / "llm", lambda label: tmp_path / f"{label}.md"), request("g00-k0/designer/draft")
    )
    text = (tmp_path / "g00-k0" / "designer" / "draft.md").read_text()
    positions = [
        text.index(each) for each in ("You write rewards.", "hello", "a reward", "100 prompt and 50 completion")
    ]
    assert positions == sorted(positions)


@pytest.mark.parametrize(
    "forged", [{"prompt_tokens": -(10**9)}, {"cost_usd": -5.0}, {"cost_usd": "NaN"}, {"calls": -1}]
)
def test_an_archive_that_would_raise_the_budget_is_damaged(tmp_path, forged):
    ask_one(ArchivedLLM(ScriptedLLM("x"), tmp_path))
    path = next(tmp_path.glob("*.json"))
    call = json.loads(path.read_text())
    path.write_text(json.dumps(call | {"usage": call["usage"] | forged}))
    with pytest.raises(RunFolderError, match="is not a recorded call"):
        archived_usage(tmp_path)


@pytest.mark.parametrize("put", [os.mkfifo, lambda path: path.symlink_to("/dev/zero"), lambda path: path.mkdir()])
def test_a_recorded_call_that_is_no_plain_file_is_not_read(tmp_path, put):
    put(tmp_path / f"{call_name(request())}.json")
    for read in (archived_usage, lambda folder: ask_one(ArchivedLLM(ScriptedLLM("x"), folder))):
        with pytest.raises(RunFolderError, match="is not a recorded call"):
            read(tmp_path)


def test_damaged_archive_says_which_file_to_delete(tmp_path):
    llm = ArchivedLLM(ScriptedLLM("x"), tmp_path)
    ask_one(llm)
    path = next(tmp_path.glob("*.json"))
    path.write_text(json.dumps({"request": 3}))
    with pytest.raises(RunFolderError) as caught:
        ask_one(llm)
    assert path.name in caught.value.message
    assert "delete" in caught.value.hint
