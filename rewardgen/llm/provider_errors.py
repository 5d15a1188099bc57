"""Errors of providers in the user's terms: the whole run fails, or one call fails and may be tried again."""

from __future__ import annotations

import difflib
import math
import os
import re
from typing import NamedTuple

from rewardgen.core.errors import CredentialsError, ModelError, RewardgenError
from rewardgen.core.text import visible
from rewardgen.llm.protocol import CallFailed, CallRefused

_MOST_CHARACTERS = 300
"""Characters of an error that are kept: it may hold a whole page."""


class Endpoint(NamedTuple):
    """A model at a provider or server."""

    model: str
    """Name with the provider's prefix."""
    provider: str
    api_base: str | None
    api_key: str | None
    """None to let LiteLLM take it from the environment."""
    known_models: tuple[str, ...] = ()


_NO_KEY = re.compile(
    r"insufficient[_ ](quota|balance|credit)|billing_hard_limit|credit balance is too low|"
    r"api[_ ]key[_ ](not[_ ]valid|invalid)",
    re.IGNORECASE,
)
_NO_MODEL = re.compile(r"model_not_found|not a valid model|invalid model (name|id)", re.IGNORECASE)
"""Words of providers for an empty account or an unknown model, whatever the status."""

_SAID_FIRST = 40
"""Characters of an error in which its kind is looked for: further on it may quote the prompt."""

_PASSING = (408, 409, 425, 429)
"""Statuses below 500 after which the same request may succeed."""

_NEVER_SENT = ("ConnectError", "ConnectTimeout", "ClientConnectorError")
"""Errors of HTTP clients when nobody listens at an address."""


def explain(error: Exception, endpoint: Endpoint, timeout_s: float) -> RewardgenError:
    """The error to raise instead of a provider's: for the run if no request could succeed, else for this call.

    Args:
        error: The error that LiteLLM raised.
        endpoint: Where the call went.
        timeout_s: The time limit of the call [s].
    """
    status = getattr(error, "status_code", None)
    detail, place = _detail(error), endpoint.api_base or endpoint.provider
    words = " ".join([detail[:_SAID_FIRST], str(status), *_codes(error)])
    kind = type(error).__name__
    if isinstance(error, TimeoutError) or kind == "Timeout":
        return CallFailed(f"{endpoint.model} did not answer within {timeout_s:g} s", "raise `--call-timeout-s`")
    if status in (401, 402, 403) or _NO_KEY.search(words):
        hint = f"check the key and the account: `export {endpoint.provider.upper()}_API_KEY=...`"
        return CredentialsError(f"{place} refused the API key or account: {detail}", hint)
    if status == 404 or _NO_MODEL.search(words):
        return ModelError(f"{place} has no model `{endpoint.model}`: {detail}", _model_hint(endpoint))
    refused = isinstance(status, int) and 400 <= status < 500 and status not in _PASSING
    if refused or kind in ("ContentPolicyViolationError", "ContextWindowExceededError"):
        return CallRefused(f"{endpoint.model} refused the request: {detail}", "choose another model with `--model`")
    return CallFailed(f"call of {endpoint.model} failed: {detail}", retry_after_s=_retry_after_s(error))


def never_sent(error: BaseException) -> bool:
    """True if nobody listened at the address."""
    return any(type(cause).__name__ in _NEVER_SENT for cause in _causes(error))


def nothing_taken(error: BaseException) -> bool:
    """True if a call certainly cost nothing: it was never sent, or the server itself answered with an error."""
    # LiteLLM makes a status 500 of much that is none.
    others = [cause for cause in _causes(error) if not type(cause).__module__.startswith("litellm")]
    statuses = [getattr(getattr(cause, "response", None), "status_code", None) for cause in others]
    return never_sent(error) or any(isinstance(status, int) and status >= 400 for status in statuses)


def _causes(error: BaseException) -> list[BaseException]:
    """An error, and those in whose handling it was raised."""
    chain: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and cause not in chain:
        chain.append(cause)
        cause = cause.__cause__ or cause.__context__
    return chain


def _codes(error: Exception) -> list[str]:
    """Names of a provider's error in its body."""
    bodies = [body for cause in _causes(error) if isinstance(body := getattr(cause, "body", None), dict)]
    return [str(body[name])[:80] for body in bodies for name in ("type", "code") if body.get(name)]


def _detail(error: Exception) -> str:
    """The provider's own words in one line, without LiteLLM's prefixes and tracebacks and without any key."""
    text = (str(error) or type(error).__name__).partition("Traceback (most recent call last)")[0]
    text = re.sub(r"^.*?Exception - ", "", text, flags=re.DOTALL)
    for name, value in os.environ.items():
        if name.endswith("_API_KEY") and len(value) > 7:
            text = text.replace(value, "***")
    return " ".join(visible(text[: 4 * _MOST_CHARACTERS]).split())[:_MOST_CHARACTERS]


def _model_hint(endpoint: Endpoint) -> str:
    base = (endpoint.api_base or "").rstrip("/")
    if base and not base.endswith("/v1"):
        return f"OpenAI-compatible addresses usually end in `/v1`: check `--api-base {base}` and the model's name"
    if base:
        return f"check the model's name: {base}/models lists the server's"
    model = endpoint.model.removeprefix(f"{endpoint.provider}/")
    names = [name.removeprefix(f"{endpoint.provider}/") for name in endpoint.known_models]
    close = difflib.get_close_matches(model, names, n=3, cutoff=0.5)
    return f"did you mean `{close[0]}`?" if close else "check the model's name with the provider"


def _retry_after_s(error: Exception) -> float | None:
    """Seconds in `Retry-After`; LiteLLM keeps the headers in one of two places."""
    response = getattr(error, "response", None)
    for headers in (getattr(error, "litellm_response_headers", None), getattr(response, "headers", None)):
        try:
            wait_s = float(headers["retry-after"]) if headers else math.nan
        except (KeyError, ValueError):
            continue
        if math.isfinite(wait_s):
            return max(wait_s, 0.0)
    return None
