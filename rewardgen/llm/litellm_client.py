"""Client for any model that LiteLLM knows, or any OpenAI-compatible server: one attempt per call, no retries.

LiteLLM takes seconds to import, so it is imported when a client is checked or first called, never with this module.
"""

from __future__ import annotations

import asyncio
import logging
import math
import os
import time
import warnings
from functools import cache
from types import ModuleType
from typing import Any
from weakref import WeakKeyDictionary

from rewardgen.core.errors import CredentialsError, ModelError
from rewardgen.core.text import visible
from rewardgen.llm.budget import tokens_in
from rewardgen.llm.protocol import CallFailed, CallRefused
from rewardgen.llm.provider_errors import Endpoint, explain, never_sent, nothing_taken
from rewardgen.store.messages import LLMRequest, Reply, Usage

PLACEHOLDER_KEY = "no-key"
"""Key for a server of the user's own when none is set: OpenAI's protocol wants one, local servers ignore it."""

_MOST_TOKENS = 10_000_000
"""Tokens of one call; a server that counts more is not believed."""


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
        self._answered = False

    def check(self) -> None:
        """Check, without a call, that the provider is known and that its key is set.

        Raises:
            ModelError: LiteLLM knows no provider for the model string.
            CredentialsError: The provider's key is not in the environment.
        """
        if self._endpoint is None:
            self._endpoint = _find_endpoint(self._name, self._api_base)

    def estimate(self, request: LLMRequest) -> Usage:
        """Upper bound of a call's tokens and price, from the length of its prompt and its limit on the reply."""
        return self._estimated(request, request.max_tokens)

    def sent(self, request: LLMRequest) -> Usage:
        """Tokens and price of a call without a known answer, from the length of its prompt."""
        return self._estimated(request, 0)

    def _estimated(self, request: LLMRequest, completion: int) -> Usage:
        prompt = sum(tokens_in(message.content) + 16 for message in request.messages)
        return Usage(
            prompt_tokens=prompt,
            completion_tokens=completion,
            cost_usd=_price(self._priced(), prompt, completion),
            calls=1,
            estimated_tokens=prompt + completion,
        )

    def _priced(self) -> str:
        """The model as its price is known; a price needs no key."""
        try:
            return self._checked().model
        except CredentialsError:
            return self._name

    async def complete(self, request: LLMRequest) -> Reply:
        """See `LLM.complete`. Parameters that a model does not support, such as a temperature, are left out."""
        endpoint = self._checked()
        async with self._slot():
            started = time.monotonic()
            try:
                response = await asyncio.wait_for(self._call(endpoint, request), self._timeout_s)
                choice = response.choices[0]
                text, reason = choice.message.content or "", str(choice.finish_reason or "none given")
            except Exception as error:  # LiteLLM lets provider-specific parsing errors through: any type may arrive
                if endpoint.api_base and not self._answered and never_sent(error):
                    hint = "start the server, or correct `--api-base`"
                    raise ModelError(f"no server at {endpoint.api_base}", hint) from error
                explained = explain(error, endpoint, self._timeout_s)
                if isinstance(explained, CallFailed) and not nothing_taken(error):
                    explained.usage = self.sent(request)
                raise explained from error
        self._answered = True
        usage = _usage(response, text, endpoint.model, self.sent(request))
        if not text.strip():
            message = f"{endpoint.model} sent an empty reply (finish reason: {visible(reason)[:80]})"
            raise (CallRefused if reason == "content_filter" else CallFailed)(message, usage=usage)
        latency_s = round(time.monotonic() - started, 3)
        model = str(response.model or endpoint.model)
        return Reply(text=text, model=model, usage=usage, latency_s=latency_s, cut=reason == "length")

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
    """LiteLLM, quiet: no price list from the network, no `.env` file, no log lines of its own or of what it uses."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    os.environ.setdefault("LITELLM_MODE", "PRODUCTION")
    import litellm

    litellm.suppress_debug_info = True
    # aiohttp's sessions outlive their event loop, and complain of that when they go: a run has many loops.
    litellm.disable_aiohttp_transport = True
    for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    # Its warning of an answer in an unusual form.
    warnings.filterwarnings("ignore", "Pydantic serializer warnings", UserWarning)
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
    # Other credentials than keys come in several ways, such as profiles and metadata servers.
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
        return sum(_litellm().cost_per_token(model, prompt_tokens, completion_tokens))
    except Exception:  # LiteLLM raises bare exceptions for models without a price
        return None


def _usage(response: Any, text: str, model: str, sent: Usage) -> Usage:
    """Usage of an answered call, by the server's counts where they are plausible."""
    counts = getattr(response, "usage", None)
    prompt, completion = (_count(getattr(counts, f"{part}_tokens", None)) for part in ("prompt", "completion"))
    counted = prompt + completion
    prompt, completion = prompt or sent.prompt_tokens, completion or tokens_in(text)
    price = _price(model, prompt, completion)
    try:  # LiteLLM's own price knows of cached tokens
        believed = counted == prompt + completion and _adds_up(counts.model_dump(), counted)
        listed = _litellm().completion_cost(response, model=model) if believed else price
    except Exception:  # LiteLLM raises bare exceptions for models without a price
        listed = price
    return Usage(
        prompt_tokens=prompt,
        completion_tokens=completion,
        cost_usd=listed if listed is not None and 0 < listed < math.inf else price,
        calls=1,
        estimated_tokens=prompt + completion - counted,
    )


def _adds_up(counts: Any, tokens: int) -> bool:
    """True if no part of a server's counts, such as its cached tokens, is negative or more than all tokens."""
    if isinstance(counts, dict):
        return all(_adds_up(part, tokens) for part in counts.values())
    return not isinstance(counts, int | float) or 0 <= counts <= tokens


def _count(tokens: Any) -> int:
    """A server's count of tokens; 0 where it is missing or implausible."""
    return int(tokens) if isinstance(tokens, int | float) and 0 < tokens <= _MOST_TOKENS else 0
