"""What the rest of the package asks of a language model, and how a call fails."""

from __future__ import annotations

from typing import Protocol

from rewardgen.core.errors import RewardgenError
from rewardgen.store.messages import LLMRequest, Reply, Usage


class LLM(Protocol):
    """Answers chat requests.

    To add a way to reach a model, write a class with `complete` that makes one attempt per call, and give it a scheme
    in `rewardgen.llm.factory`; retries and the archive of all calls are put around it there.
    """

    async def complete(self, request: LLMRequest) -> Reply:
        """The model's reply, never empty.

        Args:
            request: The messages, with a label that is unique within a run.

        Raises:
            CallFailed: No usable answer, after whatever retries this implementation makes. Other calls may succeed.
            CallRefused: No answer to this request, however often it is made. Others may be answered.
            CredentialsError: The API key is missing or was refused, or the account is empty.
            ModelError: No request could pass: there is no such model or address.
            BudgetExhausted: The limit on cost or tokens leaves no room for the call.
        """
        ...


class CallFailed(RewardgenError):
    """One call got no usable answer.

    Args:
        message: What happened.
        hint: What fixes it.
        usage: What the call took all the same: an empty reply is paid for too.
        transient: Whether the same call may succeed later.
        retry_after_s: How long the server asks to wait before the next attempt [s]; None if it does not say.
    """

    def __init__(
        self,
        message: str,
        hint: str = "",
        *,
        usage: Usage | None = None,
        transient: bool = True,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(message, hint)
        self.usage = usage or Usage()
        self.transient = transient
        self.retry_after_s = retry_after_s


class CallRefused(CallFailed):
    """A request that will not be answered: it is too long, or a filter objects to it.

    Args:
        message: What the provider says.
        hint: What fixes it.
        usage: What the call took all the same.
    """

    def __init__(self, message: str, hint: str = "", *, usage: Usage | None = None) -> None:
        super().__init__(message, hint, usage=usage, transient=False)
