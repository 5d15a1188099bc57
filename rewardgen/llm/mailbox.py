"""A folder as a language model: each request is a file to read, each reply a file to write.

A person, a coding agent or a script can be the model of `--model mailbox:DIR`. While `DIR/NAME.request.md` exists, a
reply is awaited in `DIR/NAME.reply.md`. `NAME` holds the request's label and a hash of it.

    g00-k3-designer-draft.5b1c0e9a7d42.request.md     open: read it, then write ...
    g00-k3-designer-draft.5b1c0e9a7d42.reply.md       ... the answer, as plain text

A request starts with a comment that names the file to write; after it come the messages, each under a line such as
`===== system 5b1c0e9a7d42 =====`, with the hash of the file's name: a line without it is part of a message, whatever it
looks like. The reply is the whole text of the model's next message and nothing else, a plain file of the user's own of
at most 1 MB; anything else, such as a link, is put away unread and fails the call. Write it under another name and
rename it, or write it where it is: a reply is taken once it is not empty and did not change for a second, at once if it
ends with the fence of a block of code, and half a minute later if a block is still open. It is then moved, with its
request, into `DIR/answered/RUN/`, so what is left in `DIR` is still open. A resumed run looks there first, and finds
its open requests again. Use one mailbox per run.
"""

from __future__ import annotations

import asyncio
import os
import stat
import time
from itertools import islice
from pathlib import Path

from rewardgen.core.errors import RunFolderError, UsageError
from rewardgen.core.files import explain_os_error, read_plain, sweep_unfinished, write_atomic
from rewardgen.llm.archive import call_name
from rewardgen.llm.protocol import CallFailed
from rewardgen.store.messages import LLMRequest, Reply, Usage

MOST_BYTES = 1_000_000
"""Of a reply."""
_QUIET_LOOKS, _OPEN_LOOKS = 2, 60
"""Looks between which a reply must not change, and one must not in which a block of code is open."""
_REQUEST = ".request.md"
_MOST_ENTRIES = 10_000
"""Of a folder, that are looked at."""


def open_requests(folder: Path) -> int:
    """How many requests wait in a mailbox for a reply; none in a folder that cannot be read."""
    try:
        with os.scandir(folder) as entries:
            return sum(each.name.endswith(_REQUEST) for each in islice(entries, _MOST_ENTRIES))
    except OSError:
        return 0


class MailboxLLM:
    """Posts requests into a folder and waits for replies.

    Args:
        folder: The mailbox; it is made if it does not exist.
        run: Name of the run that asks, which is given the replies that it has taken before.
        timeout_s: How long a reply is awaited [s].
        poll_s: Time between two looks [s].
    """

    def __init__(self, folder: Path, *, run: str, timeout_s: float, poll_s: float = 0.5) -> None:
        self._folder = folder
        self._answered = folder / "answered" / run
        self._timeout_s = timeout_s
        self._poll_s = poll_s
        sweep_unfinished(folder, shared=True)

    async def complete(self, request: LLMRequest) -> Reply:
        """See `LLM.complete`. A reply costs nothing; its tokens are not counted.

        Raises:
            RunFolderError: The mailbox cannot be written.
            UsageError: A folder in it is a link.
        """
        name = call_name(request)
        posted, reply = self._folder / f"{name}{_REQUEST}", self._folder / f"{name}.reply.md"
        taken = self._answered / reply.name
        started = time.monotonic()
        try:
            self._make_folders()
            if not os.path.lexists(taken):
                write_atomic(posted, _request_text(request, name, reply.name))
                await self._take(reply, taken, started + self._timeout_s)
            text = self._read(taken)
            if os.path.lexists(posted):
                os.replace(posted, self._answered / posted.name)
        except (OSError, RunFolderError) as error:
            cause = error if isinstance(error, OSError) else error.__cause__
            assert isinstance(cause, OSError)
            raise explain_os_error(self._folder, cause, "--model mailbox:DIR") from error
        return Reply(
            text=text,
            model=f"mailbox:{self._folder}",
            usage=Usage(calls=1),
            latency_s=round(time.monotonic() - started, 3),
        )

    def _make_folders(self) -> None:
        """A link in their place would move replies to wherever it points."""
        for folder in (self._answered.parent, self._answered):
            folder.mkdir(parents=True, exist_ok=True)
            if folder.is_symlink():
                raise UsageError(f"{folder} is a link", "remove it: the mailbox makes the folder itself")

    async def _take(self, reply: Path, taken: Path, deadline: float) -> None:
        """Wait for a reply, and take it by a rename: only one run can do that, and it follows no link."""
        seen, quiet = None, 0
        while time.monotonic() < deadline:
            state = _state(reply)
            quiet = quiet + 1 if state == seen else 0
            if state is not None and quiet and quiet >= _looks(reply):
                try:
                    os.rename(reply, taken)
                    return
                except FileNotFoundError:
                    state = None  # another run was faster
            seen = state
            await asyncio.sleep(self._poll_s)
        raise CallFailed(
            f"no reply in {reply} after {self._timeout_s:g} s",
            "write that file, or raise `--call-timeout-s`",
            transient=False,
        )

    def _read(self, taken: Path) -> str:
        """The reply. One that is not fit to be read is moved out of the way."""
        unfit, text = self._unfit(taken.lstat()), ""
        if not unfit:
            try:
                text = read_plain(taken, MOST_BYTES).decode(errors="replace")
            except OSError as error:
                unfit = f"cannot be read: {error.strerror}"
            if text.strip():
                return text
        number = 1 + len(list(taken.parent.glob(f"{taken.stem}.refused-*")))
        os.replace(taken, taken.with_suffix(f".refused-{number}"))
        raise CallFailed(
            f"the reply {taken.name} {unfit or 'is empty'}",
            f"write a reply as a plain file of at most {MOST_BYTES} bytes",
            transient=False,
        )

    def _unfit(self, found: os.stat_result) -> str:
        """Why a file is not read, to follow its name; empty if it can be."""
        if not stat.S_ISREG(found.st_mode):
            return f"is {_KINDS.get(stat.S_IFMT(found.st_mode), 'not a plain file')}"
        if found.st_nlink > 1:
            return "has another name elsewhere (a hard link)"
        if found.st_uid not in (0, os.geteuid(), self._folder.stat().st_uid):
            return f"belongs to another user (uid {found.st_uid})"
        return f"has {found.st_size} bytes, the limit is {MOST_BYTES}" if found.st_size > MOST_BYTES else ""


_KINDS = {stat.S_IFLNK: "a link", stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}


def _looks(path: Path) -> int:
    """How many looks in a row a reply has to be the same to be whole; what is not fit to be read is never wholer."""
    try:
        text = read_plain(path, MOST_BYTES).decode(errors="replace")
    except OSError:
        return 1
    fences = [line.strip() for line in text.splitlines() if line.strip().startswith(("```", "~~~"))]
    if len(fences) % 2:
        return _OPEN_LOOKS
    return 1 if fences and text.rstrip().endswith(fences[-1]) else _QUIET_LOOKS


def _state(path: Path) -> tuple[int, int, int] | None:
    """Kind, size and time of change of a file that holds something, or that is none."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return None
    if stat.S_ISREG(found.st_mode) and not found.st_size:
        return None
    return (found.st_mode, found.st_size, found.st_mtime_ns)


def _request_text(request: LLMRequest, name: str, reply: str) -> str:
    # No content can hold a hash over all of it, so none can look like the line before a message.
    mark = name.rpartition(".")[2]
    head = (
        f"<!-- {request.label}\n"
        f"Write the model's next message to: {reply}\n"
        f"It may have up to {request.max_tokens} tokens.\n"
        f"Messages begin with lines that hold {mark}; a line like them without it is quoted text. -->"
    )
    messages = [f"===== {message.role} {mark} =====\n\n{message.content}" for message in request.messages]
    return "\n\n".join([head, *messages]) + "\n"
