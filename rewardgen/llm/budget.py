"""Limits on the cost and tokens of model calls; a call in flight counts with its upper bound."""

from __future__ import annotations

import asyncio
import math
import threading
from collections.abc import Iterable, Sequence
from typing import Protocol

from rewardgen.core.errors import BudgetExhausted, UsageError
from rewardgen.llm.protocol import LLM, CallFailed
from rewardgen.store.messages import LLMRequest, Reply, Usage

CHARACTERS_PER_TOKEN = 3.0
"""Bytes per token for estimates, on the safe side: English and Python take about 4."""

_POLL_S = 0.1

_PICTURE_TOKENS = 300
"""Tokens of a small picture, on the safe side: 70 to 260 with most providers."""
_MESSAGE_TOKENS = 16


def prompt_tokens(request: LLMRequest) -> int:
    """Estimate the tokens of a prompt from its length and its pictures."""
    return sum(
        tokens_in(message.content)
        + _MESSAGE_TOKENS
        + sum(tokens_in(picture.caption) + _PICTURE_TOKENS for picture in message.pictures)
        for message in request.messages
    )


def tokens_in(text: str) -> int:
    """Estimate the tokens of a text from its length."""
    return math.ceil(len(text.encode(errors="replace")) / CHARACTERS_PER_TOKEN)


def estimated_usage(request: LLMRequest, completion: int, cost_usd: float | None = None) -> Usage:
    """Return the usage of a call whose tokens are estimated, with those of its completion."""
    prompt = prompt_tokens(request)
    return Usage(
        prompt_tokens=prompt,
        completion_tokens=completion,
        cost_usd=cost_usd,
        calls=1,
        estimated_tokens=prompt + completion,
    )


class Budget:
    """Grant a call if it fits beside the upper bounds of all calls in flight; else wait until these are settled.

    The limits, None for none, hold for price and tokens of all calls, those `spent` in earlier sessions of the run too;
    calls without a known price do not count for the price.
    Safe to use from several threads and event loops.
    """

    def __init__(
        self, max_cost_usd: float | None = None, max_tokens: int | None = None, spent: Sequence[Usage] = ()
    ) -> None:
        self.max_cost_usd = max_cost_usd
        self._max_tokens = max_tokens
        self.spent = list(spent)
        """Usages of the settled calls."""
        self._in_flight: list[Usage] = []
        self._lock = threading.Lock()

    async def reserve(self, estimate: Usage) -> None:
        """Reserve the upper bound of a call; wait while calls in flight leave no room. Follow with `settle`.

        Raises:
            BudgetExhausted: The call does not fit into the rest of the budget.
        """
        while not self._reserved(estimate):
            await asyncio.sleep(_POLL_S)

    def _reserved(self, estimate: Usage) -> bool:
        with self._lock:
            if excess := self._excess([estimate]):
                raise BudgetExhausted(*excess)
            fits = not self._excess([estimate, *self._in_flight])
            if fits:
                self._in_flight.append(estimate)
            return fits

    def settle(self, estimate: Usage, actual: Usage) -> None:
        """Replace a reservation by the usage of the call."""
        with self._lock:
            self._in_flight.remove(estimate)
            self.spent.append(actual)

    def _excess(self, further: Sequence[Usage]) -> tuple[str, str] | None:
        tokens, more = (sum(usage.tokens for usage in usages) for usages in (self.spent, further))
        if self._max_tokens is not None and tokens + more > self._max_tokens:
            room = f"{tokens} are spent, it may take {more}"
            return f"the limit of {self._max_tokens} tokens leaves no room for a call: {room}", "raise `--max-tokens`"
        spent, cost = _known_cost(self.spent), _known_cost(further)
        if self.max_cost_usd is not None and spent + cost > self.max_cost_usd:
            room = f"{spent:.4f} are spent, it may take {cost:.4f}"
            return f"the limit of {self.max_cost_usd:g} USD leaves no room for a call: {room}", "raise `--max-cost`"
        return None


def _known_cost(usages: Iterable[Usage]) -> float:
    return sum(usage.cost_usd or 0.0 for usage in usages)


class PricedLLM(LLM, Protocol):
    """A language model that knows bounds of a call's usage."""

    def estimate(self, request: LLMRequest) -> Usage:
        """Return an upper bound of a call's tokens and price; `cost_usd` is None if the price is unknown."""
        ...

    def sent(self, request: LLMRequest) -> Usage:
        """Return a lower bound of a call's usage once it is sent."""
        ...


class BudgetedLLM:
    """Reserve each call in the budget, make it, and settle its usage."""

    def __init__(self, inner: PricedLLM, budget: Budget) -> None:
        self._inner = inner
        self._budget = budget

    def estimate(self, request: LLMRequest) -> Usage:
        """Return an upper bound of a call's tokens and price.

        Raises:
            UsageError: The cost is limited, and the price of the model is unknown.
        """
        estimate = self._inner.estimate(request)
        if self._budget.max_cost_usd is not None and estimate.cost_usd is None:
            message = "the price of this model is unknown, so a limit on the cost cannot be kept"
            raise UsageError(message, "name a model with a price, or begin with `max_tokens` instead of `max_cost`")
        return estimate

    def sent(self, request: LLMRequest) -> Usage:
        """See `PricedLLM.sent`."""
        return self._inner.sent(request)

    async def complete(self, request: LLMRequest) -> Reply:
        """See `LLM.complete`.

        Raises:
            UsageError: The cost is limited, and the price of the model is unknown.
        """
        estimate = self.estimate(request)
        await self._budget.reserve(estimate)
        actual = Usage()
        try:
            reply = await self._inner.complete(request)
            actual = reply.usage
            return reply
        except CallFailed as error:
            actual = error.usage
            raise
        finally:
            self._budget.settle(estimate, actual)
