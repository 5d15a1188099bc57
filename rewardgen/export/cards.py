"""The card of an export: what it is, what it reached, how it is used, and what was tested."""

from __future__ import annotations

import importlib.metadata
import platform
import re

from rewardgen import __version__
from rewardgen.core.formatting import count, number, percent
from rewardgen.store.history import History
from rewardgen.view.closing import MEASURED

_TITLES = {
    "torch": "A reward for torch",
    "gymnasium": "A Gymnasium environment with a designed reward",
    "sb3": "A policy for Stable-Baselines3",
    "onnx": "A policy as ONNX and TorchScript",
    "mjlab": "Reward terms for mjlab",
    "isaaclab": "Reward terms for Isaac Lab",
}


def card_text(history: History, id: str, phase: str, kind: str, use: str, tested: str, needs: tuple[str, ...]) -> str:
    """The README of an export, in Markdown. What comes from a run stands in it as plain text.

    Args:
        history: What is known of the run.
        id: Of the reward.
        phase: In which it was trained; empty if it was not.
        kind: Of the export.
        use: How it is used, in Markdown.
        tested: What was tested, in Markdown.
        needs: Packages that it needs.
    """
    card = history.card
    assert card is not None
    variables = ["| variable | unit | parts | meaning |", "|---|---|---|---|"]
    variables += [
        "| " + " | ".join([_code(each.name), *map(_cell, (each.unit, ", ".join(each.parts), each.meaning))]) + " |"
        for each in card.variables
    ]
    lines = [
        f"# {_TITLES.get(kind, kind)}: {_cell(card.name)}",
        "",
        *_fenced(card.description),
        "",
        f"From run `{history.run_id}`, reward `{id}`, by rewardgen {__version__}.",
        "",
        "## What it reached",
        "",
        *_numbers(history, id, phase),
        "",
        "## How to use it",
        "",
        use,
        "",
        "## What was tested",
        "",
        tested,
        "",
        f"It was made with Python {platform.python_version()}, {', '.join(filter(None, map(_version, needs)))}.",
        "",
        "## The task",
        "",
        f"A control step takes {card.control_step_s:g} s; a full episode has {card.episode_steps} steps.",
        "",
        *variables,
        "",
        f"`action`: {card.action_size} entries, {_cell(', '.join(card.action_parts))}; from"
        f" {_cell(str(list(card.action_low)))} to {_cell(str(list(card.action_high)))}.",
        "",
        *_fenced(f"fitness: {card.fitness}\nsuccess: {card.success}\nan observation: {card.observation}"),
        "",
    ]
    return "\n".join(lines)


def _numbers(history: History, id: str, phase: str) -> list[str]:
    row = next((each for each in history.summary.rows if each.candidate_id == id), None) if history.summary else None
    if row and row.fitness:
        low, high = number(row.fitness.low), number(row.fitness.high)
        bounds = f" [{low}, {high}] (IQM, 95 % interval)" if row.seeds > 1 else ""
        told = f"- fitness {number(row.fitness.value)}{bounds} over {count(row.seeds, 'fresh seed')}"
        return [told, f"- success rate {percent(row.success_rate)}", "", MEASURED]
    result = history.result("final" if phase == "final" else "search", id) if phase else None
    if result is None or result.fitness is None:
        return ["It was not trained to the end: nothing is known of it."]
    told = (
        f"- fitness {number(result.fitness)} in the search, over {len(result.slices)} seeds; not measured on fresh ones"
    )
    return [told, f"- success rate {percent(result.success_rate)}", "", MEASURED]


def _version(name: str) -> str:
    try:
        return f"{name} {importlib.metadata.version(name)}"
    except importlib.metadata.PackageNotFoundError:
        return ""


def _code(name: str) -> str:
    return f"`{re.sub('[^A-Za-z0-9_]', '', name)}`"


def _cell(text: str) -> str:
    """Text in a line or a cell, in which nothing is markup."""
    return re.sub(r"([\\`*_{}\[\]<>()#+!|~&])", r"\\\1", " ".join(text.split()))


def _fenced(text: str) -> list[str]:
    """Text as it is, between fences that it does not hold."""
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return [f"{fence}text", text, fence]
