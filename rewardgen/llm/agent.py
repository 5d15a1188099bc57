"""A coding agent as a language model: one process per request, with the request on its stdin.

`agent:claude` and `agent:codex` run these agents without a terminal, by the user's own login; `agent:COMMAND` runs any
command. A process starts in an empty folder, without the user's API keys. Its reply is what it prints. Where the output
is the JSON of `claude -p --output-format json` or of `codex exec --json`, usage is read from it too.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import IO, Any

from pydantic import BaseModel, NonNegativeFloat, NonNegativeInt, ValidationError

from rewardgen.core.asynchrony import Slots
from rewardgen.core.errors import CredentialsError, ModelError, UsageError
from rewardgen.core.text import one_line, visible
from rewardgen.llm.archive import call_name
from rewardgen.llm.budget import estimated_usage, tokens_in
from rewardgen.llm.mailbox import MOST_BYTES, request_text
from rewardgen.llm.protocol import CallFailed
from rewardgen.store.messages import LLMRequest, Reply, Usage

_KNOWN = {
    "claude": (
        ("-p", "--output-format", "json", "--tools", "", "--strict-mcp-config", "--no-session-persistence"),
        "--effort={}",
    ),
    "codex": (
        ("exec", "--json", "--skip-git-repo-check", "--sandbox", "read-only", "--ephemeral"),
        "--config=model_reasoning_effort={}",
    ),
}
"""Arguments of agents without a terminal, and their option for the reasoning effort."""
_HEAD = "Print the model's next message and nothing else. Use no tools, and ask nothing back."
_ENVIRONMENT = re.compile(
    "PATH|HOME|USER|LOGNAME|SHELL|LANG|LC_.*|TZ|TERM|TMPDIR|XDG_.*|CLAUDE_CONFIG_DIR|CODEX_HOME|SSL_CERT_(FILE|DIR)|"
    "NODE_EXTRA_CA_CERTS|(HTTPS?|ALL|NO)_PROXY",
    re.IGNORECASE,
)
"""Variables that an agent gets: none that holds a key."""
_NO_LOGIN = re.compile(r"/login|log ?in\b|logged|sign in|api key|unauthori[sz]ed|\b401\b", re.IGNORECASE)
_MOST_OUTPUT = 16 * MOST_BYTES
"""Longest output, which may tell of each of an agent's steps [bytes]."""
_POLL_S = 0.05
_TAIL = 2000
"""End of an agent's stderr that is kept [bytes]."""


class AgentLLM:
    """Start a command for each request: a known agent or a program, with further arguments, as on a command line.

    Raises:
        ModelError: The program is not installed.
        UsageError: The words are no command line.
    """

    def __init__(self, words: str, *, timeout_s: float, concurrency: int) -> None:
        program, *more = _split(lasting_command(words))
        if shutil.which(program) is None:
            raise ModelError(f"there is no program `{program}`", "install the agent, or give its path after `agent:`")
        known, self._effort = _KNOWN.get(program, ((), ""))
        self._name, self._command = f"agent:{words}", [program, *known, *more]
        self._timeout_s = timeout_s
        self._slots = Slots(concurrency)

    def check_effort(self, level: str) -> None:
        """Raise a `UsageError` if no option of the agent for the reasoning effort is known."""
        if not self._effort:
            message = f"`{self._name}` has no known option for the reasoning effort `{level}`"
            raise UsageError(message, "write the agent's own option into its command, and leave out `--effort`")

    def estimate(self, request: LLMRequest) -> Usage:
        """Return an upper bound of a call's tokens; the price is unknown."""
        return estimated_usage(request, request.max_tokens)

    def sent(self, request: LLMRequest) -> Usage:
        """Return the tokens of a call without an answer."""
        return estimated_usage(request, 0)

    async def complete(self, request: LLMRequest) -> Reply:
        """See `LLM.complete`."""
        async with self._slots.slot():
            started = time.monotonic()
            status, output, errors = await self._run(request)
        text, usage, failure = _read(output, self.sent(request))
        if status or failure or not text.strip():
            ended = f"killed by signal {-status}" if status < 0 else f"exit code {status}"
            reason = failure or one_line(visible(errors.strip() or text.strip()), 300) or "it printed nothing"
            message = f"{self._name} did not answer ({ended}): {reason}"
            if _NO_LOGIN.search(reason):
                raise CredentialsError(message, "log in with the agent's own command; it gets no API keys of yours")
            raise CallFailed(message, f"try it: `echo hello | {shlex.join(self._command)}`", usage=usage)
        return Reply(text=text, model=self._name, usage=usage, latency_s=round(time.monotonic() - started, 3))

    async def _run(self, request: LLMRequest) -> tuple[int, str, str]:
        """Run the command, kill what it leaves running, and return exit status, output and the end of the errors."""
        effort = [self._effort.format(request.effort)] if request.effort else []
        environment = {name: value for name, value in os.environ.items() if _ENVIRONMENT.fullmatch(name)}
        with (
            tempfile.TemporaryDirectory(prefix="rewardgen-agent-", ignore_cleanup_errors=True) as cwd,
            tempfile.TemporaryFile() as asked,
            tempfile.TemporaryFile() as output,
            tempfile.TemporaryFile() as errors,
        ):
            asked.write(request_text(request, call_name(request), _HEAD).encode(errors="replace"))
            asked.seek(0)
            streams: Any = {"stdin": asked, "stdout": output, "stderr": errors}
            place: Any = {"cwd": cwd, "env": environment, "start_new_session": True}
            try:
                process = subprocess.Popen([*self._command, *effort], **streams, **place)
            except OSError as error:
                raise ModelError(f"`{self._name}` cannot be started: {error.strerror}", "name a program") from error
            deadline = time.monotonic() + self._timeout_s
            try:
                while process.poll() is None:
                    printed = sum(os.fstat(stream.fileno()).st_size for stream in (output, errors))
                    if time.monotonic() > deadline or printed > _MOST_OUTPUT:
                        fault = f"did not answer within {self._timeout_s:g} s and {_MOST_OUTPUT // 1_000_000} MB"
                        hint = "raise `--call-timeout-s`, or see that the agent prints its reply alone"
                        usage = self.sent(request)
                        raise CallFailed(f"{self._name} {fault}", hint, usage=usage, transient=False)
                    await asyncio.sleep(_POLL_S)
            finally:
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            return process.returncode, _text(output, _MOST_OUTPUT), _text(errors, _TAIL)


def lasting_command(words: str) -> str:
    """Return a command whose words that name files are absolute: an agent starts in another folder."""
    first, *others = _split(words)
    # Links stay: the interpreter of a virtual environment is one.
    program = os.path.abspath(os.path.expanduser(first)) if "/" in first else first
    return shlex.join([program, *(os.path.abspath(word) if os.path.isfile(word) else word for word in others)])


def _split(words: str) -> list[str]:
    try:
        return shlex.split(words) or [""]
    except ValueError as error:
        raise UsageError(f"`agent:{words}` is no command line: {error}", "close its quotes") from error


def _text(stream: IO[bytes], most: int) -> str:
    stream.seek(max(0, os.fstat(stream.fileno()).st_size - most))
    return stream.read(most).decode(errors="replace")


class _Counts(BaseModel):
    """Tokens, as agents tell them: Claude Code counts cached ones beside the others of its input, Codex among them."""

    input_tokens: NonNegativeInt = 0
    cache_read_input_tokens: NonNegativeInt = 0
    cache_creation_input_tokens: NonNegativeInt = 0
    cached_input_tokens: NonNegativeInt = 0
    output_tokens: NonNegativeInt = 0


class _Event(BaseModel):
    """A line of an agent's JSON: the `result` of Claude Code, or an event of Codex."""

    type: str
    result: str = ""
    is_error: bool = False
    total_cost_usd: NonNegativeFloat | None = None
    usage: _Counts = _Counts()
    item: dict[str, Any] = {}
    error: dict[str, Any] | None = None


def _read(text: str, sent: Usage) -> tuple[str, Usage, str]:
    """Return reply, usage and failure in an agent's output: the JSON of a known agent, or a text.

    Usage that the output does not tell is estimated, with the tokens `sent`.
    """
    events = list(_events(text))
    ends = [event for event in events if event.type.startswith(("result", "turn."))]
    if not ends:
        written = tokens_in(text)
        return text, sent + Usage(completion_tokens=written, estimated_tokens=written), ""
    last, counts = ends[-1], ends[-1].usage
    messages = [event.item.get("text", "") for event in events if event.item.get("type") == "agent_message"]
    reply = last.result or str(messages[-1] if messages else "")
    usage = Usage(
        prompt_tokens=counts.input_tokens + counts.cache_read_input_tokens + counts.cache_creation_input_tokens,
        completion_tokens=counts.output_tokens,
        cached_tokens=counts.cache_read_input_tokens + counts.cached_input_tokens,
        cost_usd=last.total_cost_usd,
        calls=1,
    )
    return reply, usage, (reply or "no reason given") if last.is_error else str((last.error or {}).get("message", ""))


def _events(text: str) -> Iterator[_Event]:
    """Yield the events in an agent's output: one JSON a line, or a list of them all; other lines do not count."""
    for line in text.splitlines():
        with suppress(ValueError, RecursionError):
            read = json.loads(line)
            for entry in read if isinstance(read, list) else [read]:
                with suppress(ValidationError):
                    yield _Event.model_validate(entry)
