"""What is said to a language model and what comes back, as plain data."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from rewardgen.core.schema import Frozen, Text


class Message(Frozen):
    """One chat message."""

    role: Literal["system", "user", "assistant"]
    content: Text


VERDICT = "goal/verdict"
"""Label of the request that asks whether the episodes of the final policy are what was asked for."""


class LLMRequest(Frozen):
    """One call of a language model."""

    label: str
    """Who asks, and for what: `g02-k7/designer/edit`. Unique within a run, so it keys the archive."""
    messages: tuple[Message, ...]
    temperature: float = 1.0
    max_tokens: int = 8192


class Usage(Frozen):
    """Tokens and price of calls; adds up, and nothing takes from it."""

    prompt_tokens: int = Field(default=0, ge=0)
    completion_tokens: int = Field(default=0, ge=0)
    cost_usd: float | None = Field(default=0.0, ge=0, allow_inf_nan=False)
    """None where the price of a model is unknown."""
    calls: int = Field(default=0, ge=0)
    estimated_tokens: int = Field(default=0, ge=0)
    """Of the tokens, those that nobody counted: estimated from the length of the texts."""

    def __add__(self, other: Usage) -> Usage:
        known = self.cost_usd is not None and other.cost_usd is not None
        return Usage(
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            cost_usd=(self.cost_usd or 0.0) + (other.cost_usd or 0.0) if known else None,
            calls=self.calls + other.calls,
            estimated_tokens=self.estimated_tokens + other.estimated_tokens,
        )

    @property
    def tokens(self) -> int:
        """Prompt and completion tokens together."""
        return self.prompt_tokens + self.completion_tokens


class Reply(Frozen):
    """A language model's answer."""

    text: Text
    model: Text
    usage: Usage = Usage()
    latency_s: float = 0.0
    cut: bool = False
    """Whether it ends where the model came to its limit of tokens."""
