"""The one JSON object in a language model's reply."""

from __future__ import annotations

import json
from typing import Any


def json_object(text: str) -> dict[str, Any] | None:
    """The object between the first and the last brace of a reply; None if there is no such object.

    Args:
        text: The reply, which may have words or a fence around it.
    """
    try:
        found = json.loads(text[text.find("{") : text.rfind("}") + 1])
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
