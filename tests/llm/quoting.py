"""What of a prompt is the prompt's own."""

from __future__ import annotations

import re


def unquoted(text: str) -> str:
    """The lines of a prompt that stand in no block of code and in no quotation.

    Args:
        text: The prompt.
    """
    kept, fence = [], ""
    for line in text.splitlines():
        marks = re.match("`{3,}", line)
        if fence:
            fence = "" if line.startswith(fence) and not line.strip("`") else fence
        elif marks:
            fence = marks[0]
        elif not line.startswith("> "):
            kept.append(line)
    return "\n".join(kept)
