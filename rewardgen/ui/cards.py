"""A task as the designer sees it: the very text of its prompt."""

from __future__ import annotations

from rich.console import RenderableType
from rich.markdown import Markdown

from rewardgen.llm.prompts import render
from rewardgen.store.records import TaskCard


def card_page(card: TaskCard, formatted: bool) -> RenderableType:
    """The task card.

    Args:
        card: The card.
        formatted: Set headings and tables for a terminal; else the Markdown text as it is.
    """
    text = render("task/card", card=card, goal="")
    return Markdown(text) if formatted else text
