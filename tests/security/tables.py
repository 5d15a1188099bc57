"""The tables of docs/security.md, made from what is pinned for each attack: `python -m tests.security.tables`."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from tests.security.attack import Attack, Gate, Kind
from tests.security.corpus import ATTACKS

PAGE = Path(__file__).parent.parent.parent / "docs" / "security.md"
_STAGES = {
    "source": "refused by reading it",
    "probe": "refused at the probe",
    "training": "failed in training",
    "none": "ran without effect",
}
_FULL = ["class", "attempts", *_STAGES.values(), "effects"]
_ALONE = ["class", "attempts", "stopped", "not stopped"]


def tables() -> dict[str, str]:
    """Name of a table in the page to its text."""
    return {"full system": _full_system(), "layer 2 alone": _layer_two_alone()}


def written(text: str) -> dict[str, str]:
    """The tables as they stand in a page.

    Args:
        text: The page.
    """
    return {name: re.search(_place(name), text, re.S).group(1) for name in tables()}  # type: ignore[union-attr]


def _full_system() -> str:
    rows = [[kind, len(own), *(_count(own, gate) for gate in get_args(Gate)), 0] for kind, own in _by_kind().items()]
    return _table(_FULL, rows)


def _layer_two_alone() -> str:
    rows = []
    for kind, own in _by_kind().items():
        stopped = sum(attack.alone for attack in own)
        rows.append([kind, len(own), stopped, len(own) - stopped])
    return _table(_ALONE, rows)


def _by_kind() -> dict[str, list[Attack]]:
    return {kind: [each for each in ATTACKS.values() if each.kind == kind] for kind in get_args(Kind)}


def _count(attacks: Sequence[Attack], gate: str) -> int:
    return sum(attack.gate == gate for attack in attacks)


def _table(header: list[str], rows: list[list[object]]) -> str:
    sums = [sum(row[place] for row in rows) for place in range(1, len(header))]  # type: ignore[misc]
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows, ["**all**", *(f"**{each}**" for each in sums)]]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def _place(name: str) -> str:
    return rf"<!-- table: {name} -->\n(.*?)\n<!-- end -->"


def main() -> None:
    """Write the tables into the page."""
    text = PAGE.read_text()
    for name, table in tables().items():
        text = re.sub(_place(name), f"<!-- table: {name} -->\n{table}\n<!-- end -->", text, flags=re.S)
    PAGE.write_text(text)


if __name__ == "__main__":
    main()
