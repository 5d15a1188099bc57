"""A language model whose replies are written beforehand."""

from __future__ import annotations

from collections.abc import Callable

from rewardgen.store.messages import LLMRequest, Reply, Usage

Answer = str | Reply | Exception


class ScriptedLLM:
    """Answers each request with what a function of it returns, or raises it if it is an exception.

    Args:
        answer: A text or a reply for every request, or a function that chooses by label or messages.
        usage: What each reply is said to take.
    """

    def __init__(self, answer: Answer | Callable[[LLMRequest], Answer], usage: Usage | None = None) -> None:
        self._answer = answer
        self._usage = usage or Usage(prompt_tokens=100, completion_tokens=50, cost_usd=0.001, calls=1)
        self.requests: list[LLMRequest] = []
        """Every request, in order."""

    async def complete(self, request: LLMRequest) -> Reply:
        """See `rewardgen.llm.protocol.LLM.complete`."""
        self.requests.append(request)
        answer = self._answer(request) if callable(self._answer) else self._answer
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, Reply):
            return answer
        return Reply(text=answer, model="scripted", usage=self._usage)
