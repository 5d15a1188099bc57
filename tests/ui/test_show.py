import io
import re
from types import SimpleNamespace
from typing import Any

import pytest

from rewardgen.cli.robots import confirmed
from rewardgen.store.records import PredictionOutcome
from rewardgen.ui.console import SafeConsole
from rewardgen.ui.show import baseline_page, candidate_page, draft_page, run_page
from rewardgen.view.facts import unified_diff
from tests.ui.story import EDIT, until


def page(renderable, width=100, **options):
    console = SafeConsole(width=width, file=io.StringIO(), markup=False, highlight=False, **options)
    console.print(renderable)
    return console.file.getvalue()  # type: ignore[attr-defined]


def candidate(id, **options):
    history = until("finished")
    record = history.record(id)
    assert record is not None
    return page(candidate_page(history, record), **options)


def test_a_run_page_holds_every_candidate_the_closing_table_and_the_lineage():
    text = page(run_page(until("finished"), "finished"))
    assert all(f"g0{generation}-k{number}" in text for generation in (0, 1) for number in range(1, 6))
    assert re.search(r"★ g01-k5 +1655 \[1543, 1767\] +83 % \[\d+, \d+\] +0\.86 +3", text)
    assert re.search(r"human +1850", text)
    assert re.search(r"sparse +465", text)
    assert "It does not beat the human reward" in " ".join(text.split())
    text = page(run_page(until("trained", 5), "interrupted"))
    assert "interrupted" in text
    assert "generation g00 (1 of at most 2)" in " ".join(text.split())


def test_ancestors_stand_nearest_first_each_once_indented_by_steps_back():
    history = until("finished")
    for id, parents in (("g00-k2", ("g00-k3",)), ("g00-k1", ("g00-k5", "g00-k3"))):
        for key in [(id, 0), (id, 1)]:
            if design := history.designed.get(key):
                history.designed[key] = design.model_copy(update={"operator": "edit", "parents": parents})
    record = history.record("g01-k4")
    assert record
    text = page(candidate_page(history, record))
    drawn = text[text.index("Lineage") :].splitlines()[1:6]
    assert [line.partition(",")[0] for line in drawn] == [
        "  g01-k4 crossover of g00-k2 and g00-k1",
        "    g00-k2 edit of g00-k3",
        "    g00-k1 edit of g00-k5 and g00-k3",
        "      g00-k3 draft",
        "      g00-k5 draft",
    ]


@pytest.mark.parametrize("width", [80, 120])
def test_no_line_of_a_page_is_wider_than_the_terminal(width):
    history = until("finished")
    pages = [page(run_page(history, "finished"), width)]
    pages += [candidate(id, width=width, force_terminal=True, color_system=None) for id in history.ids()]
    assert max(len(line) for text in pages for line in text.splitlines()) <= width


def test_code_and_changes_in_a_pipe_are_what_the_file_holds_and_on_a_terminal_numbered():
    history = until("finished")
    record, parent = history.record("g01-k1"), history.record("g00-k2")
    assert record and parent
    source = EDIT.replace("4.0", "4.5").replace("Move", "Long. " * 40).replace("    effort", "\teffort")
    longer = record.candidate.model_copy(update={"source": source + "\n\n"})
    record = record.model_copy(update={"candidate": longer})
    text = page(candidate_page(history, record), 80)
    assert f"\nReward\n{source}\n\n\nChange" in text
    assert text.endswith(unified_diff(parent.candidate.source, source + "\n\n", "g00-k2", "g01-k1") + "\n")
    assert "\n    1 def compute_reward" in page(candidate_page(history, record), force_terminal=True, color_system=None)


CANDIDATES = {
    "g00-k2": (
        "reject language/import, line 1: `import os` is not allowed",
        "hint: `torch` and `math` are in scope already; remove the import",
        "-import os",
        "The torso leans back to brake before each hop.",
    ),
    "g00-k3": ("\nFailed\n", "component `upright` is nan (non-finite at step 81920)"),
    "g00-k4": ("the reply holds no code",),
    "g00-k5": ("\nRejected\n", "hint: see g00-k1 for its result"),
    "g01-k4": (
        "g01-k4 crossover of g00-k2 and g00-k1",
        "-    speed = speed_weight * forward_velocity.clamp(-1.0, 4.0)",
        "+    speed = speed_weight * forward_velocity.clamp(-1.0, 7.5)",
    ),
}


@pytest.mark.parametrize("id", CANDIDATES)
def test_a_candidate_shows_its_repair_failure_rejection_or_change_from_its_parent(id):
    text = candidate(id)
    assert all(part in text for part in CANDIDATES[id])


def test_a_candidate_of_a_task_with_a_metric_shows_the_parts_of_its_fitness_on_the_fresh_seeds():
    history = until("finished")
    for key, result in history.trained.items():
        if key[:2] == ("final", "g01-k5"):
            history.trained[key] = result.model_copy(update={"final_parts": {"turned": 0.82, "landed": 0.1}})
    record = history.record("g01-k5")
    assert record and "parts of the fitness: turned 0.82, landed 0.1 " in page(candidate_page(history, record))
    assert "parts of the fitness" not in candidate("g01-k5")


def test_a_baseline_has_a_page_with_its_code_and_result():
    text = page(baseline_page(until("finished"), "human"))
    assert "1850 ± 26" in text
    assert "def compute_reward" in text
    fresh = text[text.index("Training on the fresh seeds") :]
    assert [line.split()[0] for line in fresh.splitlines()[3:6]] == ["5000", "5001", "5002"]


def test_a_prediction_shows_what_was_measured():
    claims = (
        PredictionOutcome(claim="fitness >= 3", outcome="failed", measured=2.1),
        PredictionOutcome(claim="share[jump] >= 0.3", outcome="not checkable"),
    )
    history = until("finished")
    history.studied["g00-k1"] = history.studied["g00-k1"].model_copy(update={"predictions": claims})
    record = history.record("g00-k1")
    assert record is not None
    text = page(candidate_page(history, record))
    assert "fitness >= 3: failed, measured 2.1" in text
    assert "share[jump] >= 0.3: not checkable" in text


def test_a_drafted_metric_is_shown_to_its_last_letter_in_a_narrow_window(capsys):
    line = f"    return {{'fitness': {' + '.join(f'part_{number}' for number in range(40))}}}"
    verdict = SimpleNamespace(authors=(), ambiguous=False, passed=True, faults=(), notes=())
    texts = {"task": "flip", "description": "A flip.", "questions": "", "misses": ""}
    trial = SimpleNamespace(authors=(), verdict=verdict, questions=())
    drafted: Any = SimpleNamespace(trial=trial, holds=True, source=f"def metric():\n{line}\n", **texts)
    assert confirmed(drafted, yes=True)
    assert drafted.source in capsys.readouterr().err
    terminal = page(draft_page(drafted), 80, force_terminal=True, color_system=None)
    assert "".join(line.split()) in "".join(terminal.split())
