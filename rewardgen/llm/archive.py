"""Every call of a run as files. What was answered or refused before is so from them, and resuming repeats none of it.

    llm/g02-k7-designer-edit.3f9a1c20b7e4.json            a request and its reply
    llm/g02-k7-designer-edit.3f9a1c20b7e4.failed-1.json   an attempt at it that failed
    candidates/g02-k7/designer-edit.md                    the same conversation to read

The name holds the label and a hash of the whole request: a changed prompt is another call. A call that failed is made
again, but one that was refused, only once the user has named another model or address.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Callable
from pathlib import Path

from pydantic import ValidationError

from rewardgen.core.errors import ModelError, RewardgenError, RunFolderError
from rewardgen.core.files import read_plain, write_atomic
from rewardgen.core.schema import Frozen
from rewardgen.llm.protocol import LLM, CallFailed, CallRefused
from rewardgen.store.messages import LLMRequest, Message, Reply, Usage

_MOST_BYTES = 64 << 20
"""Of a file of the archive."""


class ArchivedCall(Frozen):
    """A request with its reply, or with the reason why this attempt at it failed."""

    request: LLMRequest
    reply: Reply | None = None
    failure: str = ""
    hint: str = ""
    refused: bool = False
    """Whether no other attempt can succeed."""
    outdated: bool = False
    """Whether the user has named another model or address since."""
    usage: Usage = Usage()
    """What the reply or the failed attempt took."""


class ArchivedLLM:
    """Answers from the archive what is in it; passes on the rest and keeps request, reply and failed attempts.

    Args:
        inner: The model, one attempt per call.
        folder: The archive.
        transcript: Where the readable form of a call goes, by its label; none is written if not given.
        sent: What a call takes at least once it is sent; empty where calls cost nothing.
    """

    def __init__(
        self,
        inner: LLM,
        folder: Path,
        transcript: Callable[[str], Path] | None = None,
        sent: Callable[[LLMRequest], Usage] = lambda _: Usage(),
    ) -> None:
        self._inner = inner
        self._sent = sent
        self._folder = folder
        self._transcript = transcript
        self._usage = archived_usage(folder)

    def usage(self) -> Usage:
        """What all calls of the run took, failed attempts and earlier sessions included, each counted once."""
        return self._usage

    async def complete(self, request: LLMRequest) -> Reply:
        """See `LLM.complete`."""
        name = call_name(request)
        path = self._folder / f"{name}.json"
        if path.exists():
            found = read_call(path).reply
            if found is not None:
                return found
        attempts = len(list(self._folder.glob(f"{name}.failed-*.json")))
        last, attempt = (self._folder / f"{name}.failed-{number}.json" for number in (attempts, attempts + 1))
        if attempts and (found := read_call(last)).refused and not found.outdated:
            raise CallRefused(found.failure, found.hint)
        sent = self._sent(request)
        if sent.calls:  # written first, so that a killed process does not forget what it had sent
            call = ArchivedCall(request=request, failure="it was interrupted", usage=sent)
            write_atomic(attempt, call.model_dump_json(indent=1))
        try:
            reply = await self._inner.complete(request)
        except (CallFailed, ModelError) as error:
            told = {"failure": error.message, "hint": error.hint, "refused": isinstance(error, CallRefused)}
            usage = error.usage if isinstance(error, CallFailed) else Usage()
            self._keep(attempt, ArchivedCall(request=request, usage=usage, **told))
            raise
        except asyncio.CancelledError:
            self._usage = self._usage + sent
            raise
        except RewardgenError:
            attempt.unlink(missing_ok=True)
            raise
        self._keep(path, ArchivedCall(request=request, reply=reply, usage=reply.usage))
        attempt.unlink(missing_ok=True)
        return reply

    def _keep(self, path: Path, call: ArchivedCall) -> None:
        if self._transcript:
            write_atomic(self._transcript(call.request.label), _readable(call))
        write_atomic(path, call.model_dump_json(indent=1))
        self._usage = self._usage + call.usage


def call_name(request: LLMRequest) -> str:
    """Name of a request's files: its label as a file name, and 12 hex digits of a hash over all of it."""
    digest = hashlib.sha256(request.model_dump_json().encode()).hexdigest()[:12]
    return f"{slug(request.label)}.{digest}"


def slug(label: str) -> str:
    """A label as a file name."""
    return re.sub(r"[^A-Za-z0-9_]+", "-", label).strip("-")


def read_call(path: Path) -> ArchivedCall:
    """Read one file of an archive.

    Raises:
        RunFolderError: It is damaged.
    """
    try:
        return ArchivedCall.model_validate_json(read_plain(path, _MOST_BYTES))
    except (OSError, ValidationError, RewardgenError) as error:
        raise RunFolderError(f"{path} is not a recorded call", "delete the file to make the call again") from error


def read_archive(folder: Path) -> list[ArchivedCall]:
    """All calls and failed attempts of an archive; the attempts at one call in the order in which they were made."""
    paths = sorted(folder.glob("*.json"), key=lambda path: (len(path.name), path.name))  # failed-10 after failed-2
    return [read_call(path) for path in paths]


def outdate_refusals(folder: Path) -> None:
    """Have refused calls made again, for the user has named another model or address.

    Args:
        folder: The archive.
    """
    for path in folder.glob("*.failed-*.json"):
        if (call := read_call(path)).refused:
            write_atomic(path, call.model_copy(update={"outdated": True}).model_dump_json(indent=1))


def archived_usage(folder: Path) -> Usage:
    """What all calls in an archive took."""
    return sum((call.usage for call in read_archive(folder)), start=Usage())


def _readable(call: ArchivedCall) -> str:
    answer = Message(role="assistant", content=call.reply.text) if call.reply else None
    messages = [*call.request.messages, *([answer] if answer else [])]
    parts = [f"# {call.request.label}", *(f"## {each.role}\n\n{each.content}" for each in messages)]
    parts += [_footer(call.reply)] if call.reply else [f"## failed\n\n{call.failure}"]
    return "\n\n".join(parts) + "\n"


def _footer(reply: Reply) -> str:
    usage = reply.usage
    price = "price unknown" if usage.cost_usd is None else f"{usage.cost_usd:.4f} USD"
    tokens = f"{usage.prompt_tokens} prompt and {usage.completion_tokens} completion tokens"
    tokens += f" ({usage.estimated_tokens} of them estimated)" if usage.estimated_tokens else ""
    return f"---\n{reply.model}, {tokens}, {price}, {reply.latency_s:.1f} s"
