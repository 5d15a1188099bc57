"""Answer from the archive of a recorded run.

Training on another processor may change digits in later requests. So a request that differs from the recorded one gets
the reply to the same part of the same candidate; the transcript says so, and `differing` counts such replies. A verdict
holds for the recorded episodes only.
"""

from __future__ import annotations

import re
from pathlib import Path

from rewardgen.core.errors import RunFolderError, did_you_mean
from rewardgen.llm.archive import read_archive
from rewardgen.llm.protocol import CallFailed, CallRefused
from rewardgen.store.messages import VERDICT, LLMRequest, Reply, Usage

_SETTINGS = {"effort": "", "form": None}
"""Settings of a call that a replay does not have."""
_OTHERWISE = ", recorded for a request that differs: "
_DESIGN = re.compile("(.*)/designer/(?!repair)")
"""Labels of designs; a repair answers the findings on one draft, and replaces no other reply."""


class ReplayLLM:
    """Give each request its recorded answer, without cost. A recorded failure fails again.

    Raises:
        RunFolderError: The folder holds no answered call.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._calls = read_archive(folder)
        if not self._calls:
            hint = "name a run that used a language model: `rewardgen runs list`"
            raise RunFolderError(f"there are no recorded calls in {folder}", hint)
        if not any(call.reply for call in self._calls):
            message = f"no call in {folder} was answered, so there is nothing to replay: {self._calls[-1].failure}"
            hint = f"name another run, or call again: `rewardgen resume {folder.parent.name} --model MODEL`"
            raise RunFolderError(message, hint)

    async def complete(self, request: LLMRequest) -> Reply:
        """See `LLM.complete`.

        Raises:
            CallFailed: The recorded call failed.
            CallRefused: The recorded call was refused, or its label has none.
        """
        plain = request.model_copy(update=_SETTINGS)
        same = [call for call in self._calls if call.request.model_copy(update=_SETTINGS) == plain]
        reply = next((call.reply for call in same if call.reply), None)
        if reply is not None:
            return reply.model_copy(update={"usage": Usage(), "latency_s": 0.0})
        if same:
            # The recorded text: later prompts quote it, and must equal the recorded prompts.
            if same[-1].refused:
                raise CallRefused(same[-1].failure, "it was refused when it was recorded")
            hint = f"it failed before; to call again: `rewardgen resume {self._folder.parent.name} --model MODEL`"
            raise CallFailed(same[-1].failure, hint, transient=False)
        if request.label == VERDICT:
            raise CallRefused("the recorded verdict is of other episodes", "ask a language model")
        return self._nearest(request)

    def _nearest(self, request: LLMRequest) -> Reply:
        """Return the reply to the same label, else the same candidate's design by another operator."""
        answered = [call for call in self._calls if call.reply]
        fitting = [call for call in answered if call.request.label == request.label]
        if not fitting and (design := _DESIGN.match(request.label)):
            labels = [_DESIGN.match(call.request.label) for call in answered]
            fitting = [call for call, label in zip(answered, labels, strict=True) if label and label[1] == design[1]]
        if not fitting or not (reply := fitting[-1].reply):
            labels = {call.request.label for call in self._calls}
            message = f"the request `{request.label}` was not recorded in {self._folder}"
            raise CallRefused(message, did_you_mean(request.label, labels))
        model = f"{reply.model}{_OTHERWISE}{fitting[-1].request.label}"
        return reply.model_copy(update={"usage": Usage(), "latency_s": 0.0, "model": model})


def differing(folder: Path) -> int:
    """Count the replies in a run's archive that a replay took from a differing request.

    Raises:
        RunFolderError: The archive is damaged.
    """
    return sum(_OTHERWISE in call.reply.model for call in read_archive(folder) if call.reply)
