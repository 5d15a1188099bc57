"""Answers from the archive of a recorded run, and from nothing else."""

from __future__ import annotations

from pathlib import Path

from rewardgen.core.errors import ModelError, RunFolderError, did_you_mean
from rewardgen.llm.archive import ArchivedCall, read_archive
from rewardgen.llm.protocol import CallFailed, CallRefused
from rewardgen.store.messages import LLMRequest, Reply, Usage


class ReplayLLM:
    """Gives each recorded request its recorded answer, at no cost. A call that failed when recorded fails again.

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
            ModelError: The request was not recorded; says where it differs from the one with the same label.
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
        raise self._unseen(request)

    def _unseen(self, request: LLMRequest) -> ModelError:
        same_label = [call for call in self._calls if call.request.label == request.label]
        hint = "replay with the configuration and the version of rewardgen that recorded the run"
        if same_label:
            place = _first_difference(same_label[0], request)
            return ModelError(f"the request `{request.label}` differs from the recorded one: {place}", hint)
        labels = {call.request.label for call in self._calls}
        return ModelError(
            f"the request `{request.label}` was not recorded in {self._folder}", did_you_mean(request.label, labels)
        )


def _first_difference(call: ArchivedCall, request: LLMRequest) -> str:
    """Where a request first leaves the recorded one, with both lines."""
    old, new = call.request, request
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
