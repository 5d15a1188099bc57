"""The table of docs/security.md, from the expectations of each attack: `python -m tests.security.tables`."""

import re
from pathlib import Path
from typing import get_args

from tests.security.attack import Gate, Kind
from tests.security.corpus import ATTACKS

PAGE = Path(__file__).parent.parent.parent / "docs" / "security.md"
_HEADER = [
    *("class", "attempts", "refused by reading it", "refused at the probe", "failed in training"),
    *("ran without effect", "effects", "layer 2 alone stops"),
]
_PLACE = r"<!-- table: attacks -->\n(.*?)<!-- end -->"


def table() -> str:
    """Count the attacks of each class by the place that stops them."""
    rows = []
    for kind in get_args(Kind):
        attacks = [attack for attack in ATTACKS.values() if attack.kind == kind]
        gates = [sum(attack.gate == gate for attack in attacks) for gate in get_args(Gate)]
        rows.append([kind, len(attacks), *gates, 0, sum(attack.alone for attack in attacks)])
    sums = [f"**{sum(row[place] for row in rows)}**" for place in range(1, len(_HEADER))]
    lines = [_HEADER, ["---", *["---:"] * (len(_HEADER) - 1)], *rows, ["**all**", *sums]]
    return "".join(f"| {' | '.join(map(str, line))} |\n" for line in lines)


def written(text: str) -> str:
    """Return the table in a page."""
    match = re.search(_PLACE, text, re.S)
    assert match
    return match[1]


if __name__ == "__main__":
    PAGE.write_text(re.sub(_PLACE, f"<!-- table: attacks -->\n{table()}<!-- end -->", PAGE.read_text(), flags=re.S))
