"""Settings of models over real HTTP: reasoning effort, forms of replies, cached tokens, models in turn."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from rewardgen.analyzer.judgements import check_goal
from rewardgen.core.asynchrony import run_coroutine
from rewardgen.core.config import RunConfig
from rewardgen.core.errors import UsageError
from rewardgen.critic.llm_review import Reader
from rewardgen.llm.archive import read_archive
from rewardgen.llm.factory import make_llm
from rewardgen.llm.litellm_client import LiteLLMClient
from rewardgen.llm.protocol import CallRefused
from rewardgen.store.messages import LLMRequest, Picture, reply_form
from rewardgen.store.records import Candidate
from rewardgen.store.run_folder import RunFolder
from rewardgen.testing.server import Answer, ChatServer
from tests.builders import card
from tests.llm.requests import ask, ask_one, request

FORM = reply_form(Picture)


def run_llm(folder, server, **config):
    fields = {"task": "hopper", "model": "local", "api_base": server.api_base} | config
    return make_llm(RunConfig.model_validate(fields), RunFolder(folder))


def test_effort_reaches_the_server_by_role_and_replaces_the_temperature(tmp_path):
    with ChatServer() as server:
        llm = run_llm(tmp_path, server, effort=("low", "designer=high"))
        ask_one(llm, request("g00-k0/designer/draft"))
        ask_one(llm, request("g00-k0/analyzer/diagnosis"))
        ask_one(run_llm(tmp_path / "other", server), request("g00-k0/designer/draft"))
    assert [body.get("reasoning_effort") for body in server.bodies] == ["high", "low", None]
    assert ["temperature" in body for body in server.bodies] == [False, False, True]
    assert server.bodies[0]["max_tokens"] > server.bodies[1]["max_tokens"] > server.bodies[2]["max_tokens"]


def test_resumed_run_repeats_no_call_with_settings_and_its_archive_keeps_them(tmp_path):
    calls = [request(f"g00-k{number}/designer/draft") for number in range(4)]
    with ChatServer(Answer("{}")) as server:
        for _ in range(2):
            llm = run_llm(tmp_path / "run", server, model="one,two", effort=("high",))
            ask(llm, *calls, request("goal/check", form=FORM))
    assert len(server.bodies) == 5
    assert llm.usage().tokens == server.served.tokens
    kept = {call.request.label: call for call in read_archive(tmp_path / "run" / "llm")}
    assert {call.request.effort for call in kept.values()} == {"high"}
    assert kept["goal/check"].request.form == FORM
    assert [kept[one.label].model for one in calls] == ["one", "two", "one", "two"]


def test_replay_of_a_run_with_settings_needs_none(tmp_path):
    name = "20260101-000000-hopper-aaaa"
    with ChatServer(Answer("recorded")) as server:
        ask_one(run_llm(tmp_path / name, server, effort=("high",)), request(form=FORM))
    (tmp_path / name / "events.jsonl").write_text("{}\n")
    replay = make_llm(RunConfig(task="hopper", model=f"replay:{name}"), RunFolder(tmp_path / "second"))
    assert ask_one(replay).model == "local"  # no note of a difference


def test_call_of_an_earlier_version_that_knew_no_forms_is_not_made_again(tmp_path):
    with ChatServer() as server:
        for form in (None, FORM):
            ask_one(run_llm(tmp_path / "run", server), request("goal/check", form=form))
    assert len(server.bodies) == 1


def test_models_design_in_turn_by_candidate_and_the_first_answers_the_rest(tmp_path):
    labels = ["g00-k0/designer/draft", "g00-k1/designer/draft", "g01-k0/designer/edit", "g01-k0/designer/repair-1"]
    labels += ["g00-k1/analyzer/diagnosis", "goal/check", "task/draft/1"]
    with ChatServer() as server:
        llm = run_llm(tmp_path, server, model="one, two")
        for label in labels:
            ask_one(llm, request(label))
    assert [body["model"] for body in server.bodies] == ["one", "two", "two", "two", "one", "one", "one"]


def test_failed_call_is_kept_with_the_model_that_failed(tmp_path):
    with ChatServer(Answer("no", status=400)) as server:
        ask(run_llm(tmp_path, server, model="one,two"), request("g00-k1/designer/draft"))
    assert [call.model for call in read_archive(tmp_path / "llm")] == ["two"]


def test_form_of_a_reply_is_sent_where_there_is_one(tmp_path):
    with ChatServer(Answer('{"answer": "yes", "why": "it is measured", "obstacle": ""}')) as server:
        check = run_coroutine(check_goal(run_llm(tmp_path, server), card(), "hop"))
        ask_one(run_llm(tmp_path, server))
    sent, text = (body.get("response_format") for body in server.bodies)
    assert check.answer == "yes"
    assert sent["json_schema"]["schema"]["required"] == ["answer", "why", "obstacle"]
    assert sent["json_schema"]["strict"] is True
    assert text is None


def test_form_of_a_reading_is_a_closed_list_of_checks():
    with ChatServer(Answer('{"checks": []}')) as server:
        client = LiteLLMClient("local", api_base=server.api_base)
        candidate = Candidate(id="g00-k0", generation=0, operator="draft", source="x = 1")
        run_coroutine(Reader(client).read(candidate, card(), "", ()))
    form = server.bodies[0]["response_format"]["json_schema"]["schema"]
    check = form["properties"]["checks"]["items"]
    assert (form["required"], form["additionalProperties"]) == (["checks"], False)
    assert check["required"] == ["item", "verdict", "line", "component", "evidence", "fix"]
    assert check["properties"]["verdict"] == {"type": "string", "enum": ["pass", "warn", "veto"]}
    assert check["properties"]["line"] == {"anyOf": [{"type": "integer"}, {"type": "null"}]}
    assert check["additionalProperties"] is False


def test_server_that_refuses_forms_is_asked_for_text_from_then_on():
    def answer(_, body):
        return Answer("unknown field", status=400) if "response_format" in body else Answer("text")

    with ChatServer(answer) as server:
        client = LiteLLMClient("local", api_base=server.api_base)
        replies = [ask_one(client, request(form=FORM)) for _ in range(2)]
    assert [reply.text for reply in replies] == ["text", "text"]
    assert ["response_format" in body for body in server.bodies] == [True, False, False]


def test_request_that_is_refused_with_and_without_a_form_is_refused():
    with ChatServer(Answer("too long", status=400)) as server, pytest.raises(CallRefused, match="too long"):
        ask_one(LiteLLMClient("local", api_base=server.api_base), request(form=FORM))


def test_cached_tokens_are_counted_and_cost_less():
    def usage(cached):
        details = {"prompt_tokens_details": {"cached_tokens": cached}}
        return {"prompt_tokens": 1000, "completion_tokens": 50, "total_tokens": 1050} | details

    with ChatServer(lambda number, _: Answer("hi", usage=usage(800 * number))) as server:
        client = LiteLLMClient("openai/gpt-5.1", api_base=server.api_base)
        fresh, cached = (ask_one(client).usage for _ in range(2))
    assert (fresh.cached_tokens, cached.cached_tokens) == (0, 800)
    assert (fresh + cached).cached_tokens == 800
    assert 0 < cached.cost_usd < fresh.cost_usd


def test_system_message_for_claude_is_marked_as_worth_caching():
    bodies = []
    usage = {"input_tokens": 10, "cache_read_input_tokens": 90, "cache_creation_input_tokens": 0, "output_tokens": 5}
    answer = {
        "id": "1",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-5",
        "stop_reason": "end_turn",
    }
    answer |= {"content": [{"type": "text", "text": "hi"}], "usage": usage}

    class Anthropic(BaseHTTPRequestHandler):
        def log_message(self, format, *args):
            pass

        def do_POST(self):
            bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(json.dumps(answer).encode())

    server = ThreadingHTTPServer(("127.0.0.1", 0), Anthropic)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        address = f"http://127.0.0.1:{server.server_address[1]}"
        reply = ask_one(LiteLLMClient("anthropic/claude-sonnet-4-5", api_base=address), request(effort="high"))
    finally:
        server.shutdown()
        server.server_close()
    assert bodies[0]["system"][0]["cache_control"] == {"type": "ephemeral"}
    assert "cache_control" not in json.dumps(bodies[0]["messages"])
    assert bodies[0]["thinking"]["budget_tokens"] < bodies[0]["max_tokens"]
    assert (reply.usage.prompt_tokens, reply.usage.cached_tokens) == (100, 90)


@pytest.mark.parametrize(
    ("effort", "fault", "hint"),
    [
        ("hihg", "no reasoning effort `hihg`", "did you mean `high`"),
        ("desinger=high", "no role `desinger`", "did you mean `designer`"),
    ],
)
def test_unknown_level_or_role_is_refused(effort, fault, hint):
    with pytest.raises(UsageError, match=fault) as caught:
        RunConfig(task="hopper", model="openai/gpt-5.1", effort=(effort,))
    assert hint in caught.value.hint


def test_effort_without_a_language_model_is_refused():
    with pytest.raises(UsageError, match="`--effort` has no effect"):
        RunConfig(task="hopper", effort=("high",))


@pytest.mark.parametrize(
    ("model", "level", "hint"),
    [("openai/gpt-4o", "high", "leave out"), ("openai/gpt-5.1", "max", "it takes"), ("xai/grok-4", "low", "leave out")],
)
def test_effort_that_a_model_lacks_is_refused_before_a_run(tmp_path, monkeypatch, model, level, hint):
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    monkeypatch.setenv("XAI_API_KEY", "x")
    with pytest.raises(UsageError, match=f"has no reasoning effort `{level}`") as caught:
        make_llm(RunConfig(task="hopper", model=model, effort=(level,)), RunFolder(tmp_path))
    assert hint in caught.value.hint


def test_effort_of_the_analyzer_is_not_asked_of_a_model_that_only_designs(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    config = RunConfig(task="hopper", model="openai/gpt-5.1,openai/gpt-4o", effort=("analyzer=high",))
    assert make_llm(config, RunFolder(tmp_path))


def test_mailbox_and_roles_without_a_model_have_no_effort(tmp_path):
    for config, fault in (
        ({"model": f"mailbox:{tmp_path}", "effort": ("high",)}, "has no reasoning effort"),
        ({"effort": ("judge=low",)}, "no language model answers as the judge"),
        ({"effort": ("critic=low",)}, "no language model answers as the critic"),
    ):
        with pytest.raises(UsageError, match=fault), ChatServer() as server:
            run_llm(tmp_path / "run", server, **config)


@pytest.mark.parametrize("model", ["one,", "builtin,one", ""])
def test_list_with_an_empty_or_the_builtin_model_is_refused(model):
    with pytest.raises(UsageError):
        RunConfig(task="hopper", model=model)


def test_critic_takes_no_turns(tmp_path):
    with ChatServer() as server, pytest.raises(UsageError, match="names several models"):
        run_llm(tmp_path, server, critic_model="one,two")


def test_room_for_reasoning_counts_in_the_upper_bound_of_a_call(tmp_path):
    with ChatServer() as server:
        llm = run_llm(tmp_path, server)
        plain, thinking = (llm.estimate(LLMRequest(label="a", messages=(), effort=level)) for level in ("", "high"))
    assert thinking.completion_tokens > 2 * plain.completion_tokens
