"""What a provider's error means for the user, and whether trying again helps."""

from __future__ import annotations

import difflib
import http.client
import json
import os
import re
import socket
import urllib.parse
import urllib.request
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple

from rewardgen.core.errors import CredentialsError, ModelError, RewardgenError
from rewardgen.core.text import visible
from rewardgen.llm.protocol import CallFailed, CallRefused

LISTING_TIMEOUT_S = 5.0
_MOST_LISTED, _MOST_NAMES, _LONGEST_NAME = 1_000_000, 1_000, 100
"""Bytes of a server's list of models, models in it, and characters of a name."""
_MOST_TOLD = 300
"""Characters of an error: it may hold a whole page."""


class Endpoint(NamedTuple):
    """Where calls go."""

    model: str
    """With the provider's prefix."""
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
"""What providers say of an account or a model, with whatever status, in codes or at the beginning of what they say."""

_SAID_FIRST = 40
"""Characters of an error in which its kind is looked for: further on it may quote the prompt."""

_PASSING = (408, 409, 425, 429)
"""Statuses below 500 after which the same request may succeed."""

_NEVER_SENT = ("ConnectError", "ConnectTimeout", "ClientConnectorError")
"""What clients of HTTP call it when nobody listens at an address."""


def explain(error: Exception, endpoint: Endpoint, timeout_s: float) -> RewardgenError:
    """The error to raise instead of a provider's. May ask the server for its models, so it can take seconds.

    What no request could pass (key, account, model) is an error for the run, what another may pass fails the call.

    Args:
        error: What LiteLLM raised.
        endpoint: Where the call went.
        timeout_s: The time limit of the call [s].
    """
    status = getattr(error, "status_code", None)
    detail = _detail(error)
    told = " ".join([detail[:_SAID_FIRST], str(status), *_codes(error)])
    kind = type(error).__name__
    if isinstance(error, TimeoutError) or kind == "Timeout":
        return CallFailed(f"{endpoint.model} did not answer within {timeout_s:g} s", "raise `--call-timeout-s`")
    if status in (401, 402, 403) or _NO_KEY.search(told):
        return CredentialsError(f"{_place(endpoint)} refused the API key or account: {detail}", _key_hint(endpoint))
    if status == 404 or _NO_MODEL.search(told):
        if endpoint.api_base and (other := _other_base(endpoint)):
            return ModelError(f"{endpoint.api_base} is no address of an OpenAI-compatible API: {detail}", other)
        return ModelError(f"{_place(endpoint)} has no model `{endpoint.model}`: {detail}", _model_hint(endpoint))
    refused = isinstance(status, int) and 400 <= status < 500 and status not in _PASSING
    if refused or kind in ("ContentPolicyViolationError", "ContextWindowExceededError"):
        return CallRefused(f"{endpoint.model} refused the request: {detail}", "choose another model with `--model`")
    return CallFailed(f"call of {endpoint.model} failed: {detail}", retry_after_s=_retry_after_s(error))


def causes(error: BaseException) -> list[BaseException]:
    """An error, and those in whose handling it was raised.

    Args:
        error: What LiteLLM raised.
    """
    found: list[BaseException] = []
    at: BaseException | None = error
    while at is not None and at not in found:
        found.append(at)
        at = at.__cause__ or at.__context__
    return found


def nothing_taken(error: BaseException) -> bool:
    """Whether a call certainly cost nothing: nobody listened, or the server itself answered with an error.

    Args:
        error: What LiteLLM raised, which makes a status 500 of much that is none.
    """
    others = [each for each in causes(error) if not type(each).__module__.startswith("litellm")]
    statuses = [getattr(getattr(each, "response", None), "status_code", None) for each in others]
    refused = any(isinstance(each, int) and each >= 400 for each in statuses)
    return refused or any(type(each).__name__ in _NEVER_SENT for each in others)


def somebody_listens(address: str) -> bool:
    """Whether a server takes connections; also if that cannot be told, as behind a proxy.

    Args:
        address: Of the server, such as `http://127.0.0.1:8000/v1`.
    """
    try:
        parts = urllib.parse.urlsplit(address)
        port = parts.port or {"http": 80}.get(parts.scheme, 443)
    except ValueError:
        return True
    host = parts.hostname or ""
    if not host or (parts.scheme in urllib.request.getproxies() and not urllib.request.proxy_bypass(host)):
        return True
    try:
        with socket.create_connection((host, port), timeout=LISTING_TIMEOUT_S):
            return True
    except OSError:
        return False


def _codes(error: Exception) -> list[str]:
    """What the body of a provider's error calls it."""
    bodies = [body for each in causes(error) if isinstance(body := getattr(each, "body", None), dict)]
    return [str(body[name])[:80] for body in bodies for name in ("type", "code") if body.get(name)]


def _place(endpoint: Endpoint) -> str:
    return endpoint.api_base or endpoint.provider


def _detail(error: Exception) -> str:
    """The provider's own words in one line, without LiteLLM's prefixes and tracebacks and without any key."""
    text = (str(error) or type(error).__name__).partition("Traceback (most recent call last)")[0]
    text = re.sub(r"^.*?Exception - ", "", text, flags=re.DOTALL)
    for name, value in os.environ.items():
        if name.endswith("_API_KEY") and len(value) > 7:
            text = text.replace(value, "***")
    return " ".join(visible(text[: 4 * _MOST_TOLD]).split())[:_MOST_TOLD]


def _key_hint(endpoint: Endpoint) -> str:
    variable = f"{endpoint.provider.upper()}_API_KEY"
    return f"check the key and the account: `export {variable}=...`"


def _model_hint(endpoint: Endpoint) -> str:
    names = _listed_models(endpoint) if endpoint.api_base else endpoint.known_models
    if not names:
        return "check the model's name with the provider"
    wanted = endpoint.model.removeprefix(f"{endpoint.provider}/")
    bare = [name.removeprefix(f"{endpoint.provider}/") for name in names]
    close = difflib.get_close_matches(wanted, bare, n=3, cutoff=0.5)
    if close:
        return "did you mean " + " or ".join(f"`{name}`" for name in close) + "?"
    return "models that exist: " + ", ".join(bare[:12]) + (", ..." if len(bare) > 12 else "")


def _other_base(endpoint: Endpoint) -> str:
    """Where the API of the same server is, if it is not at the address that was given; empty if that is not known."""
    base = (endpoint.api_base or "").rstrip("/")
    if _listed_models(endpoint):
        return ""
    for other in (f"{base}/v1", *(base[: place.start()] + "/v1" for place in re.finditer(r"/(v\d+|chat)\b", base))):
        if _listed_models(endpoint._replace(api_base=other)):
            return f"did you mean `--api-base {other}`?"
    return ""


def _listed_models(endpoint: Endpoint) -> tuple[str, ...]:
    """The names that an OpenAI-compatible server lists; none if it does not say."""
    request = urllib.request.Request(f"{(endpoint.api_base or '').rstrip('/')}/models")
    if endpoint.api_key:
        request.add_header("Authorization", f"Bearer {endpoint.api_key}")
    try:
        with urllib.request.urlopen(request, timeout=LISTING_TIMEOUT_S) as response:
            listed = json.loads(response.read(_MOST_LISTED))["data"]
            return tuple(visible(str(entry["id"]))[:_LONGEST_NAME] for entry in listed[:_MOST_NAMES])
    except (OSError, ValueError, LookupError, TypeError, RecursionError, http.client.HTTPException):
        return ()


def _retry_after_s(error: Exception) -> float | None:
    """Seconds or an HTTP date in `Retry-After`; LiteLLM keeps the headers in one of two places."""
    for headers in (
        getattr(error, "litellm_response_headers", None),
        getattr(getattr(error, "response", None), "headers", None),
    ):
        if headers and (value := headers.get("retry-after")):
            return _seconds(value)
    return None


def _seconds(value: Any) -> float | None:
    try:
        return max(float(value), 0.0)
    except ValueError:
        pass
    try:
        return max((parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds(), 0.0)
    except (TypeError, ValueError, OverflowError):
        return None
