"""The README of an export: results, use, tests, and the task's variables."""

from __future__ import annotations

import re

from rewardgen import __version__
from rewardgen.core.formatting import count, number, percent
from rewardgen.store.history import History
from rewardgen.view.closing import MEASURED, fitness_text


def card_text(history: History, id: str, kind: str, use: str, tested: str, needs: tuple[str, ...]) -> str:
    """The README of an export, in Markdown. Texts of the run cannot become markup.

    Args:
        history: The run's history.
        id: The exported reward.
        kind: Kind of the export.
        use: How to use the files, in Markdown.
        tested: Tests that were made, in Markdown.
        needs: Packages that the files import.
    """
    card = history.card
    assert card is not None
    cells = [(_code(var.name), *map(_cell, (var.unit, ", ".join(var.parts), var.meaning))) for var in card.variables]
    action_range = _cell(f"{list(card.action_low)} to {list(card.action_high)}")
    objective = f"fitness: {card.fitness}\nsuccess: {card.success}\nan observation: {card.observation}"
    lines = [
        f"# {_cell(card.name)} for {kind}\n",
        f"{_fenced(card.description)}\n",
        f"From run `{history.run_id}`, reward `{id}`, by rewardgen {__version__}.\n",
        f"## Results\n\n{_results(history, id)}\n",
        f"## Use\n\n{use}\n",
        f"## Tests\n\n{tested} Needs {', '.join(needs)}.\n",
        f"## Task\n\nA control step takes {card.control_step_s:g} s; an episode has {card.episode_steps} steps.\n",
        "| variable | unit | parts | meaning |\n|---|---|---|---|",
        *(f"| {' | '.join(row)} |" for row in cells),
        f"\n`action`: {card.action_size} entries, {_cell(', '.join(card.action_parts))}, from {action_range}.\n",
        f"{_fenced(objective)}\n",
    ]
    return "\n".join(lines)


def _results(history: History, id: str) -> str:
    row = next((row for row in history.summary.rows if row.candidate_id == id), None) if history.summary else None
    if row and row.fitness:
        fitness = f"- fitness {fitness_text(row)} (IQM, 95 % interval) over {count(row.seeds, 'fresh seed')}"
        return f"{fitness}\n- success rate {percent(row.success_rate)}\n\n{MEASURED}"
    result = history.result("search", id)
    if result is None or result.fitness is None:
        return "Not trained to the end: no results."
    fitness = f"- fitness {number(result.fitness)} over {len(result.slices)} seeds of the search, not on fresh seeds"
    return f"{fitness}\n- success rate {percent(result.success_rate)}\n\n{MEASURED}"


def _code(name: str) -> str:
    return f"`{re.sub('[^A-Za-z0-9_]', '', name)}`"


def _cell(text: str) -> str:
    """One line without markup."""
    return re.sub(r"([\\`*_{}\[\]<>()#+!|~&])", r"\\\1", " ".join(text.split()))


def _fenced(text: str) -> str:
    """Text between fences that are longer than any in the text."""
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence}text\n{text}\n{fence}"
