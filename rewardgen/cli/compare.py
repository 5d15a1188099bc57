"""`rewardgen runs compare`: runs, or candidates, side by side."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from rewardgen.cli.output import Json, RunsDir, home_of, next_steps, print_json, with_runs_dir
from rewardgen.core.errors import RewardgenError, UsageError
from rewardgen.core.files import write_atomic
from rewardgen.critic.sandboxed import Comparison
from rewardgen.report.compare_page import compare_html
from rewardgen.search.inspect_rewards import compare_rewards
from rewardgen.store.history import status_of
from rewardgen.store.run_folder import DEFAULT_RUNS_DIR
from rewardgen.ui.console import messages, results
from rewardgen.ui.show import comparison_page, distance_page
from rewardgen.view.facts import CandidateFacts, RunFacts, candidate_facts, notes, run_facts
from rewardgen.view.reference import Reference, find_reference

Side = Annotated[
    str,
    Parameter(help="`latest`, a run's id or a part of it, or its folder; `RUN:CANDIDATE` for one candidate."),
]
Rewards = Annotated[
    bool, Parameter(negative="", help="Measure how far the two rewards are from each other.", show_default=False)
]


Page = Annotated[
    Path | None, Parameter(help="Write it as an HTML page too, with curves, interval of the difference and distance.")
]


def compare(
    one: Side,
    other: Side,
    /,
    *more: Side,
    rewards: Rewards = False,
    page: Page = None,
    runs_dir: RunsDir = DEFAULT_RUNS_DIR,
    json: Json = False,
) -> int:
    """Set runs, or candidates, side by side; the first is what the others are compared with."""
    sides = [find_reference(each, runs_dir) for each in (one, other, *more)]
    told = notes(*(each.history for each in sides))
    measured = [_measured(sides[0], each) for each in sides[1:]] if rewards else []
    named = any(each.named for each in sides)
    facts = [*map(_candidate_facts, sides)] if named else [*map(_run_facts, sides)]
    if page is not None:
        apart = measured or [_measured_if_possible(sides[0], each) for each in sides[1:]]
        write_atomic(page, compare_html(sides, facts, told, apart))
    if json:
        print_json(_data(sides, told, measured) | {"page": str(page) if page else None})
        return 0
    console = results()
    console.print(comparison_page(facts, [side.source for side in sides] if named else [], told))
    for side, found in zip(sides[1:], measured, strict=False):
        title = f"Rewards of {sides[0].candidate} and {side.candidate}" if more else "Rewards"
        console.print(distance_page(found, title))
    if page is not None:
        messages().print(f"\npage: {page}", soft_wrap=True)
    if not more:
        _suggest(sides[0], sides[1], not measured, runs_dir)
    return 0


def _measured_if_possible(one: Reference, other: Reference) -> Comparison | str:
    """How far two rewards are apart, or why that is not known: a page can do without."""
    try:
        return _measured(one, other)
    except RewardgenError as error:
        return f"Their distance was not measured: {error.message}."


def _measured(one: Reference, other: Reference) -> Comparison:
    tasks = [each.history.card.name if each.history.card else "" for each in (one, other)]
    if tasks[0] != tasks[1]:
        raise UsageError(
            f"rewards for different tasks, {tasks[0]} and {tasks[1]}, have no distance",
            "compare runs of one task, or leave out `--rewards`",
        )
    return compare_rewards(one.folder, one.history, one.reward, other.reward)


def _run_facts(side: Reference) -> RunFacts:
    return run_facts(side.folder.id, side.history, status_of(side.folder, side.history))


def _candidate_facts(side: Reference) -> CandidateFacts:
    return candidate_facts(side.folder.id, side.history, side.candidate)


def _data(sides: Sequence[Reference], told: list[str], measured: Sequence[Comparison]) -> dict[str, Any]:
    named = any(each.named for each in sides)
    data: dict[str, Any] = {"runs": [_run_facts(each)._asdict() for each in sides], "notes": told}
    data["candidates"] = [_candidate_facts(each)._asdict() for each in sides] if named else None
    apart = [
        {
            "of": [sides[0].reward.candidate_id, side.reward.candidate_id],
            "distance": each.distance,
            "components": each.same_name,
            "shares": each.shares,
        }
        for side, each in zip(sides[1:], measured, strict=False)
    ]
    data["rewards"] = apart[0] if len(apart) == 1 else apart or None
    return data


def _suggest(one: Reference, other: Reference, unmeasured: bool, runs_dir: Path) -> None:
    """The next look at two rewards of one task: their code, or the distance between them."""
    cards = one.history.card, other.history.card
    if not (one.has_reward and other.has_reward and cards[0] and cards[1] and cards[0].name == cards[1].name):
        return
    sides = [each.reward.candidate_id for each in (one, other)]
    homes = [home_of(each.folder, runs_dir) for each in (one, other)]
    if homes[0] != homes[1]:
        sides = [f"{each.folder.path}:{each.candidate}" for each in (one, other)]
    command, runs_dir = shlex.join(["runs", "compare", *sides]), homes[0]
    if not (one.named or other.named):
        next_steps((with_runs_dir(command, runs_dir), "the code of the chosen rewards"))
    elif unmeasured:
        next_steps((with_runs_dir(f"{command} --rewards", runs_dir), "how far they are from each other"))
