"""Agents as models, each a real process that this test writes: slow, silent, chatty, killed."""

import asyncio
import json
import os
import sys
import time
from pathlib import Path

import pytest

from rewardgen.core.config import RunConfig
from rewardgen.core.errors import CredentialsError, ModelError, UsageError
from rewardgen.llm.agent import AgentLLM
from rewardgen.llm.factory import judging_model, lasting_model, make_llm
from rewardgen.llm.protocol import CallFailed
from rewardgen.store.run_folder import RunFolder
from tests.llm.requests import ask_one, request


def agent(folder: Path, code: str, name: str = "agent") -> Path:
    """Write a program whose body is the code."""
    path = folder / name
    path.write_text(f"#!{sys.executable}\nimport json, os, signal, subprocess, sys, time\n{code}\n")
    path.chmod(0o755)
    return path


def agent_llm(folder: Path, code: str, *, timeout_s: float = 20.0, concurrency: int = 8) -> AgentLLM:
    return AgentLLM(str(agent(folder, code)), timeout_s=timeout_s, concurrency=concurrency)


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"


def pid_in(file: Path) -> int:
    end = time.monotonic() + 10
    while not (file.exists() and file.read_text()):
        assert time.monotonic() < end
        time.sleep(0.02)
    return int(file.read_text())


def died(pid: int) -> bool:
    end = time.monotonic() + 5
    while is_alive(pid) and time.monotonic() < end:
        time.sleep(0.02)
    return not is_alive(pid)


def test_agent_reads_the_request_on_stdin_and_what_it_prints_is_the_reply(tmp_path):
    reply = ask_one(agent_llm(tmp_path, "print('heard:', sys.stdin.read())"), request(content="hop forward"))
    assert reply.text.startswith("heard:")
    assert reply.text.index("You write rewards.") < reply.text.index("hop forward")
    assert reply.usage.cost_usd is None
    assert reply.usage.estimated_tokens == reply.usage.tokens > 0


def test_agent_starts_in_an_empty_folder_without_keys(tmp_path, monkeypatch):
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GITHUB_TOKEN", "MY_SECRET", "PYTHONPATH"):
        monkeypatch.setenv(name, "sk-not-for-agents")
    code = "print(json.dumps({'cwd': os.getcwd(), 'files': os.listdir(), 'environment': dict(os.environ)}))"
    told = json.loads(ask_one(agent_llm(tmp_path, code)).text)
    assert told["files"] == []
    assert not Path(told["cwd"]).exists()
    assert "sk-not-for-agents" not in told["environment"].values()
    assert {"PATH", "HOME"} <= told["environment"].keys()


def test_slow_agent_is_killed_with_its_children_at_the_time_limit(tmp_path):
    code = f"""
child = subprocess.Popen(['sleep', '60'])
open({str(tmp_path / "pid")!r}, 'w').write(str(child.pid))
time.sleep(60)"""
    started = time.monotonic()
    with pytest.raises(CallFailed, match=r"did not answer within 1\.5 s") as caught:
        ask_one(agent_llm(tmp_path, code, timeout_s=1.5))
    assert time.monotonic() - started < 10
    assert not caught.value.transient
    assert caught.value.usage.prompt_tokens > 0
    assert died(pid_in(tmp_path / "pid"))


def test_child_that_an_agent_leaves_behind_is_killed_and_holds_up_no_reply(tmp_path):
    code = f"""
child = subprocess.Popen(['sleep', '60'])
open({str(tmp_path / "pid")!r}, 'w').write(str(child.pid))
print('done')"""
    started = time.monotonic()
    assert ask_one(agent_llm(tmp_path, code)).text == "done\n"
    assert time.monotonic() - started < 10
    assert died(pid_in(tmp_path / "pid"))


def test_cancelled_call_kills_the_agent(tmp_path):
    code = f"open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid())); time.sleep(60)"

    async def cancelled() -> int:
        call = asyncio.create_task(agent_llm(tmp_path, code).complete(request()))
        pid = await asyncio.to_thread(pid_in, tmp_path / "pid")
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        return pid

    assert died(asyncio.run(cancelled()))


def test_silent_agent_fails_the_call(tmp_path):
    with pytest.raises(CallFailed, match="it printed nothing") as caught:
        ask_one(agent_llm(tmp_path, "sys.stdin.read()"))
    assert "echo hello |" in caught.value.hint


def test_chatty_agent_is_killed_long_before_the_time_limit(tmp_path):
    started = time.monotonic()
    with pytest.raises(CallFailed, match="did not answer within 20 s and 16 MB"):
        ask_one(agent_llm(tmp_path, "while True: print('x' * 100000)"))
    assert time.monotonic() - started < 10


def test_killed_agent_fails_the_call_with_its_signal_and_may_be_asked_again(tmp_path):
    with pytest.raises(CallFailed, match="killed by signal 9") as caught:
        ask_one(agent_llm(tmp_path, "os.kill(os.getpid(), signal.SIGKILL)"))
    assert caught.value.transient


def test_agent_without_a_login_ends_the_run_instead_of_failing_each_candidate(tmp_path):
    code = "print('Invalid API key. Please run /login', file=sys.stderr); sys.exit(1)"
    with pytest.raises(CredentialsError, match="Please run /login"):
        ask_one(agent_llm(tmp_path, code))


CLAUDE = {
    "type": "result",
    "is_error": False,
    "result": "a reward",
    "total_cost_usd": 0.02,
    "usage": {
        "input_tokens": 3,
        "cache_read_input_tokens": 900,
        "cache_creation_input_tokens": 97,
        "output_tokens": 50,
    },
}
CODEX = [
    {"type": "thread.started", "thread_id": "1"},
    {"type": "item.completed", "item": {"type": "reasoning", "text": "hm"}},
    {"type": "item.completed", "item": {"type": "agent_message", "text": "a reward"}},
    {"type": "turn.completed", "usage": {"input_tokens": 1000, "cached_input_tokens": 900, "output_tokens": 50}},
]


def test_usage_that_claude_tells_is_counted_with_its_price(tmp_path):
    reply = ask_one(agent_llm(tmp_path, f"print(json.dumps({CLAUDE!r}))"))
    usage = reply.usage
    assert reply.text == "a reward"
    assert (usage.prompt_tokens, usage.cached_tokens, usage.completion_tokens) == (1000, 900, 50)
    assert (usage.cost_usd, usage.estimated_tokens) == (0.02, 0)


@pytest.mark.parametrize(
    "printed",
    [
        f"print(json.dumps([{{'type': 'system'}}, {CLAUDE!r}]))",
        f"print('a warning'); print(json.dumps({CLAUDE!r}))",
        f"print(json.dumps({CLAUDE!r} | {{'error': None}}))",
    ],
    ids=["a list of all events", "after a warning", "no error"],
)
def test_the_result_is_found_however_talkative_the_agent(tmp_path, printed):
    reply = ask_one(agent_llm(tmp_path, printed))
    assert (reply.text, reply.usage.cost_usd) == ("a reward", 0.02)


def test_usage_that_codex_tells_is_counted(tmp_path):
    reply = ask_one(agent_llm(tmp_path, f"for event in {CODEX!r}: print(json.dumps(event))"))
    usage = reply.usage
    assert reply.text == "a reward"
    assert (usage.prompt_tokens, usage.cached_tokens, usage.completion_tokens) == (1000, 900, 50)
    assert usage.cost_usd is None


@pytest.mark.parametrize(
    "event",
    [CLAUDE | {"is_error": True, "result": "overloaded"}, {"type": "turn.failed", "error": {"message": "overloaded"}}],
)
def test_failure_that_an_agent_tells_fails_the_call(tmp_path, event):
    with pytest.raises(CallFailed, match="overloaded"):
        ask_one(agent_llm(tmp_path, f"print(json.dumps({event!r}))"))


def test_reply_that_is_json_itself_stays_as_it_is(tmp_path):
    assert ask_one(agent_llm(tmp_path, """print('{"answer": "yes", "why": "it hops"}')""")).text.startswith("{")


@pytest.mark.parametrize(
    ("name", "options", "effort"),
    [
        ("claude", ["-p", "--output-format", "json", "--tools", ""], ["--effort=high"]),
        ("codex", ["exec", "--json", "--skip-git-repo-check"], ["--config=model_reasoning_effort=high"]),
    ],
)
def test_known_agent_gets_its_options_the_users_and_the_effort(tmp_path, monkeypatch, name, options, effort):
    agent(tmp_path, "print(json.dumps(sys.argv[1:]))", name)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    llm = AgentLLM(f"{name} --model best", timeout_s=20.0, concurrency=1)
    llm.check_effort("high")
    given = json.loads(ask_one(llm, request(effort="high")).text)
    assert given[: len(options)] == options
    assert given[-3:] == ["--model", "best", *effort]


def test_effort_for_a_command_is_refused_before_a_run(tmp_path):
    config = RunConfig(task="hopper", model=f"agent:{agent(tmp_path, '')}", effort=("high",))
    with pytest.raises(UsageError, match="no known option for the reasoning effort"):
        make_llm(config, RunFolder(tmp_path / "run"))


def test_missing_program_is_refused_before_a_run(tmp_path):
    with pytest.raises(ModelError, match="no program `no-such-agent`"):
        make_llm(RunConfig(task="hopper", model="agent:no-such-agent"), RunFolder(tmp_path / "run"))


def test_limit_on_cost_is_refused_as_no_price_is_known_before_a_call(tmp_path):
    config = RunConfig(task="hopper", model=f"agent:{agent(tmp_path, '')}", max_cost=1.0)
    with pytest.raises(UsageError, match="price of this model is unknown"):
        make_llm(config, RunFolder(tmp_path / "run"))


def test_files_in_a_command_are_found_from_the_agents_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my agent.py").write_text("print('found')")
    model = lasting_model(f"agent:{sys.executable} 'my agent.py' --fast", tmp_path)
    assert ask_one(AgentLLM(model.removeprefix("agent:"), timeout_s=20.0, concurrency=1)).text == "found\n"


def test_pictures_are_not_sent_to_agents():
    with pytest.raises(UsageError, match="an agent sees no pictures") as caught:
        judging_model("agent:claude")
    assert "reader:agent:claude" in caught.value.hint


@pytest.mark.parametrize("model", ["agent:", "agent:'open"])
def test_agent_without_a_command_is_refused(tmp_path, model):
    with pytest.raises(UsageError, match=r"names no command|is no command line"):
        lasting_model(model, tmp_path)
