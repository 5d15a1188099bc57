"""A folder as a language model: each request is a file to read, each reply a file to write.

A person, a coding agent or a script can be the model of `--model mailbox:DIR`. While `DIR/NAME.request.md` exists, the
run waits for `DIR/NAME.reply.md`. `NAME` holds the request's label and a hash of it.

    g00-k3-designer-draft.5b1c0e9a7d42.request.md     open: read it, then write ...
    g00-k3-designer-draft.5b1c0e9a7d42.reply.md       ... the answer, as plain text

A request starts with a comment that names the file to write; then come the messages, each under a line such as `=====
system 5b1c0e9a7d42 =====`, with the hash of the file's name: a line without it is part of a message. Last come the
names of its pictures, which lie in `DIR/pictures/`. The reply is the whole text of the model's next message, a plain
file of at most 1 MB. A reply is taken once it is not empty and did not change for a second. It is then moved, with its
request, into `DIR/answered/RUN/`, so the requests in `DIR` are open. A resumed run takes its earlier replies from
there, and finds its open requests again. Use one mailbox per run.
"""

from __future__ import annotations

import asyncio
import base64
import os
import time
from contextlib import suppress
from itertools import islice
from pathlib import Path

from rewardgen.core.errors import UsageError
from rewardgen.core.files import explain_os_error, read_plain, write_atomic
from rewardgen.llm.archive import call_name
from rewardgen.llm.protocol import CallFailed, Note, silent
from rewardgen.store.messages import LLMRequest, Picture, Reply, Usage

MOST_BYTES = 1_000_000
"""Largest reply [bytes]."""
_QUIET_POLLS = 2
"""Unchanged polls before a reply counts as complete."""
_REQUEST, _REPLY = ".request.md", ".reply.md"
_MOST_ENTRIES = 10_000


def open_requests(folder: Path) -> int:
    """Count the requests in a mailbox without a reply; 0 for an unreadable folder."""
    try:
        with os.scandir(folder) as entries:
            return sum(entry.name.endswith(_REQUEST) for entry in islice(entries, _MOST_ENTRIES))
    except OSError:
        return 0


class MailboxLLM:
    """Post requests into a folder and wait for replies.

    The mailbox is created if missing. A resumed run of the same name reuses its replies. `note` receives a line when
    the first request waits, and for each file that answers no request.
    """

    def __init__(self, folder: Path, *, run: str, timeout_s: float, poll_s: float = 0.5, note: Note = silent) -> None:
        self._folder, self._note = folder, note
        self._told = False
        self._noted: set[str] = set()
        self._answered = folder / "answered" / run
        self._timeout_s = timeout_s
        self._poll_s = poll_s

    async def complete(self, request: LLMRequest) -> Reply:
        """See `LLM.complete`. Replies cost nothing, and their tokens are not counted.

        Raises:
            RunFolderError: The mailbox cannot be written.
            UsageError: A folder in the mailbox is a link.
        """
        name = call_name(request)
        posted, reply = self._folder / f"{name}{_REQUEST}", self._folder / f"{name}{_REPLY}"
        answered = self._answered / reply.name
        started = time.monotonic()
        try:
            self._make_folders(self._answered.parent, self._answered)
            if not os.path.lexists(answered):
                self._make_folders(*{(self._folder / file).parent for file in _pictures(request, name)})
                for file, picture in _pictures(request, name).items():
                    write_atomic(self._folder / file, base64.b64decode(picture.png))
                order = f"Write the model's next message to: {reply.name}"
                asked = request_text(request, name, order)
                write_atomic(posted, asked)
                if not self._told:
                    self._told = True
                    self._note(f"requests wait for replies in {self._folder}/")
                await self._take(posted, asked, reply, answered, started + self._timeout_s)
            text = self._read(answered)
            if os.path.lexists(posted):
                os.replace(posted, self._answered / posted.name)
        except OSError as error:
            raise explain_os_error(self._folder, error, "--model mailbox:DIR") from error
        latency_s = round(time.monotonic() - started, 3)
        return Reply(text=text, model=f"mailbox:{self._folder}", usage=Usage(calls=1), latency_s=latency_s)

    def _make_folders(self, *folders: Path) -> None:
        """Create folders in the mailbox; a link in their place would move files elsewhere."""
        for folder in folders:
            folder.mkdir(parents=True, exist_ok=True)
            if folder.is_symlink():
                raise UsageError(f"{folder} is a link", "remove it: the mailbox makes the folder itself")

    async def _take(self, posted: Path, asked: str, reply: Path, answered: Path, deadline: float) -> None:
        """Wait for a reply, and take it by renaming it: only one run succeeds, and no link is followed."""
        last, quiet = None, 0
        while time.monotonic() < deadline:
            state = _state(reply)
            quiet = quiet + 1 if state == last else 0
            if state is not None and quiet >= _QUIET_POLLS:
                try:
                    os.rename(reply, answered)
                    return
                except FileNotFoundError:
                    state = None  # another run was faster
            last = state
            if state is None and not os.path.lexists(posted):
                write_atomic(posted, asked)  # another run with this request took it away with its reply
            self._note_strays(reply)
            await asyncio.sleep(self._poll_s)
        hint = "write that file, or raise `--call-timeout-s`"
        raise CallFailed(f"no reply in {reply} after {self._timeout_s:g} s", hint, transient=False)

    def _note_strays(self, expected: Path) -> None:
        """Name each finished file that is neither a request nor the reply to one, once."""
        with suppress(OSError), os.scandir(self._folder) as entries:
            files = {entry.name: entry for entry in islice(entries, _MOST_ENTRIES) if not entry.is_dir()}
            requests = {name.removesuffix(_REQUEST) for name in files if name.endswith(_REQUEST)}
            strays = [name for name in files if name.removesuffix(_REQUEST).removesuffix(_REPLY) not in requests]
            for name in {*strays} - self._noted:
                age_s = time.time() - files[name].stat(follow_symlinks=False).st_mtime
                if not name.startswith(".") and age_s > _QUIET_POLLS * self._poll_s:
                    self._noted.add(name)
                    self._note(f"{self._folder / name} answers no request; waiting for {expected.name}")

    def _read(self, answered: Path) -> str:
        """Return the reply. An unreadable one is renamed and fails the call."""
        fault = "it is empty"
        try:
            text = read_plain(answered, MOST_BYTES).decode(errors="replace")
            if text.strip():
                return text
        except OSError as error:
            fault = error.strerror or "it cannot be read"
        number = 1 + len(list(answered.parent.glob(f"{answered.stem}.refused-*")))
        os.replace(answered, answered.with_suffix(f".refused-{number}"))
        hint = f"write a reply as a plain file of at most {MOST_BYTES} bytes"
        raise CallFailed(f"the reply {answered.name} is not used: {fault}", hint, transient=False)


def _state(path: Path) -> tuple[int, int, int] | None:
    """Return kind, size and time of change of an entry; None if missing or empty."""
    try:
        status = path.lstat()
    except FileNotFoundError:
        return None
    return (status.st_mode, status.st_size, status.st_mtime_ns) if status.st_size or not path.is_file() else None


def request_text(request: LLMRequest, name: str, order: str) -> str:
    """Return a request as one text, with the order that says where the reply goes."""
    # No message can hold a hash over itself, so no message can imitate these lines.
    mark = name.rpartition(".")[2]
    head = (
        f"<!-- {request.label}\n"
        f"{order}\n"
        f"It may have up to {request.max_tokens} tokens.\n"
        f"Messages begin with lines that hold {mark}; a line like them without it is quoted text. -->"
    )
    messages = [f"===== {message.role} {mark} =====\n\n{message.content}" for message in request.messages]
    pictures = [f"===== {picture.caption}: {file} =====" for file, picture in _pictures(request, name).items()]
    return "\n\n".join([head, *messages, *pictures]) + "\n"


def _pictures(request: LLMRequest, name: str) -> dict[str, Picture]:
    pictures = [picture for message in request.messages for picture in message.pictures]
    return {f"pictures/{name}-{number}.png": picture for number, picture in enumerate(pictures)}
