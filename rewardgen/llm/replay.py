"""Answers from the archive of a recorded run, and from nothing else.

Trainings on another processor may end in other digits, and these are in later requests. So a request that was not
recorded word for word is given the reply that was recorded for the same part of the same candidate; the transcript of
the call says so, and `differing` counts them. A verdict on episodes stands for these episodes alone.
"""

from __future__ import annotations

import re
from pathlib import Path

from rewardgen.core.errors import RunFolderError, did_you_mean
from rewardgen.llm.archive import ArchivedCall, read_archive
from rewardgen.llm.protocol import CallFailed, CallRefused
from rewardgen.store.messages import VERDICT, LLMRequest, Reply, Usage

_OTHERWISE = ", recorded for a request that differs: "
_DESIGN = re.compile("(.*)/designer/(?!repair)")
"""Of designs. A repair answers what was said of one draft: it stands for no other reply, nor any other for it."""


class ReplayLLM:
    """Gives each request its recorded answer, at no cost. A call that failed when recorded fails again.

    Args:
        folder: The archive of the recorded run.

    Raises:
        RunFolderError: It holds no recorded calls, or none that was answered.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._calls = read_archive(folder)
        if not self._calls:
            raise RunFolderError(
                f"there are no recorded calls in {folder}",
                "name a run that used a language model: `rewardgen runs list`",
            )
        if not any(call.reply for call in self._calls):
            raise RunFolderError(
                f"no call in {folder} was answered, so there is nothing to replay: {self._calls[-1].failure}",
                f"name another run, or have its calls made again with `rewardgen resume {folder.parent.name}`",
            )

    async def complete(self, request: LLMRequest) -> Reply:
        """See `LLM.complete`.

        Raises:
            CallFailed: It failed when it was recorded.
            CallRefused: It was refused when it was recorded, or nothing was recorded for what asks.
        """
        found = [call for call in self._calls if call.request == request]
        reply = next((call.reply for call in found if call.reply), None)
        if reply is not None:
            return reply.model_copy(update={"usage": Usage(), "latency_s": 0.0})
        if found:
            # The very words of the recorded run: they are in later prompts, which have to be the recorded ones.
            if found[-1].refused:
                raise CallRefused(found[-1].failure, "it was refused when it was recorded")
            hint = f"it failed when it was recorded: `rewardgen resume {self._folder.parent.name}` makes it again"
            raise CallFailed(found[-1].failure, hint, transient=False)
        if request.label == VERDICT:
            raise CallRefused("the recorded verdict is of other episodes", "ask a language model")
        return self._nearest(request)

    def _nearest(self, request: LLMRequest) -> Reply:
        """The reply to the same label, else the same candidate's design by another operator."""
        answered = [call for call in self._calls if call.reply]
        fitting = [call for call in answered if call.request.label == request.label]
        if not fitting and (drawn := _DESIGN.match(request.label)):
            alike = (_DESIGN.match(call.request.label) for call in answered)
            fitting = [call for call, one in zip(answered, alike, strict=True) if one and one[1] == drawn[1]]
        if not fitting or not (reply := fitting[-1].reply):
            labels = {call.request.label for call in self._calls}
            raise CallRefused(
                f"the request `{request.label}` was not recorded in {self._folder}", did_you_mean(request.label, labels)
            )
        told = f"{reply.model}{_OTHERWISE}{_first_difference(fitting[-1], request)}"
        return reply.model_copy(update={"usage": Usage(), "latency_s": 0.0, "model": told})


def differing(folder: Path) -> int:
    """How many replies in a run's archive come from a replay in which the request was another.

    Raises:
        RunFolderError: The archive is damaged.
    """
    return sum(_OTHERWISE in call.reply.model for call in read_archive(folder) if call.reply)


def _first_difference(call: ArchivedCall, request: LLMRequest) -> str:
    """Where a request first leaves the recorded one, with both lines."""
    old, new = call.request, request
    if old.label != new.label:
        return f"it was `{old.label}`, is `{new.label}`"
    for name in ("temperature", "max_tokens"):
        if getattr(old, name) != getattr(new, name):
            return f"{name} was {getattr(old, name)}, is {getattr(new, name)}"
    for number, (before, now) in enumerate(zip(old.messages, new.messages, strict=False), start=1):
        if before.role != now.role:
            return f"message {number} was from {before.role}, is from {now.role}"
        if before.content != now.content:
            return f"message {number} ({now.role}), {_first_line_that_differs(before.content, now.content)}"
    return f"it had {len(old.messages)} messages, now has {len(new.messages)}"


def _first_line_that_differs(before: str, now: str) -> str:
    old, new = before.splitlines(), now.splitlines()
    same = next(
        (i for i, pair in enumerate(zip(old, new, strict=False)) if pair[0] != pair[1]), min(len(old), len(new))
    )
    was, is_now = (lines[same][:120] if same < len(lines) else "" for lines in (old, new))
    return f"line {same + 1}: was `{was}`, is `{is_now}`"
