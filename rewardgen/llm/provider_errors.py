"""What a provider's error means for the user, and whether trying again helps."""

from __future__ import annotations

import difflib
import json
import os
import re
import urllib.request
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple

from rewardgen.core.errors import CredentialsError, ModelError, RewardgenError
from rewardgen.llm.protocol import CallFailed

LISTING_TIMEOUT_S = 5.0


class Endpoint(NamedTuple):
    """Where calls go."""

    model: str
    """With the provider's prefix."""
    provider: str
    api_base: str | None
    api_key: str | None
    """None to let LiteLLM take it from the environment."""
    known_models: tuple[str, ...] = ()


def explain(error: Exception, endpoint: Endpoint, timeout_s: float) -> RewardgenError:
    """The error to raise instead of a provider's. May ask the server for its models, so it can take seconds.

    Args:
        error: What LiteLLM raised.
        endpoint: Where the call went.
        timeout_s: The time limit of the call [s].
    """
    status = getattr(error, "status_code", None)
    detail = _detail(error)
    kind = type(error).__name__
    if isinstance(error, TimeoutError) or kind == "Timeout":
        return CallFailed(f"{endpoint.model} did not answer within {timeout_s:g} s", "raise `--call-timeout`")
    if status in (401, 402, 403) or "insufficient_quota" in detail:
        return CredentialsError(f"{_place(endpoint)} refused the API key: {detail}", _key_hint(endpoint))
    if status == 404:
        return ModelError(f"{_place(endpoint)} has no model `{endpoint.model}`: {detail}", _model_hint(endpoint))
    if kind == "ContentPolicyViolationError":
        return CallFailed(f"{endpoint.model} refused the prompt by its content policy: {detail}", transient=False)
    if kind == "ContextWindowExceededError":
        return ModelError(f"the prompt is too long for {endpoint.model}: {detail}", "choose a model with more context")
    if status in (400, 413, 422):
        return ModelError(
            f"{_place(endpoint)} will not accept the request: {detail}", "choose another model with `--model`"
        )
    return CallFailed(f"call of {endpoint.model} failed: {detail}", retry_after_s=_retry_after_s(error))


def _place(endpoint: Endpoint) -> str:
    return endpoint.api_base or endpoint.provider


def _detail(error: Exception) -> str:
    """The provider's own words in one line, without LiteLLM's prefixes and without any key."""
    text = re.sub(r"^.*?Exception - ", "", str(error) or type(error).__name__, flags=re.DOTALL)
    for name, value in os.environ.items():
        if name.endswith("_API_KEY") and len(value) > 7:
            text = text.replace(value, "***")
    return " ".join(text.split())[:300]


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


def _listed_models(endpoint: Endpoint) -> tuple[str, ...]:
    """The names that an OpenAI-compatible server lists; none if it does not say."""
    request = urllib.request.Request(f"{(endpoint.api_base or '').rstrip('/')}/models")
    if endpoint.api_key:
        request.add_header("Authorization", f"Bearer {endpoint.api_key}")
    try:
        with urllib.request.urlopen(request, timeout=LISTING_TIMEOUT_S) as response:
            return tuple(str(entry["id"]) for entry in json.load(response)["data"])
    except (OSError, ValueError, LookupError, TypeError):
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
    except (TypeError, ValueError):
        return None
