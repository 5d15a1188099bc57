"""Calls any model that LiteLLM knows, or any OpenAI-compatible server: one attempt per call, no retries.

LiteLLM takes seconds to import, so it is imported when a client is checked or first called, never with this module.
"""

from __future__ import annotations

import asyncio
import logging
import math
import os
import time
import warnings
from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import Any
from weakref import WeakKeyDictionary

from rewardgen.core.errors import CredentialsError, ModelError
from rewardgen.core.text import visible
from rewardgen.llm.answers import Answer, answer_of, count, listen, raw_answer, tokens_in, unread
from rewardgen.llm.protocol import CallFailed, CallRefused
from rewardgen.llm.provider_errors import Endpoint, explain, nothing_taken, somebody_listens
from rewardgen.store.messages import LLMRequest, Reply, Usage

PLACEHOLDER_KEY = "no-key"
"""Sent to a server of the user's own when no key is set: OpenAI's protocol wants one, local servers ignore it."""

USUAL_KEYS = tuple(
    f"{provider.upper()}_API_KEY"
    for provider in ("openai", "anthropic", "mistral", "deepseek", "groq", "openrouter", "xai", "cerebras", "cohere")
)
"""Without which LiteLLM calls no model of the provider that they are named after."""


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
        self._heard = False
        """Whether anybody ever answered."""

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
        return self._estimated(request, request.max_tokens)

    def sent(self, request: LLMRequest) -> Usage:
        """What a call takes of which no answer is known, from the length of its prompt."""
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
            heard: list[str] = []
            try:
                call = self._call(endpoint, request, lambda details: listen(details, heard))
                answer = answer_of(await asyncio.wait_for(call, self._timeout_s))
                self._heard = True
            except Exception as error:  # LiteLLM lets provider-specific parsing errors through: any type may arrive
                answer = raw_answer(heard)
                if answer is None:
                    await self._require_listener(endpoint)
                    explained = await asyncio.to_thread(explain, error, endpoint, self._timeout_s)
                    if isinstance(explained, CallFailed) and not nothing_taken(error):
                        reply = heard[-1] if heard else unread(error)
                        explained.usage = self._estimated(request, tokens_in(reply))
                    raise explained from error
        usage = _usage(answer, endpoint, self.sent(request))
        if not answer.text.strip():
            message = f"{endpoint.model} sent an empty reply (finish reason: {visible(answer.finish_reason)[:80]})"
            filtered = answer.finish_reason == "content_filter"
            raise (CallRefused if filtered else CallFailed)(message, usage=usage)
        latency_s = round(time.monotonic() - started, 3)
        cut, model = answer.finish_reason == "length", answer.model or endpoint.model
        return Reply(text=answer.text, model=model, usage=usage, latency_s=latency_s, cut=cut)

    async def _require_listener(self, endpoint: Endpoint) -> None:
        """Nobody at an address of the user's own, who never answered: that is no passing fault, but a wrong address.

        LiteLLM's error does not tell: what caused it may have been replaced on the way.
        """
        if endpoint.api_base and not self._heard:
            self._heard = await asyncio.to_thread(somebody_listens, endpoint.api_base)
            if not self._heard:
                hint = "start the server, or correct `--api-base`"
                raise ModelError(f"nobody answers at {endpoint.api_base}", hint)

    def _checked(self) -> Endpoint:
        self.check()
        assert self._endpoint is not None
        return self._endpoint

    def _slot(self) -> asyncio.Semaphore:
        """A semaphore serves one event loop only, and a run starts several."""
        return self._slots.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(self._concurrency))

    async def _call(self, endpoint: Endpoint, request: LLMRequest, hear: Callable[[dict[str, Any]], None]) -> Any:
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
            logger_fn=hear,
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
    key = f"{name.partition('/')[0].upper()}_API_KEY"
    if key in USUAL_KEYS and not os.environ.get(key) and not api_base:  # told before LiteLLM is imported
        raise CredentialsError(f"the model `{name}` needs an API key", f"run `export {key}=...` first")
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


def _usage(answer: Answer, endpoint: Endpoint, sent: Usage) -> Usage:
    """What an answer took, by the server's counts as far as they can be believed."""
    prompt, completion = count(answer.prompt_tokens), count(answer.completion_tokens)
    told = prompt + completion
    counted = prompt > 0 and (completion > 0 or not answer.text)
    prompt = prompt or sent.prompt_tokens
    completion = completion or tokens_in(answer.text)
    return Usage(
        prompt_tokens=prompt,
        completion_tokens=completion,
        cost_usd=_cost(answer.response if counted else None, endpoint.model, prompt, completion),
        calls=1,
        estimated_tokens=prompt + completion - told,
    )


def _cost(response: Any, model: str, prompt_tokens: int, completion_tokens: int) -> float | None:
    """By LiteLLM, which knows of cached tokens, if it can be meant; else by the counts of tokens alone."""
    price = _price(model, prompt_tokens, completion_tokens)
    try:
        told = _litellm().completion_cost(response, model=model) if response is not None else None
    except Exception:  # LiteLLM raises bare exceptions for models without a price
        return price
    return told if told is not None and 0 < told < math.inf else price
