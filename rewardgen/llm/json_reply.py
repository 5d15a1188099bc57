"""The one JSON object in a language model's reply."""

from __future__ import annotations

import json
from typing import Any

from rewardgen.reward.extraction import fenced_blocks


def json_object(text: str) -> dict[str, Any] | None:
    """The object in a reply: in its last fenced block that is one, else between the first and the last brace.

    Args:
        text: The reply, which may have words or a fence around it.

    Returns:
        The object; None if there is none.
    """
    for block in (*reversed(fenced_blocks(text)), text[text.find("{") : text.rfind("}") + 1]):
        try:
            value = json.loads(block)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            return value
    return None
