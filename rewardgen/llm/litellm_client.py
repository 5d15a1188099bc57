"""Calls any model that LiteLLM knows, or any OpenAI-compatible server: one attempt per call, no retries.

LiteLLM takes seconds to import, so it is imported when a client is checked or first called, never with this module.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from functools import cache
from types import ModuleType
from typing import Any
from weakref import WeakKeyDictionary

from rewardgen.core.errors import CredentialsError, ModelError
from rewardgen.llm.protocol import CallFailed
from rewardgen.llm.provider_errors import Endpoint, explain
from rewardgen.store.messages import LLMRequest, Reply, Usage

PLACEHOLDER_KEY = "no-key"
"""Sent to a server of the user's own when no key is set: OpenAI's protocol wants one, local servers ignore it."""

CHARACTERS_PER_TOKEN = 3.0
"""For estimates; English and Python take about 4, so this errs on the safe side."""


class LiteLLMClient:
    """One model behind LiteLLM.

    Args:
        model: A LiteLLM model string such as `anthropic/claude-sonnet-4-5`. With an `api_base`, a name without a
            provider that LiteLLM knows is taken as one of an OpenAI-compatible server.
        api_base: Address of an OpenAI-compatible server; the provider's own if not given.
        timeout_s: Time limit of a call [s].
        concurrency: Calls in flight at once.
    """

    def __init__(
        self, model: str, *, api_base: str | None = None, timeout_s: float = 180.0, concurrency: int = 8
    ) -> None:
        self._name = model
        self._api_base = api_base
        self._timeout_s = timeout_s
        self._concurrency = concurrency
        self._slots: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()
        self._endpoint: Endpoint | None = None

    def check(self) -> None:
        """Make sure, without a call, that the provider is known and that its key is set.

        Raises:
            ModelError: LiteLLM knows no provider for the model string.
            CredentialsError: The provider's key is not in the environment.
        """
        if self._endpoint is None:
            self._endpoint = _find_endpoint(self._name, self._api_base)

    def estimate(self, request: LLMRequest) -> Usage:
        """What a call takes at most, from the length of its prompt and its limit on the reply."""
        endpoint = self._checked()
        characters = sum(len(message.content.encode()) for message in request.messages)
        prompt = int(characters / CHARACTERS_PER_TOKEN) + 16 * len(request.messages)
        cost = _price(endpoint.model, prompt, request.max_tokens)
        return Usage(prompt_tokens=prompt, completion_tokens=request.max_tokens, cost_usd=cost, calls=1)

    async def complete(self, request: LLMRequest) -> Reply:
        """See `LLM.complete`. Parameters that a model does not support, such as a temperature, are left out."""
        endpoint = self._checked()
        async with self._slot():
            started = time.monotonic()
            try:
                response = await asyncio.wait_for(self._call(endpoint, request), self._timeout_s)
            except Exception as error:  # LiteLLM lets provider-specific parsing errors through: any type may arrive
                raise await asyncio.to_thread(explain, error, endpoint, self._timeout_s) from error
        return _read(response, endpoint, time.monotonic() - started)

    def _checked(self) -> Endpoint:
        self.check()
        assert self._endpoint is not None
        return self._endpoint

    def _slot(self) -> asyncio.Semaphore:
        """A semaphore serves one event loop only, and a run starts several."""
        return self._slots.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(self._concurrency))

    async def _call(self, endpoint: Endpoint, request: LLMRequest) -> Any:
        return await _litellm().acompletion(
            model=endpoint.model,
            messages=[message.model_dump() for message in request.messages],
            temperature=request.temperature,
            max_tokens=request.max_tokens,
            api_base=endpoint.api_base,
            api_key=endpoint.api_key,
            timeout=self._timeout_s,
            num_retries=0,
            max_retries=0,
            drop_params=True,
        )


@cache
def _litellm() -> ModuleType:
    """LiteLLM, quiet: no price list from the network, no `.env` file, no log lines."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    os.environ.setdefault("LITELLM_MODE", "PRODUCTION")
    import litellm

    litellm.suppress_debug_info = True
    for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    return litellm


def _find_endpoint(name: str, api_base: str | None) -> Endpoint:
    litellm = _litellm()
    model, provider = name, _provider(name)
    if provider is None and api_base:
        model, provider = f"openai/{name}", "openai"
    if provider is None:
        raise ModelError(
            f"no provider is known for the model `{name}`",
            "name it as `provider/model`, such as `openai/gpt-4o`, or give the server's address with `--api-base`",
        )
    # Other credentials than keys have more than one road, such as profiles and metadata servers.
    missing = [key for key in litellm.validate_environment(model)["missing_keys"] if key.endswith("_API_KEY")]
    if missing and not api_base:
        raise CredentialsError(f"the model `{name}` needs an API key", f"run `export {missing[0]}=...` first")
    return Endpoint(
        model=model,
        provider=provider,
        api_base=api_base,
        api_key=PLACEHOLDER_KEY if missing else None,
        known_models=tuple(sorted(litellm.models_by_provider.get(provider, ()))),
    )


def _provider(model: str) -> str | None:
    litellm = _litellm()
    try:
        return litellm.get_llm_provider(model)[1]
    except litellm.BadRequestError:
        return None


def _price(model: str, prompt_tokens: int, completion_tokens: int) -> float | None:
    try:
        prices = _litellm().cost_per_token(
            model=model, prompt_tokens=prompt_tokens, completion_tokens=completion_tokens
        )
    except Exception:  # LiteLLM raises bare exceptions for models without a price
        return None
    return sum(prices)


def _read(response: Any, endpoint: Endpoint, latency_s: float) -> Reply:
    usage = _usage(response, endpoint)
    choice = response.choices[0] if response.choices else None
    text = (choice.message.content or "") if choice else ""
    if not text.strip():
        reason = getattr(choice, "finish_reason", None) or "none given"
        raise CallFailed(f"{endpoint.model} sent an empty reply (finish reason: {reason})", usage=usage)
    return Reply(text=text, model=response.model or endpoint.model, usage=usage, latency_s=round(latency_s, 3))


def _usage(response: Any, endpoint: Endpoint) -> Usage:
    counted = getattr(response, "usage", None)
    return Usage(
        prompt_tokens=getattr(counted, "prompt_tokens", 0) or 0,
        completion_tokens=getattr(counted, "completion_tokens", 0) or 0,
        cost_usd=_cost(response, endpoint),
        calls=1,
    )


def _cost(response: Any, endpoint: Endpoint) -> float | None:
    try:
        return _litellm().completion_cost(response, model=endpoint.model)
    except Exception:  # LiteLLM raises bare exceptions for models without a price
        return None
