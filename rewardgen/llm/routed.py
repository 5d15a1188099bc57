"""Several language models in one run, told apart by who asks."""

from __future__ import annotations

from collections.abc import Mapping

from rewardgen.llm.protocol import LLM
from rewardgen.store.messages import LLMRequest, Reply


class RoutedLLM:
    """Passes each call on to the model of the role that makes it.

    Args:
        default: The model of roles that have none of their own.
        roles: Role, the second part of a label such as `g00-k1/critic/reading-0`, to its model.
    """

    def __init__(self, default: LLM | None, roles: Mapping[str, LLM]) -> None:
        self._default = default
        self._roles = roles

    async def complete(self, request: LLMRequest) -> Reply:
        """See `LLM.complete`."""
        _, _, rest = request.label.partition("/")
        llm = self._roles.get(rest.partition("/")[0], self._default)
        assert llm is not None, f"no model for {request.label}"
        return await llm.complete(request)
