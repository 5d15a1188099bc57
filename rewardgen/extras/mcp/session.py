"""Commands of rewardgen as processes for the tools, and the questions that only the user may answer."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, STDOUT, Process
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from mcp.server.mcpserver.exceptions import ToolError

from rewardgen.cli.consent import ASK_ABOVE_USD, CONSEQUENCES
from rewardgen.cli.failures import INTERRUPTED
from rewardgen.core.errors import NeedsConsent, RewardgenError, UsageError
from rewardgen.core.interpreter import python_command
from rewardgen.sandbox.privileges import end_with_parent

WAIT_S = 45.0
"""Longest wait in a call [s]; many clients give up after a minute."""
START_S = 10.0
"""Wait for the first news of a long job [s]."""
_GRACE_S = 10.0
"""Time that a stopped command has for saving [s]."""
_MOST = 24_000
"""Characters of a command's output in one answer."""


class ConsentQuestion(NamedTuple):
    """A question that only the user may answer, and the command that goes on after a yes."""

    text: str
    words: tuple[str, ...]
    arguments: tuple[str, ...]
    agreed: tuple[str, ...] = ()
    """Sentences that need not be asked about again after a yes. A price is asked about each time."""


@dataclass
class StartedCommand:
    """A started command: its process, in a group of its own, and the file with its output."""

    words: tuple[str, ...]
    arguments: tuple[str, ...]
    process: Process
    log: Path
    told: int = 0
    """Bytes of the output that the client has seen."""

    async def ended(self, seconds: float) -> int | None:
        """Wait for the end, and return the exit code; None if the command still runs then."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self.process.wait(), seconds)
        return self.process.returncode

    def output(self, begin: int = 0) -> str:
        """Return the output from a byte on; the middle of a long text is left out."""
        data = self.log.read_bytes()
        text = data[begin:].decode(errors="replace").strip()
        self.told = len(data)
        if len(text) > _MOST:
            text = f"{text[: _MOST // 2]}\n\n[a part is left out here: see {self.log}]\n\n{text[-_MOST // 2 :]}"
        return text

    def signal(self, signal: signal.Signals) -> None:
        """Send a signal to the command and its workers; after an interrupt, as of Ctrl-C, a run saves its work."""
        if self.process.returncode is None:
            os.killpg(self.process.pid, signal)


class Session:
    """The jobs and the questions of a client, each with its number, from 1."""

    def __init__(self) -> None:
        self.jobs: list[StartedCommand] = []
        self._questions: list[ConsentQuestion] = []
        self._closed: set[int] = set()
        self._agreed: set[str] = set()
        self._scratch = TemporaryDirectory(prefix="rewardgen-mcp-", ignore_cleanup_errors=True)

    def leave(self) -> None:
        """Interrupt all jobs, and delete their output."""
        for job in self.jobs:
            job.signal(signal.SIGINT)
        self._scratch.cleanup()

    async def call(
        self, command: str, *arguments: str, options: Mapping[str, Any] | None = None, seconds: float = WAIT_S
    ) -> str:
        """Run a command with options by name, and return its output, or that of the first seconds."""
        words = (*command.split(), *_words(options or {}))
        strange = tuple(sentence for sentence in _strangers(options or {}) if sentence not in self._agreed)
        if asked := (*_prices(options or {}), *strange):
            return self._asked(ConsentQuestion("\n".join(asked), words, arguments, strange))
        return await self._start(words, arguments, seconds)

    async def news(self, number: int, seconds: float) -> str:
        """Wait for a job, and return what the command printed."""
        job = self._job(number)
        code, text = await job.ended(seconds), job.output(job.told)
        if code is None:
            return f"{text}\n\njob {number} goes on: `watch` it, or `stop` it".strip()
        if code == NeedsConsent.exit_code:
            question = ConsentQuestion(job.output(), (*job.words, "--yes"), job.arguments)
            return self._asked(question) + " A yes also accepts what the command would ask next."
        if code not in (0, 1, INTERRUPTED) or "\nerror: " in f"\n{text}":
            raise ToolError(text)
        return text or f"job {number} has ended"

    async def stop(self, number: int) -> str:
        """Interrupt a job, kill it if it does not end, and return its last words."""
        job = self._job(number)
        job.signal(signal.SIGINT)
        if await job.ended(_GRACE_S) is None:
            job.signal(signal.SIGKILL)
        return job.output(job.told) or f"job {number} has ended"

    def question(self, number: int) -> ConsentQuestion:
        """Return an open question."""
        if not 1 <= number <= len(self._questions) or number in self._closed:
            raise ToolError(f"error: question {number} is not open\n\nhint: call the tool again, which asks again")
        return self._questions[number - 1]

    async def answered(self, number: int, agree: bool) -> str:
        """Close a question, and go on if the user agreed."""
        question = self.question(number)
        self._closed.add(number)
        if not agree:
            raise ToolError("error: the user did not agree\n\nhint: ask the user what to change")
        self._agreed |= {*question.agreed}
        return await self._start(question.words, question.arguments, START_S)

    def _job(self, number: int) -> StartedCommand:
        if not 1 <= number <= len(self.jobs):
            raise UsageError(f"there is no job {number}", "`list_runs` shows the runs, also of earlier sessions")
        return self.jobs[number - 1]

    async def _start(self, words: tuple[str, ...], arguments: tuple[str, ...], seconds: float) -> str:
        """Start a command; none of its arguments is read as an option, and nothing can be typed."""
        log = Path(self._scratch.name, f"job-{len(self.jobs) + 1}.log")
        line = python_command("-m", "rewardgen", *words, "--", *arguments)
        options: dict[str, Any] = {"env": {**os.environ, "COLUMNS": "120", "NO_COLOR": "1"}, "start_new_session": True}
        if sys.platform == "linux":  # also where this server is killed
            options["preexec_fn"] = partial(end_with_parent, signal.SIGINT)
        with log.open("wb") as output:
            process = await asyncio.create_subprocess_exec(
                *line, stdin=DEVNULL, stdout=output, stderr=STDOUT, **options
            )
        self.jobs.append(StartedCommand(words, arguments, process, log))
        return await self.news(len(self.jobs), seconds)

    def _asked(self, question: ConsentQuestion) -> str:
        self._questions.append(question)
        return (
            f"{question.text}\n\nThis needs the user's agreement. Show the user all that is above, then call"
            f" `confirm` with question {len(self._questions)} and the user's answer. Do not add `--yes` yourself."
        )


@contextmanager
def readable() -> Iterator[None]:
    """Turn an error into text for the agent."""
    try:
        yield
    except RewardgenError as error:
        raise ToolError(f"error: {error.message}" + (f"\n\nhint: {error.hint}" if error.hint else "")) from error


def _words(options: Mapping[str, Any]) -> Iterable[str]:
    """Yield options as words of the command line, one for each value of a list; None is left out."""
    for name, value in options.items():
        for item in value if isinstance(value, list) else () if value is None else (value,):
            yield f"--{name.replace('_', '-')}={item}"


def _prices(options: Mapping[str, Any]) -> Iterator[str]:
    """Yield the limit on the price of a command, which the command line accepts because a person typed it."""
    if (cost := options.get("max_cost") or 0.0) > ASK_ABOVE_USD:
        yield f"up to {cost:.2f} USD may be spent on calls of a language model"


def _strangers(options: Mapping[str, Any]) -> Iterator[str]:
    """Yield the addresses and commands among options, which the command line accepts because a person typed them."""
    for name in ("model", "critic_model", "judge", "api_base", "cluster"):
        if (value := str(options.get(name) or "")) and (name in ("api_base", "cluster") or "agent:" in value):
            yield f"{name.replace('_', ' ')} {value}: {CONSEQUENCES[name]}"
