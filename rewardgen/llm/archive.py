"""Keep every call of a run as a file, so that a resumed run repeats no answered or refused call.

    llm/g02-k7-designer-edit.3f9a1c20b7e4.json            a request and its reply
    llm/g02-k7-designer-edit.3f9a1c20b7e4.failed-1.json   an attempt at it that failed
    candidates/g02-k7/designer-edit.md                    the same conversation to read

A name holds the label and a hash of the fields that are set: a changed prompt names another call, a new field at its
default does not. A failed call is repeated; a refused call only after the user named another model or address.
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
from rewardgen.core.schema import Frozen, Text
from rewardgen.llm.protocol import LLM, CallFailed, CallRefused
from rewardgen.store.messages import LLMRequest, Message, Reply, Usage

_MOST_BYTES = 64 << 20
"""Largest file of the archive [bytes]."""
_ALWAYS_NAMED = ("label", "messages", "temperature", "max_tokens")
"""Fields that count in a name even at their defaults."""


class ArchivedCall(Frozen):
    """A request with its reply, or with the failure of one attempt."""

    request: LLMRequest
    reply: Reply | None = None
    failure: str = ""
    hint: str = ""
    refused: bool = False
    """True if no further attempt can succeed."""
    outdated: bool = False
    """True if the user has named another model or address since."""
    usage: Usage = Usage()
    """Usage of the reply or the failed attempt."""
    model: Text = ""
    """The asked model, as the configuration names it; empty in older archives."""


class ArchivedLLM:
    """Answer recorded calls from the archive; pass on all others, and record replies and failures.

    Args:
        inner: The model, one attempt per call.
        folder: The archive.
        transcript: Function from a label to the path of the readable conversation; None to write none.
        sent: Lower bound of a call's usage once it is sent; empty where calls cost nothing.
        asked: Name of the model that a request goes to.
    """

    def __init__(
        self,
        inner: LLM,
        folder: Path,
        transcript: Callable[[str], Path] | None = None,
        sent: Callable[[LLMRequest], Usage] = lambda _: Usage(),
        asked: Callable[[LLMRequest], str] = lambda _: "",
    ) -> None:
        self._inner = inner
        self._sent, self._asked = sent, asked
        self._folder = folder
        self._transcript = transcript
        self._usage = archived_usage(folder)

    def usage(self) -> Usage:
        """Return the usage of all calls of the run, with failed attempts and earlier sessions."""
        return self._usage

    async def complete(self, request: LLMRequest) -> Reply:
        """See `LLM.complete`."""
        name = call_name(request)
        path = self._folder / f"{name}.json"
        if path.exists() and (reply := read_call(path).reply):
            return reply
        attempts = len(list(self._folder.glob(f"{name}.failed-*.json")))
        last, attempt = (self._folder / f"{name}.failed-{number}.json" for number in (attempts, attempts + 1))
        if attempts and (failed := read_call(last)).refused and not failed.outdated:
            raise CallRefused(failed.failure, failed.hint)
        sent = self._sent(request)
        if sent.calls:  # written first, so that a killed process does not forget what it had sent
            self._write(attempt, ArchivedCall(request=request, failure="it was interrupted", usage=sent))
        try:
            reply = await self._inner.complete(request)
        except (CallFailed, ModelError) as error:
            usage, refused = error.usage if isinstance(error, CallFailed) else Usage(), isinstance(error, CallRefused)
            call = ArchivedCall(request=request, usage=usage, failure=error.message, hint=error.hint, refused=refused)
            self._keep(attempt, call)
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
        self._write(path, call)
        self._usage = self._usage + call.usage

    def _write(self, path: Path, call: ArchivedCall) -> None:
        asked = call.model_copy(update={"model": self._asked(call.request)})
        write_atomic(path, asked.model_dump_json(indent=1))


def call_name(request: LLMRequest) -> str:
    """Return the stem of a request's files: label, and 12 hex digits of a hash over the fields that are set.

    The form of a reply does not count, as the messages describe it.
    """
    later = {name: field.default for name, field in type(request).model_fields.items() if name not in _ALWAYS_NAMED}
    unset = {name for name, default in later.items() if name == "form" or getattr(request, name) == default}
    digest = hashlib.sha256(request.model_dump_json(exclude=unset).encode()).hexdigest()[:12]
    return f"{slug(request.label)}.{digest}"


def slug(label: str) -> str:
    """Return a label as a file name."""
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
    """Read all calls and failed attempts of an archive; the attempts of one call in order."""
    paths = sorted(folder.glob("*.json"), key=lambda path: (len(path.name), path.name))  # failed-10 after failed-2
    return [read_call(path) for path in paths]


def outdate_refusals(folder: Path) -> None:
    """Let refused calls be made again, after the user named another model or address."""
    for path in folder.glob("*.failed-*.json"):
        if (call := read_call(path)).refused:
            write_atomic(path, call.model_copy(update={"outdated": True}).model_dump_json(indent=1))


def archived_usage(folder: Path) -> Usage:
    """Sum the usage of all calls in an archive."""
    return sum((call.usage for call in read_archive(folder)), start=Usage())


def _readable(call: ArchivedCall) -> str:
    answer = Message(role="assistant", content=call.reply.text) if call.reply else None
    parts = [f"# {call.request.label}"]
    for message in (*call.request.messages, *([answer] if answer else [])):
        parts += [f"## {message.role}\n\n{message.content}"]
        parts += [f"[picture: {picture.caption}]" for picture in message.pictures]
    parts += [_footer(call.reply)] if call.reply else [f"## failed\n\n{call.failure}"]
    return "\n\n".join(parts) + "\n"


def _footer(reply: Reply) -> str:
    usage = reply.usage
    price = "price unknown" if usage.cost_usd is None else f"{usage.cost_usd:.4f} USD"
    tokens = f"{usage.prompt_tokens} prompt and {usage.completion_tokens} completion tokens"
    tokens += f" ({usage.cached_tokens} of them cached)" if usage.cached_tokens else ""
    tokens += f" ({usage.estimated_tokens} of them estimated)" if usage.estimated_tokens else ""
    return f"---\n{reply.model}, {tokens}, {price}, {reply.latency_s:.1f} s"
