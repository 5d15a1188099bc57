"""The table of a suite on a terminal of 80 columns."""

from rich.console import Console

from rewardgen.core.statistics import Interval
from rewardgen.search.suite import SuiteRow, SuiteTable
from rewardgen.ui.show import suite_page


def test_every_number_and_name_is_whole_in_80_columns():
    costs = {"candidates": 15, "search_steps": 1.2e7, "calls": 31, "tokens": 123_000, "cost_usd": 0.41, "minutes": 52.3}
    results = {
        "runs": 5,
        "won": 5,
        "fitness": Interval(value=2.19, low=1.75, high=2.34),
        "human_normalised": Interval(value=-1.25, low=-1.5, high=1.4),
        "improvement": Interval(value=0.68, low=0.41, high=0.87),
    }
    rows = [
        SuiteRow(task=task, strategy=strategy, designer=designer, costs=costs, **results)
        for task in ("half_cheetah", "hopper")
        for strategy, designer in (("best-of-n", "builtin"), ("evolve", "builtin"), ("evolve", "openai/m"))
    ]
    console = Console(width=80, record=True)
    console.print(suite_page(SuiteTable(rows=tuple(rows))))
    shown = console.export_text()
    assert max(map(len, shown.splitlines())) <= 80
    assert shown.count("half_cheetah") == shown.count("hopper") == 2  # once over the results, once over the costs
    whole = ("best-of-n", "openai/m", "[1.75, 2.34]", "[-1.5, 1.4]", "[0.41, 0.87]", "12.00M", "123.0k", "$0.41")
    assert all(cell in shown for cell in whole)
