"""A language model within a budget."""

from __future__ import annotations

from typing import Protocol

from rewardgen.core.errors import UsageError
from rewardgen.llm.budget import Budget
from rewardgen.llm.protocol import LLM, CallFailed
from rewardgen.store.messages import LLMRequest, Reply, Usage


class PricedLLM(LLM, Protocol):
    """A language model that can say beforehand what a call may take."""

    def estimate(self, request: LLMRequest) -> Usage:
        """An upper bound of a call's tokens and price; `cost_usd` is None if the price is unknown."""
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
