"""Retries of calls that failed for a passing reason."""

from __future__ import annotations

import asyncio
import random

from rewardgen.llm.protocol import LLM, CallFailed
from rewardgen.store.messages import LLMRequest, Reply


class RetryingLLM:
    """Repeats transient failures with exponential backoff and jitter, or after the wait that the server asks for.

    Args:
        inner: The model, one attempt per call.
        attempts: Attempts per call.
        first_wait_s: Wait before the second attempt [s]; doubles with each further one.
        longest_wait_s: Upper bound of a wait, also of one that the server asks for [s].
    """

    def __init__(
        self, inner: LLM, *, attempts: int = 6, first_wait_s: float = 1.0, longest_wait_s: float = 60.0
    ) -> None:
        self._inner = inner
        self._attempts = attempts
        self._first_wait_s = first_wait_s
        self._longest_wait_s = longest_wait_s
        self._random = random.Random()

    async def complete(self, request: LLMRequest) -> Reply:
        """See `LLM.complete`."""
        wait_s = self._first_wait_s
        for _ in range(self._attempts - 1):
            try:
                return await self._inner.complete(request)
            except CallFailed as error:
                if not error.transient:
                    raise
                # Jitter keeps calls that failed together from coming back together.
                jittered_s = wait_s * self._random.uniform(0.5, 1.0)
                await asyncio.sleep(min(max(jittered_s, error.retry_after_s or 0.0), self._longest_wait_s))
                wait_s *= 2
        try:
            return await self._inner.complete(request)
        except CallFailed as error:
            if not error.transient:
                raise
            # The message stays as archived: it gets into later prompts, and a replay has to say the same.
            last = f"this was the last of {self._attempts} attempts"
            hint = f"{error.hint}; {last}" if error.hint else last
            raise CallFailed(error.message, hint, transient=False) from error
