"""Builders for tests of language models."""

from __future__ import annotations

import asyncio

from rewardgen.store.messages import LLMRequest, Message


def request(label: str = "g00-k0/designer/draft", content: str = "hello", **changes) -> LLMRequest:
    messages = (Message(role="system", content="You write rewards."), Message(role="user", content=content))
    return LLMRequest.model_validate({"label": label, "messages": messages, "max_tokens": 200} | changes)


def ask(llm, *requests: LLMRequest) -> list:
    """Replies, or the exceptions raised, of calls made at once."""

    async def all_at_once():
        return await asyncio.gather(*(llm.complete(each) for each in requests), return_exceptions=True)

    return asyncio.run(all_at_once())


def ask_one(llm, one: LLMRequest | None = None):
    """The reply of one call; raises what the call raises."""
    return asyncio.run(llm.complete(one or request()))
