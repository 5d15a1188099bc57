"""Protocol of a language model, and errors of a call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from rewardgen.core.errors import RewardgenError
from rewardgen.store.messages import LLMRequest, Reply, Usage

Note = Callable[[str], None]
"""Receives a line for the user."""


def silent(text: str) -> None:
    """Drop a line: the default `Note`."""


class LLM(Protocol):
    """Answers chat requests.

    To add a way to reach a model, write a class with `complete` that makes one attempt per call, and give it a scheme
    in `rewardgen.llm.factory`, which adds retries and the archive.
    """

    async def complete(self, request: LLMRequest) -> Reply:
        """Return the model's reply, never empty.

        Args:
            request: The messages, with a label that is unique within a run.

        Raises:
            CallFailed: No usable answer, after any retries. Other calls may succeed.
            CallRefused: This request never succeeds. Other calls may.
            CredentialsError: The API key is missing or was refused, or the account is empty.
            ModelError: No request can succeed: the model or address is unknown.
            BudgetExhausted: The limit on cost or tokens leaves no room for the call.
        """
        ...


class CallFailed(RewardgenError):
    """A call without a usable answer.

    Args:
        message: The failure.
        hint: The fix.
        usage: Usage of the call: an empty reply is paid for too.
        transient: True if the same call may succeed later.
        retry_after_s: Wait before the next attempt, such as the server asks for [s]; None if unknown.
        attempts: Most attempts at a fault that rarely passes; None for as many as at any.
    """

    def __init__(
        self,
        message: str,
        hint: str = "",
        *,
        usage: Usage | None = None,
        transient: bool = True,
        retry_after_s: float | None = None,
        attempts: int | None = None,
    ) -> None:
        super().__init__(message, hint)
        self.usage = usage or Usage()
        self.transient = transient
        self.retry_after_s = retry_after_s
        self.attempts = attempts


class CallRefused(CallFailed):
    """A request that never succeeds: too long, or blocked by a filter."""

    def __init__(self, message: str, hint: str = "", *, usage: Usage | None = None) -> None:
        super().__init__(message, hint, usage=usage, transient=False)
