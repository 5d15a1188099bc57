"""Client for any model of LiteLLM, or any OpenAI-compatible server: one attempt per call, no retries.

LiteLLM takes seconds to import: `check` or the first call imports it, never this module.
"""

from __future__ import annotations

import asyncio
import logging
import math
import os
import re
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import cache, cached_property, wraps
from types import ModuleType
from typing import Any, NamedTuple, get_args

from rewardgen.core.asynchrony import Slots
from rewardgen.core.config import Effort
from rewardgen.core.errors import CredentialsError, ModelError, RewardgenError, UsageError, nearest
from rewardgen.core.text import one_line, visible
from rewardgen.llm.budget import estimated_usage, prompt_tokens, tokens_in
from rewardgen.llm.protocol import CallFailed, CallRefused
from rewardgen.store.messages import LLMRequest, Message, Reply, Usage

PLACEHOLDER_KEY = "no-key"
"""Key for a local server when none is set: OpenAI's protocol needs one, local servers ignore it."""

_REASONING_TOKENS = {"low": 4096, "medium": 8192, "high": 24_576, "xhigh": 49_152, "max": 49_152}
"""Room for the reasoning of a call, beside its reply, by effort."""
_THOUGHTS = re.compile(r"^.*</think(ing)?>", re.DOTALL)
"""The reasoning before a reply, with its closing tag."""
_FORM_REFUSED = (400, 422, 501)
"""Statuses by which servers refuse the form of a reply."""

_MOST_TOKENS = 10_000_000
"""Most tokens of one call; a larger count of a server is ignored."""


class Endpoint(NamedTuple):
    """A model at a provider or server."""

    model: str
    """With the provider's prefix."""
    provider: str
    api_base: str | None
    api_key: str | None
    """None to let LiteLLM read the environment."""


class LiteLLMClient:
    """One model behind LiteLLM.

    Args:
        model: A LiteLLM model string such as `anthropic/claude-sonnet-4-5`. With an `api_base`, a name without a known
            provider belongs to an OpenAI-compatible server.
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
        self._slots = Slots(concurrency)
        self._answered = False
        self._takes_forms = True

    def check_effort(self, level: str) -> None:
        """Raise a `UsageError` for a reasoning effort that LiteLLM lists as missing; a server's own may have any."""
        known = None if self._api_base else _efforts(self._priced())
        if known is not None and level not in known:
            hint = f"it takes {', '.join(known)}" if known else "leave out `--effort`, or name a model that reasons"
            raise UsageError(f"the model `{self._name}` has no reasoning effort `{level}`", hint)

    def check(self) -> None:
        """Check, without a call, that the provider is known and its key is set.

        Raises:
            ModelError: LiteLLM knows no provider for the model string.
            CredentialsError: The provider's key is not in the environment.
        """
        _ = self._endpoint

    def estimate(self, request: LLMRequest) -> Usage:
        """Return an upper bound of a call's tokens and price, from prompt length and reply limit."""
        return self._estimated(request, _most_tokens(request))

    def sent(self, request: LLMRequest) -> Usage:
        """Return tokens and price of a call without an answer, from prompt length."""
        return self._estimated(request, 0)

    def _estimated(self, request: LLMRequest, completion: int) -> Usage:
        price = _price(self._priced(), prompt_tokens(request), completion)
        return estimated_usage(request, completion, price)

    def _priced(self) -> str:
        """Return the name under which LiteLLM lists the price; a price needs no key."""
        try:
            return self._endpoint.model
        except CredentialsError:
            return self._name

    async def complete(self, request: LLMRequest) -> Reply:
        """See `LLM.complete`. Parameters that a model does not support, such as temperature, are dropped."""
        endpoint = self._endpoint
        async with self._slots.slot():
            started = time.monotonic()
            try:
                response = await asyncio.wait_for(self._call(endpoint, request), self._timeout_s)
                choice = response.choices[0]
                written = _without_keys(choice.message.content or "")
                refusal = (getattr(choice.message, "provider_specific_fields", None) or {}).get("refusal")
                reason = _without_keys(str(choice.finish_reason or "none given"))
            except Exception as error:  # LiteLLM lets provider-specific parsing errors through: any type may arrive
                if endpoint.api_base and not self._answered and _never_sent(error):
                    hint = "start the server, or correct `--api-base`"
                    raise ModelError(f"no server at {endpoint.api_base}", hint) from error
                explained = _explain(error, endpoint, self._timeout_s)
                if isinstance(explained, CallFailed) and not _nothing_taken(error):
                    # Providers bill a reply that comes too late as a whole.
                    explained.usage = self.estimate(request) if _timed_out(error) else self.sent(request)
                raise explained from error
        self._answered = True
        text, usage = _without_thoughts(written), _usage(response, written, endpoint.model, self.sent(request))
        if not text.strip():
            message = f"{endpoint.model} sent an empty reply (finish reason: {visible(reason)[:80]})"
            if refusal or reason == "content_filter":
                raise CallRefused(message, "choose another model with `--model`", usage=usage)
            hint = "reasoning took all its tokens: give an `--effort`, which adds room, or a lower one"
            cut = reason == "length"
            raise CallFailed(message, hint if cut else "", usage=usage, transient=not cut)
        latency_s = round(time.monotonic() - started, 3)
        model = _without_keys(str(response.model or endpoint.model))
        return Reply(text=text, model=model, usage=usage, latency_s=latency_s, cut=reason == "length")

    @cached_property
    def _endpoint(self) -> Endpoint:
        return _find_endpoint(self._name, self._api_base)

    async def _call(self, endpoint: Endpoint, request: LLMRequest) -> Any:
        """Make a call; a server that refuses the form of a reply is asked for text, now and from then on."""
        settings: dict[str, Any] = {"temperature": request.temperature}
        if request.effort:  # models that reason refuse or ignore other temperatures than their own
            settings = {"reasoning_effort": request.effort}
        if "claude" in endpoint.model and endpoint.provider != "openai":  # others cache every common beginning
            settings["cache_control_injection_points"] = [{"location": "message", "role": "system"}]
        may_take_forms = endpoint.api_base or _litellm().supports_response_schema(endpoint.model)
        if form := request.form if self._takes_forms and may_take_forms else None:
            named = {"name": "reply", "schema": form, "strict": True}
            settings["response_format"] = {"type": "json_schema", "json_schema": named}
        try:
            return await _litellm().acompletion(
                model=endpoint.model,
                messages=[_in_openai_form(message) for message in request.messages],
                **settings,
                max_tokens=_most_tokens(request),
                api_base=endpoint.api_base,
                api_key=endpoint.api_key,
                timeout=self._timeout_s,
                num_retries=0,
                max_retries=0,
                drop_params=True,
            )
        except Exception as error:
            if form is None or getattr(error, "status_code", None) not in _FORM_REFUSED:
                raise
            self._takes_forms = False
            return await self._call(endpoint, request)


def _most_tokens(request: LLMRequest) -> int:
    """Return the limit on a call's completion: providers count the reasoning as part of it."""
    return request.max_tokens + _REASONING_TOKENS.get(request.effort, 0)


def _efforts(model: str) -> tuple[str, ...] | None:
    """Return the reasoning efforts that LiteLLM lists for a model; None if it lists nothing about the model."""
    litellm = _litellm()
    if "reasoning_effort" not in (litellm.get_supported_openai_params(model) or ()):
        return ()
    try:
        entry = litellm.model_cost.get(model) or litellm.model_cost[litellm.get_model_info(model)["key"]]
    except Exception:  # LiteLLM raises bare exceptions for models that it does not list
        return None
    if not entry.get("supports_reasoning"):
        return ()
    if levels := entry.get("reasoning_effort_levels"):
        return tuple(levels)
    rare = ("xhigh", "max")  # listed where a model has them; the other levels where it lacks them
    return tuple(
        level for level in get_args(Effort) if entry.get(f"supports_{level}_reasoning_effort", level not in rare)
    )


def _in_openai_form(message: Message) -> dict[str, Any]:
    if not message.pictures:
        return {"role": message.role, "content": message.content}
    parts: list[dict[str, Any]] = [{"type": "text", "text": message.content}]
    for picture in message.pictures:
        place = {"url": f"data:image/png;base64,{picture.png}", "detail": "low"}
        parts += [{"type": "text", "text": picture.caption}, {"type": "image_url", "image_url": place}]
    return {"role": message.role, "content": parts}


@cache
def _litellm() -> ModuleType:
    """Import LiteLLM without its price list from the network, `.env` file and log lines."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    os.environ.setdefault("LITELLM_MODE", "PRODUCTION")
    import litellm
    from litellm.llms.custom_httpx.http_handler import AsyncHTTPHandler
    from litellm.llms.openai.common_utils import BaseOpenAILLM

    # A redirect would take the key and the prompt to another host.
    AsyncHTTPHandler.create_client = _staying(AsyncHTTPHandler.create_client)
    BaseOpenAILLM._get_async_http_client = staticmethod(_staying(BaseOpenAILLM._get_async_http_client))  # pyright: ignore[reportPrivateUsage]
    litellm.suppress_debug_info = True
    # aiohttp's sessions outlive their event loop, and log that: a run has many loops.
    litellm.disable_aiohttp_transport = True
    for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    # LiteLLM's warning of an unusual answer.
    warnings.filterwarnings("ignore", "Pydantic serializer warnings", UserWarning)
    return litellm


def _staying(make_client: Callable[..., Any]) -> Callable[..., Any]:

    @wraps(make_client)
    def make(*args: Any, **options: Any) -> Any:
        client = make_client(*args, **options)
        if client is not None:
            client.follow_redirects = False
        return client

    return make


def _find_endpoint(name: str, api_base: str | None) -> Endpoint:
    litellm = _litellm()
    model, provider = name, _provider(name)
    if provider is None and api_base:
        model, provider = f"openai/{name}", "openai"
    if provider is None:
        hint = "name it as `provider/model`, such as `openai/gpt-4o`, or give the server's address with `--api-base`"
        raise ModelError(f"no provider is known for the model `{name}`", hint)
    # Credentials other than keys may come from profiles and metadata servers.
    missing = [key for key in litellm.validate_environment(model)["missing_keys"] if key.endswith("_API_KEY")]
    if missing and not api_base:
        raise CredentialsError(f"the model `{name}` needs an API key", f"run `export {missing[0]}=...` first")
    return Endpoint(
        model=model,
        provider=provider,
        api_base=api_base,
        api_key=PLACEHOLDER_KEY if missing else None,
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
    """Return the usage of an answered call, from the server's counts where plausible."""
    counts: Any = getattr(response, "usage", None)
    prompt, completion = (_count(getattr(counts, f"{part}_tokens", None)) for part in ("prompt", "completion"))
    counted = prompt + completion
    prompt, completion = prompt or sent.prompt_tokens, completion or tokens_in(text)
    price, listed, cached = _price(model, prompt, completion), None, 0
    with suppress(Exception):  # LiteLLM raises bare exceptions for models without a price
        told = getattr(counts.prompt_tokens_details, "cached_tokens", None) or 0
        if counted == prompt + completion and 0 <= told <= prompt:
            cached = told
            listed = _litellm().completion_cost(response, model=model)  # this price knows of cached tokens
    return Usage(
        prompt_tokens=prompt,
        completion_tokens=completion,
        cost_usd=listed if listed is not None and 0 < listed < math.inf else price,
        calls=1,
        cached_tokens=cached,
        estimated_tokens=prompt + completion - counted,
    )


def _count(tokens: Any) -> int:
    """Return a server's count of tokens; 0 if missing or implausible."""
    return int(tokens) if isinstance(tokens, int | float) and 0 < tokens <= _MOST_TOKENS else 0


# Errors of providers in the user's terms: the whole run fails, or one call fails and may be tried again.

_MOST_CHARACTERS = 300
"""Longest kept text of an error, which may be a whole page [characters]."""
_NO_KEY = re.compile(
    r"insufficient[_ ](quota|balance|credit)|billing_hard_limit|credit balance is too low|"
    r"api[_ ]key[_ ](not[_ ]valid|invalid)",
    re.IGNORECASE,
)
_NO_MODEL = re.compile(r"model_not_found|not a valid model|invalid model (name|id)", re.IGNORECASE)
"""Phrases of providers for an empty account or an unknown model, with any status."""

_SAID_FIRST = 40
"""Characters of an error that may name its kind; later text may quote the prompt."""

_PASSING = (408, 409, 425, 429)
"""Statuses below 500 after which the same request may succeed."""

_LATE_ATTEMPTS = 2
"""Attempts at a call that takes too long: each may be billed as a whole."""

_LIMITED_S = 15.0
"""Wait after a refusal for too many requests, where the server names none: most limits are per minute [s]."""

_NEVER_SENT = ("ConnectError", "ConnectTimeout", "ClientConnectorError")
"""Errors of HTTP clients when nobody listens at an address."""


def _explain(error: Exception, endpoint: Endpoint, timeout_s: float) -> RewardgenError:
    """Return the error to raise for LiteLLM's: for the run if no request can succeed, else for this call."""
    status = getattr(error, "status_code", None)
    detail, place = _detail(error), endpoint.api_base or endpoint.provider
    words = " ".join([detail[:_SAID_FIRST], str(status), *_codes(error)])
    if (response := _response(error)) is not None and 300 <= response.status_code < 400:
        to = one_line(_without_keys(response.headers.get("Location", "another address")), 100)
        return ModelError(f"{place} redirects to {to}", "give the address that answers with `--api-base`")
    if _timed_out(error):
        message = f"{endpoint.model} did not answer within {timeout_s:g} s"
        return CallFailed(message, "raise `--call-timeout-s`", attempts=_LATE_ATTEMPTS)
    if status in (401, 402, 403) or _NO_KEY.search(words):
        key = f"{endpoint.provider.upper()}_API_KEY"  # some providers have others
        hint = f"check the account and the key: `export {key}=...`" if key in os.environ else "check your credentials"
        return CredentialsError(f"{place} refused the API key or account: {detail}", hint)
    if status == 404 or _NO_MODEL.search(words):
        return ModelError(f"{place} has no model `{endpoint.model}`: {detail}", _model_hint(endpoint))
    if isinstance(status, int) and 400 <= status < 500 and status not in _PASSING:
        return CallRefused(f"{endpoint.model} refused the request: {detail}", "choose another model with `--model`")
    wait_s = _retry_after_s(error)
    if wait_s is None and status == 429:
        wait_s = _LIMITED_S
    return CallFailed(f"call of {endpoint.model} failed: {detail}", retry_after_s=wait_s)


def _timed_out(error: BaseException) -> bool:
    return isinstance(error, TimeoutError) or type(error).__name__ == "Timeout"


def _never_sent(error: BaseException) -> bool:
    return any(type(cause).__name__ in _NEVER_SENT for cause in _causes(error))


def _nothing_taken(error: BaseException) -> bool:
    """Return True if a call cost nothing: it was never sent, or the server answered with an error."""
    response = _response(error)
    return _never_sent(error) or (response is not None and response.status_code >= 400)


def _response(error: BaseException) -> Any:
    """Return the server's response with an error or a redirect; None without one."""
    # LiteLLM reports status 500 for many other faults.
    others = (cause for cause in _causes(error) if not type(cause).__module__.startswith("litellm"))
    responses = (getattr(cause, "response", None) for cause in others)
    return next(
        (one for one in responses if isinstance(status := getattr(one, "status_code", 0), int) and status >= 300), None
    )


def _causes(error: BaseException) -> list[BaseException]:
    chain: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and cause not in chain:
        chain.append(cause)
        cause = cause.__cause__ or cause.__context__
    return chain


def _codes(error: Exception) -> list[str]:
    bodies = [body for cause in _causes(error) if isinstance(body := getattr(cause, "body", None), dict)]
    return [str(body[name])[:80] for body in bodies for name in ("type", "code") if body.get(name)]


def _detail(error: Exception) -> str:
    """Return the provider's text in one line, without LiteLLM's prefixes, tracebacks and keys."""
    text = (str(error) or type(error).__name__).partition("Traceback (most recent call last)")[0]
    text = re.sub(r"^.*?Exception - ", "", text, flags=re.DOTALL)
    return " ".join(visible(_without_keys(text)[: 4 * _MOST_CHARACTERS]).split())[:_MOST_CHARACTERS]


def _without_keys(text: str) -> str:
    """Return a server's text without the user's keys: a server may echo what it was sent."""
    for name, value in os.environ.items():
        if name.endswith("_API_KEY") and len(value) > 7:
            text = text.replace(value, "***")
    return text


def _without_thoughts(text: str) -> str:
    """Return a reply without the reasoning that some servers leave in it; a template may have opened it unseen."""
    answer = _THOUGHTS.sub("", text)
    return "" if answer.lstrip().startswith(("<think>", "<thinking>")) else answer


def _model_hint(endpoint: Endpoint) -> str:
    base = (endpoint.api_base or "").rstrip("/")
    if base and not base.endswith("/v1"):
        return f"OpenAI-compatible addresses usually end in `/v1`: check `--api-base {base}` and the model's name"
    if base:
        return f"check the model's name: {base}/models lists the server's"
    model = endpoint.model.removeprefix(f"{endpoint.provider}/")
    listed = sorted(_litellm().models_by_provider.get(endpoint.provider, ()))
    names = [name.removeprefix(f"{endpoint.provider}/") for name in listed]
    close = nearest(model, names)
    return f"did you mean `{close}`?" if close else "check the model's name with the provider"


def _retry_after_s(error: Exception) -> float | None:
    """Return the seconds of `Retry-After`; LiteLLM keeps headers in one of two attributes."""
    response = getattr(error, "response", None)
    for headers in (getattr(error, "litellm_response_headers", None), getattr(response, "headers", None)):
        try:
            wait_s = float(headers["retry-after"]) if headers else math.nan
        except (KeyError, ValueError):
            continue
        if math.isfinite(wait_s):
            return max(wait_s, 0.0)
    return None
