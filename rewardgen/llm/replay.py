"""Answers from the archive of a recorded run alone.

Training on another processor may end in other digits, which are in later requests. So a request that was not recorded
word for word gets the reply to the same part of the same candidate; the transcript of the call says so, and `differing`
counts them. A verdict on episodes stands for these episodes alone.
"""

from __future__ import annotations

import re
from itertools import zip_longest
from pathlib import Path

from rewardgen.core.errors import RunFolderError, did_you_mean
from rewardgen.llm.archive import ArchivedCall, read_archive
from rewardgen.llm.protocol import CallFailed, CallRefused
from rewardgen.store.messages import VERDICT, LLMRequest, Reply, Usage

_OTHERWISE = ", recorded for a request that differs: "
_DESIGN = re.compile("(.*)/designer/(?!repair)")
"""Labels of designs. A repair answers the findings on one draft, so it stands for no other reply."""


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
            CallRefused: It was refused when it was recorded, or nothing was recorded for its label.
        """
        same = [call for call in self._calls if call.request == request]
        reply = next((call.reply for call in same if call.reply), None)
        if reply is not None:
            return reply.model_copy(update={"usage": Usage(), "latency_s": 0.0})
        if same:
            # The very words of the recorded run: they are in later prompts, which have to be the recorded ones.
            if same[-1].refused:
                raise CallRefused(same[-1].failure, "it was refused when it was recorded")
            hint = f"it failed when it was recorded: `rewardgen resume {self._folder.parent.name}` makes it again"
            raise CallFailed(same[-1].failure, hint, transient=False)
        if request.label == VERDICT:
            raise CallRefused("the recorded verdict is of other episodes", "ask a language model")
        return self._nearest(request)

    def _nearest(self, request: LLMRequest) -> Reply:
        """The reply to the same label, else the same candidate's design by another operator."""
        answered = [call for call in self._calls if call.reply]
        fitting = [call for call in answered if call.request.label == request.label]
        if not fitting and (design := _DESIGN.match(request.label)):
            labels = [_DESIGN.match(call.request.label) for call in answered]
            fitting = [call for call, label in zip(answered, labels, strict=True) if label and label[1] == design[1]]
        if not fitting or not (reply := fitting[-1].reply):
            labels = {call.request.label for call in self._calls}
            raise CallRefused(
                f"the request `{request.label}` was not recorded in {self._folder}", did_you_mean(request.label, labels)
            )
        model = f"{reply.model}{_OTHERWISE}{_first_difference(fitting[-1], request)}"
        return reply.model_copy(update={"usage": Usage(), "latency_s": 0.0, "model": model})


def differing(folder: Path) -> int:
    """Number of replies in a run's archive that a replay took from a request that differs.

    Raises:
        RunFolderError: The archive is damaged.
    """
    return sum(_OTHERWISE in call.reply.model for call in read_archive(folder) if call.reply)


def _first_difference(call: ArchivedCall, request: LLMRequest) -> str:
    """The first part of a request that differs from the recorded one."""
    old, new = call.request, request
    for name in ("label", "temperature", "max_tokens"):
        if getattr(old, name) != getattr(new, name):
            return f"{name} was `{getattr(old, name)}`, is `{getattr(new, name)}`"
    for number, (before, now) in enumerate(zip(old.messages, new.messages, strict=False), start=1):
        lines = zip_longest(before.content.splitlines(), now.content.splitlines(), fillvalue="")
        for line, (was, is_now) in enumerate(lines, start=1):
            if was != is_now:
                return f"message {number} ({now.role}), line {line}: was `{was[:120]}`, is `{is_now[:120]}`"
    return f"it had {len(old.messages)} messages, now has {len(new.messages)}"
