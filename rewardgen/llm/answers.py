"""What a server's answer says: its text and its counts of tokens, as far as they can be read and believed."""

from __future__ import annotations

import json
import math
from typing import Any, NamedTuple

from rewardgen.llm.provider_errors import causes

CHARACTERS_PER_TOKEN = 3.0
"""For estimates; English and Python take about 4, so this errs on the safe side."""

MOST_TOKENS = 10_000_000
"""Of one call. A server that counts more is not believed."""


class Answer(NamedTuple):
    """What of an answer is of interest; the counts are as the server gave them."""

    text: str
    model: str
    finish_reason: str
    prompt_tokens: Any
    completion_tokens: Any
    response: Any = None
    """LiteLLM's form of it."""


def answer_of(response: Any) -> Answer:
    """An answer as LiteLLM has read it.

    Args:
        response: A `litellm.ModelResponse`.
    """
    choice = response.choices[0] if response.choices else None
    counted = getattr(response, "usage", None)
    return Answer(
        text=choice.message.content or "" if choice else "",
        model=str(response.model or ""),
        finish_reason=str(getattr(choice, "finish_reason", None) or "none given"),
        prompt_tokens=getattr(counted, "prompt_tokens", None),
        completion_tokens=getattr(counted, "completion_tokens", None),
        response=response,
    )


def listen(details: dict[str, Any], heard: list[str]) -> None:
    """Keep what LiteLLM tells its loggers of a server's answer before it takes it apart.

    Args:
        details: What it tells.
        heard: The answer as JSON is added here.
    """
    if isinstance(answer := details.get("original_response"), str):
        heard.append(answer)


def raw_answer(heard: list[str]) -> Answer | None:
    """The text of an answer that LiteLLM refused for its form: half a token, a text in parts; None if it holds none.

    Args:
        heard: From `listen`.
    """
    try:
        told = json.loads(heard[-1])
        content, counted = told["choices"][0]["message"]["content"], told.get("usage")
    except (LookupError, TypeError, AttributeError, ValueError, RecursionError):
        return None
    if isinstance(content, list):
        content = "".join(str(each.get("text") or "") for each in content if isinstance(each, dict))
    if not isinstance(content, str) or not content.strip():
        return None
    counts = counted if isinstance(counted, dict) else {}
    return Answer(
        text=content,
        model=str(told.get("model") or ""),
        finish_reason="none given",
        prompt_tokens=counts.get("prompt_tokens"),
        completion_tokens=counts.get("completion_tokens"),
    )


def unread(error: BaseException) -> str:
    """The answer that a decoder failed on; empty if none did.

    Args:
        error: What LiteLLM raised.
    """
    documents = [getattr(each, name, None) for each in causes(error) for name in ("doc", "object")]
    return max((str(each) for each in documents if isinstance(each, str | bytes)), key=len, default="")


def tokens_in(text: str) -> int:
    """The tokens of a text, estimated by its length."""
    return math.ceil(len(text.encode(errors="replace")) / CHARACTERS_PER_TOKEN)


def count(tokens: Any) -> int:
    """A server's count of tokens; 0 where it is missing or cannot be meant."""
    return int(tokens) if isinstance(tokens, int | float) and 0 < tokens <= MOST_TOKENS else 0
