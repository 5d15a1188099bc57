"""Writes the golden files anew: `python -m tests.golden.regenerate`. Read what changed before it is kept."""

from __future__ import annotations

from tests.golden.catalogues import CATALOGUES, catalogue_text
from tests.golden.requests import HERE, rendered, text

if __name__ == "__main__":
    for name, messages in rendered().items():
        (HERE / "prompts" / f"{name}.md").write_text(text(messages))
    for name in CATALOGUES:
        (HERE / "catalogues" / f"{name}.txt").write_text(catalogue_text(name))
