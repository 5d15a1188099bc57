"""Writes the golden prompts anew: `python -m tests.golden.regenerate`. Read what changed before it is kept."""

from __future__ import annotations

from tests.golden.requests import HERE, rendered, text

if __name__ == "__main__":
    for name, messages in rendered().items():
        (HERE / "prompts" / f"{name}.md").write_text(text(messages))
