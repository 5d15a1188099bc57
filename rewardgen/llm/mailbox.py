"""A folder as a language model: each request is a file to read, each reply a file to write.

A person, a coding agent or a script can be the model of `--model mailbox:DIR`. While `DIR/NAME.request.md` exists, a
reply is awaited in `DIR/NAME.reply.md`. `NAME` holds the request's label and a hash of it.

    g00-k3-designer-draft.5b1c0e9a7d42.request.md     open: read it, then write ...
    g00-k3-designer-draft.5b1c0e9a7d42.reply.md       ... the answer, as plain text

A request starts with a comment that names the file to write; after it come the messages, each under a line
`===== system =====`, `===== user =====` or `===== assistant =====`. The reply is the whole text of the model's next
message and nothing else. Write it under another name and rename it, or write it in one go: a reply is taken once it is
not empty and did not change between two looks. It is then moved, with its request, into `DIR/answered/`, so what is
left in `DIR` is still open. Requests of a run that was stopped stay, and are found again when it is resumed. Use one
mailbox per run.
"""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

from rewardgen.core.files import explain_os_error, write_atomic
from rewardgen.llm.archive import call_name
from rewardgen.llm.protocol import CallFailed
from rewardgen.store.messages import LLMRequest, Reply, Usage


class MailboxLLM:
    """Posts requests into a folder and waits for replies.

    Args:
        folder: The mailbox; it is made if it does not exist.
        timeout_s: How long a reply is awaited [s].
        poll_s: Time between two looks [s].
    """

    def __init__(self, folder: Path, *, timeout_s: float, poll_s: float = 0.5) -> None:
        self._folder = folder
        self._timeout_s = timeout_s
        self._poll_s = poll_s

    async def complete(self, request: LLMRequest) -> Reply:
        """See `LLM.complete`. A reply costs nothing; its tokens are not counted."""
        name = call_name(request)
        posted = self._folder / f"{name}.request.md"
        reply = self._folder / f"{name}.reply.md"
        if not posted.exists():
            write_atomic(posted, _request_text(request, reply.name))
        started = time.monotonic()
        text = await self._await_reply(reply, started + self._timeout_s)
        if posted.exists():
            os.replace(posted, self._folder / "answered" / posted.name)
        return Reply(
            text=text,
            model=f"mailbox:{self._folder}",
            usage=Usage(calls=1),
            latency_s=round(time.monotonic() - started, 3),
        )

    async def _await_reply(self, path: Path, deadline: float) -> str:
        seen = None
        while time.monotonic() < deadline:
            state = _state(path)
            if state is not None and state == seen:
                text = self._claim(path)
                if text is not None:
                    return text
            seen = state
            await asyncio.sleep(self._poll_s)
        raise CallFailed(
            f"no reply in {path} after {self._timeout_s:g} s",
            "write that file, or raise `--call-timeout`",
            transient=False,
        )

    def _claim(self, path: Path) -> str | None:
        """The reply, taken by a rename, which only one reader can do; None if another was faster."""
        taken = self._folder / "answered" / path.name
        taken.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.rename(path, taken)
            return taken.read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return None
        except OSError as error:
            raise explain_os_error(taken, error) from error


def _state(path: Path) -> tuple[int, int] | None:
    """Size and time of change of a file that holds something."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return (found.st_size, found.st_mtime_ns) if found.st_size else None


def _request_text(request: LLMRequest, reply: str) -> str:
    head = (
        f"<!-- {request.label}\n"
        f"Write the model's next message to: {reply}\n"
        f"It may have up to {request.max_tokens} tokens. -->"
    )
    messages = [f"===== {message.role} =====\n\n{message.content}" for message in request.messages]
    return "\n\n".join([head, *messages]) + "\n"
