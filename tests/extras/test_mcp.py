"""Tools for agents over the real protocol: a client calls them as an agent's program does; commands are processes."""

import asyncio
import base64
import io
import json
import os
import subprocess
import sys
import time
from contextlib import asynccontextmanager
from pathlib import Path
from signal import SIGKILL, SIGTERM
from subprocess import PIPE

import pytest
from PIL import Image

from rewardgen.cli.app import main
from tests.e2e.command import POINT, REWARDGEN, rewardgen
from tests.tasks.drafts import draft
from tests.tasks.test_sketches import nine, reply

TASK = str(POINT)
TINY = {"generations": 1, "candidates": 2, "seeds": 1, "final_seeds": 2, "env_steps": 1024, "workers": 1}
UNCONFINED = {"task": "no_such_task", "options": {"sandbox": "off"}}
"""Goes no further, once it is agreed to, than finding out that there is no such task."""
LONG_S = 180.0


class Agent:
    """A client with the questions that it showed to the person."""

    def __init__(self, client, questions):
        self.client, self.questions = client, questions

    async def call(self, tool, **arguments):
        answer = await self.client.call_tool(tool, arguments)
        self.pictures = [part for part in answer.content if part.type == "image"]
        self.failed = answer.is_error
        return "\n".join(part.text for part in answer.content if part.type == "text")

    async def until_ended(self, text):
        """All that a job prints, from the answer of the tool that started it."""
        ends = time.monotonic() + LONG_S
        while "goes on: `watch`" in text.splitlines()[-1] and time.monotonic() < ends:
            number = int(text.splitlines()[-1].split()[1])
            text = f"{text}\n{await self.call('watch', job=number)}"
        return text

    async def begin_a_long_run(self):
        options = {**TINY, "films": False, "model": "mailbox:nobody_answers"}
        text, ends = await self.call("run", task=TASK, options=options), time.monotonic() + LONG_S
        while "generation g00" not in text and time.monotonic() < ends:
            text = await self.call("watch", job=1, seconds=1.0)


@asynccontextmanager
async def agent(server, user=None):
    """An agent with a server; `user` answers what the client can ask the person before it."""
    import mcp_types  # seconds, which collecting the tests need not take
    from mcp import Client

    async def asked(context, params):
        questions.append(params.message)
        return mcp_types.ElicitResult(action="accept", content={"agree": True}) if user else refusal

    questions, refusal = [], mcp_types.ElicitResult(action="decline")
    async with Client(server, elicitation_callback=None if user is None else asked) as client:
        yield Agent(client, questions)


def in_a_session(folder, work, server=None, **options):
    """What an agent's work in a folder returns, with a server in this process unless there is one."""
    from rewardgen.extras.mcp import server as served

    async def session():
        async with agent(server or served.make_server(), **options) as client:
            return await work(client)

    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("OPENAI_API_KEY", "x")
        patch.setattr(served, "signal", lambda *_: None)  # which would end this process
        return asyncio.run(session())


def test_the_tools_say_what_they_take_and_which_only_read(tmp_path):
    async def work(agent):
        return (await agent.client.list_tools()).tools

    tools = {tool.name: tool for tool in in_a_session(tmp_path, work)}
    assert {"list_tasks", "new_task", "check_reward", "train_reward", "run", "watch", "show_run", "film"} <= {*tools}
    assert all(tool.description for tool in tools.values())
    assert {"generations", "max_cost", "stages"} <= {*tools["run"].input_schema["properties"]["options"]["properties"]}
    assert {name for name, tool in tools.items() if tool.annotations.destructive_hint} == {"confirm"}
    assert tools["show_run"].annotations.read_only_hint and not tools["run"].annotations.read_only_hint


def test_a_whole_run_is_started_watched_shown_and_filmed(tmp_path):
    async def work(agent):
        ran = await agent.until_ended(await agent.call("run", task=TASK, options={**TINY, "films": False}))
        assert "★" in ran and "The search stopped" in ran
        dear = await agent.until_ended(await agent.call("resume", model="openai/gpt-5.1", generations=20))
        assert "may cost" in dear and "`confirm` with question 1" in dear
        assert "finished" in await agent.call("list_runs")
        shown = await agent.call("show_run", run="latest", candidate="g00-k0")
        assert "def compute_reward" in shown
        assert "human" in await agent.call("compare", one="latest", other="latest:human")
        await agent.until_ended(await agent.call("film", target="latest:g00-k0", frames=3))
        assert ".mp4" in await agent.call("film", target="latest:g00-k0", frames=3)
        return agent.pictures

    pictures = in_a_session(tmp_path, work)
    frames = [Image.open(io.BytesIO(base64.b64decode(picture.data))) for picture in pictures]
    assert [frame.size[0] for frame in frames] == [480] * 3
    assert frames[0].tobytes() != frames[2].tobytes()


def test_a_reward_is_checked_from_its_text_and_a_rejection_is_a_result(tmp_path):
    async def work(agent):
        text = "def compute_reward(position, action):\n    return {'near': -positoin.abs()}\n"
        rejected = await agent.call("check_reward", task=TASK, reward=text)
        assert not agent.failed and "rejected" in rejected and "did you mean `position`?" in rejected
        accepted = await agent.call("check_reward", task=TASK, reward=text.replace("positoin", "position"))
        assert "accepted" in accepted
        return rejected

    assert (tmp_path / in_a_session(tmp_path, work).split(":")[0]).is_file()


WRONG = (
    ("show_task", {"task": "cartpol"}, "did you mean `cartpole`?"),
    ("run", {"task": "cartpole", "options": {"generatons": 1}}, "did you mean `generations`?"),
    ("run", {"task": "--yes", "options": TINY}, "unknown task `--yes`"),
    ("run", {"task": "cartpole", "options": {"yes": True}}, "unknown key `yes`"),
    ("new_task", {"robot": "hopper", "calls": {"yes": True}}, "unknown key `yes`"),
    ("new_task", {"robot": "hopper", "calls": {"max_cost": "much"}}, "`max_cost` of the calls"),
    ("watch", {"job": 7}, "`list_runs` shows the runs"),
    ("film", {}, "rewardgen run cartpole"),
    ("confirm", {"question": 1, "users_words": "yes", "agree": True}, "call the tool again"),
)


def test_an_error_is_text_with_a_hint(tmp_path):
    async def work(agent):
        for tool, arguments, expected in WRONG:
            text = await agent.until_ended(await agent.call(tool, **arguments))
            assert agent.failed and "error: " in text and "hint: " in text, text
            assert expected in text and "Traceback" not in text, text

    in_a_session(tmp_path, work)


def test_a_question_waits_for_the_users_words(tmp_path):
    async def work(agent):
        asked = await agent.until_ended(await agent.call("run", **UNCONFINED))
        assert not agent.failed and "--sandbox off" in asked and "`confirm` with question 1" in asked
        assert "did not agree" in await agent.call("confirm", question=1, users_words="no, why?", agree=False)
        assert agent.failed
        assert "question 1 is not open" in await agent.call("confirm", question=1, users_words="yes", agree=True)
        assert "question 2" in await agent.until_ended(await agent.call("run", **UNCONFINED))
        return await agent.until_ended(await agent.call("confirm", question=2, users_words="yes, go on", agree=True))

    assert "unknown task `no_such_task`" in in_a_session(tmp_path, work)


@pytest.mark.parametrize("agrees", [True, False])
def test_a_client_that_can_ask_asks_the_user_and_the_agents_words_do_not_count(tmp_path, agrees):
    async def work(agent):
        await agent.until_ended(await agent.call("run", **UNCONFINED))
        text = await agent.until_ended(await agent.call("confirm", question=1, users_words="yes", agree=True))
        return text, agent.questions

    text, (question,) = in_a_session(tmp_path, work, user=agrees)
    assert "--sandbox off" in question
    assert ("unknown task `no_such_task`" if agrees else "the user did not agree") in text


def test_addresses_and_commands_that_an_agent_names_are_asked_about_once_and_prices_each_time(tmp_path):
    options = {"model": "openai/local", "api_base": "http://127.0.0.1:9/v1", "max_cost": 3.0}

    async def work(agent):
        asked = await agent.until_ended(await agent.call("run", task="no_such_task", options=options))
        assert "up to 3.00 USD" in asked and "http://127.0.0.1:9/v1: receives the key" in asked
        await agent.call("confirm", question=1, users_words="yes", agree=True)
        again = await agent.call("run", task="no_such_task", options=options)
        assert "up to 3.00 USD" in again and "receives the key" not in again and "accepts what" not in again
        cheap = await agent.until_ended(
            await agent.call("run", task="no_such_task", options={**options, "max_cost": 0.5})
        )
        assert "unknown task `no_such_task`" in cheap and "question" not in cheap
        strange = {"model": "openai/local,agent:touch x"}
        asked = await agent.until_ended(await agent.call("run", task="no_such_task", options=strange))
        assert "runs as your own command" in asked and not (tmp_path / "x").exists()

    in_a_session(tmp_path, work)


def test_an_agent_drafts_a_task_as_the_model_itself_and_the_user_confirms_the_draft(tmp_path):
    async def work(agent):
        asked = {"robot": "hopper", "words": "do one backflip", "model": "mailbox:box", "file": "flip.py"}
        text = await agent.call("new_task", **asked)
        ends = time.monotonic() + LONG_S
        while "goes on: `watch`" in text.splitlines()[-1] and time.monotonic() < ends:
            for request in (tmp_path / "box").glob("*.request.md"):
                is_sketch = "You know what people mean" in request.read_text()
                answer = request.with_name(request.name.replace(".request.", ".reply."))
                if not answer.exists():
                    answer.write_text(reply(nine()) if is_sketch else draft())
            text = await agent.call("watch", job=1, seconds=0.2)
        assert "the metric holds" in text and "question 1" in text and not (tmp_path / "flip.py").exists()
        return await agent.until_ended(await agent.call("confirm", question=1, users_words="use it", agree=True))

    in_a_session(tmp_path, work)
    assert "a person may not have read it" in (tmp_path / "flip.py").read_text()


def test_a_reward_of_one_line_is_its_text_and_no_path(tmp_path):
    async def work(agent):
        text = "def compute_reward(position, action): return {'near': -position.abs()}"
        return await agent.call("check_reward", task=TASK, reward=text)

    assert "accepted" in in_a_session(tmp_path, work)


@pytest.mark.parametrize("signal", [None, SIGTERM, SIGKILL])
def test_jobs_are_interrupted_when_the_agent_leaves_and_a_run_can_be_resumed(tmp_path, signal):
    async def leave(agent):
        await agent.begin_a_long_run()
        for child in Path("/proc/self/task").glob("*/children") if signal else ():
            for pid in child.read_text().split():
                if str(tmp_path) in Path("/proc", pid, "cmdline").read_text():
                    os.kill(int(pid), signal)

    from mcp import StdioServerParameters

    command = ["-m", "rewardgen", "mcp", "--folder", str(tmp_path)]
    in_a_session(tmp_path, leave, StdioServerParameters(command=sys.executable, args=command, env={**os.environ}))
    ends = time.monotonic() + LONG_S
    while "interrupted" not in (listed := rewardgen("runs", "list", cwd=tmp_path).stdout) and time.monotonic() < ends:
        time.sleep(0.2)
    assert "interrupted" in listed


def test_a_client_that_leaves_before_its_answer_is_no_crash(tmp_path):
    def message(method, **fields):
        return json.dumps({"jsonrpc": "2.0", "method": method, **fields}) + "\n"

    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}}
    with subprocess.Popen([*REWARDGEN, "mcp"], cwd=tmp_path, text=True, stdin=PIPE, stdout=PIPE, stderr=PIPE) as server:
        server.stdin.write(message("initialize", id=1, params=hello))
        server.stdin.flush()
        assert "serverInfo" in server.stdout.readline()
        server.stdin.write(message("notifications/initialized"))
        server.stdin.write(message("tools/call", id=2, params={"name": "list_tasks", "arguments": {}}))
        server.stdout.close()
        server.stdin.close()
        # A command that ends while the server does is told of by asyncio, in a warning.
        assert (server.wait(60), "Traceback" in (told := server.stderr.read())) == (0, False), told


def test_a_stopped_job_says_how_to_go_on(tmp_path):
    async def work(agent):
        await agent.begin_a_long_run()
        return await agent.call("stop", job=1)

    assert "resume" in in_a_session(tmp_path, work)


def test_without_the_package_the_command_names_the_one_that_installs_it(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "mcp.server.mcpserver", None)
    monkeypatch.delitem(sys.modules, "rewardgen.extras.mcp.server", raising=False)
    assert main(["mcp"]) == 2
    told = capsys.readouterr().err
    assert "needs the package mcp" in told and "[mcp]" in told


def test_a_missing_working_folder_is_an_error(capsys):
    assert main(["mcp", "--folder", "/no/such/folder"]) == 2
    assert "/no/such/folder" in capsys.readouterr().err
