"""A limit on the cost and tokens of model calls. Calls in flight count with the most that they may take."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from typing import Protocol

from rewardgen.core.errors import BudgetExhausted, UsageError
from rewardgen.llm.protocol import LLM, CallFailed
from rewardgen.store.messages import LLMRequest, Reply, Usage

_EMPTY = Usage()


class Budget:
    """Grants calls as long as they fit, whatever the calls in flight turn out to take.

    A call that would fit but for the estimates of others waits until they are settled. Safe to use from several threads
    and event loops.

    Args:
        max_cost_usd: Limit on the price of all calls [USD]; None for no limit.
        max_tokens: Limit on prompt and completion tokens of all calls; None for no limit.
        spent: What earlier sessions of the run took.
    """

    def __init__(self, max_cost_usd: float | None = None, max_tokens: int | None = None, spent: Usage = _EMPTY) -> None:
        self._max_cost_usd = max_cost_usd
        self._max_tokens = max_tokens
        self._spent = spent
        self._in_flight: list[Usage] = []
        self._waiting: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []
        self._lock = threading.Lock()

    @property
    def limits_cost(self) -> bool:
        """Whether there is a limit on the price, so that the price of a call must be known."""
        return self._max_cost_usd is not None

    @property
    def spent(self) -> Usage:
        """What the settled calls took."""
        return self._spent

    async def reserve(self, estimate: Usage) -> None:
        """Set aside what a call may take; waits while calls in flight leave no room. Follow with `settle`.

        Args:
            estimate: An upper bound of the call's tokens and price.

        Raises:
            BudgetExhausted: It does not fit into what is left.
        """
        while (freed := self._try_reserve(estimate)) is not None:
            await freed.wait()

    def _try_reserve(self, estimate: Usage) -> asyncio.Event | None:
        """None if granted, else what to wait for."""
        with self._lock:
            if not self._excess(self._spent + estimate, *self._in_flight):
                self._in_flight.append(estimate)
                return None
            if excess := self._excess(self._spent + estimate):
                raise BudgetExhausted(*excess)
            freed = asyncio.Event()
            self._waiting.append((asyncio.get_running_loop(), freed))
            return freed

    def settle(self, estimate: Usage, actual: Usage) -> None:
        """Replace a reservation by what the call took; an empty usage if it took nothing."""
        with self._lock:
            self._in_flight.remove(estimate)
            self._spent = self._spent + actual
            waiting, self._waiting = self._waiting, []
        for loop, freed in waiting:
            with suppress(RuntimeError):  # the loop of a waiting call that was interrupted may be closed
                loop.call_soon_threadsafe(freed.set)

    def _excess(self, *usages: Usage) -> tuple[str, str] | None:
        """Message and hint if these usages together pass a limit."""
        total = sum(usages, start=Usage())
        cost, spent = total.cost_usd or 0.0, self._spent.cost_usd or 0.0
        if self._max_tokens is not None and total.tokens > self._max_tokens:
            room = f"{self._spent.tokens} are spent, it may take {total.tokens - self._spent.tokens}"
            return (
                f"the limit of {self._max_tokens} tokens has no room for the next call: {room}",
                "raise `--max-tokens`",
            )
        if self._max_cost_usd is not None and cost > self._max_cost_usd:
            room = f"{spent:.4f} are spent, it may take {cost - spent:.4f}"
            return (
                f"the limit of {self._max_cost_usd:g} USD has no room for the next call: {room}",
                "raise `--max-cost`",
            )
        return None


class PricedLLM(LLM, Protocol):
    """A language model that can say beforehand what a call may take."""

    def estimate(self, request: LLMRequest) -> Usage:
        """An upper bound of a call's tokens and price; `cost_usd` is None if the price is unknown."""
        ...

    def sent(self, request: LLMRequest) -> Usage:
        """What a call takes at least once it is sent, as far as it is known beforehand."""
        ...


class BudgetedLLM:
    """Makes a call only if the budget grants what it may take, and settles what it took.

    Args:
        inner: The model.
        budget: The limits.
    """

    def __init__(self, inner: PricedLLM, budget: Budget) -> None:
        self._inner = inner
        self._budget = budget

    def estimate(self, request: LLMRequest) -> Usage:
        """An upper bound of a call's tokens and price.

        Raises:
            UsageError: There is a limit on the cost, and the price of the model is unknown.
        """
        estimate = self._inner.estimate(request)
        if self._budget.limits_cost and estimate.cost_usd is None:
            raise UsageError(
                "the price of this model is unknown, so a limit on the cost cannot be kept",
                "use `--max-tokens` instead of `--max-cost`",
            )
        return estimate

    def sent(self, request: LLMRequest) -> Usage:
        """What a call takes at least once it is sent."""
        return self._inner.sent(request)

    async def complete(self, request: LLMRequest) -> Reply:
        """See `LLM.complete`.

        Raises:
            UsageError: There is a limit on the cost, and the price of the model is unknown.
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
