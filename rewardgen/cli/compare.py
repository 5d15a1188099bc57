"""`rewardgen runs compare`."""

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
    Parameter(help="A run, or `RUN:CANDIDATE`."),
]
Rewards = Annotated[bool, Parameter(negative="", help="Measure the distance between the rewards.", show_default=False)]


Page = Annotated[Path | None, Parameter(help="Also write an HTML page with curves, differences and distances.")]


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
    """Compare runs or candidates with the first one."""
    sides = [find_reference(side, runs_dir) for side in (one, other, *more)]
    remarks = notes(*(side.history for side in sides))
    measured = [_measured(sides[0], side) for side in sides[1:]] if rewards else []
    named = any(side.named for side in sides)
    facts = [*map(_candidate_facts, sides)] if named else [*map(_run_facts, sides)]
    if page is not None:
        apart = measured or [_measured_if_possible(sides[0], side) for side in sides[1:]]
        write_atomic(page, compare_html(sides, facts, remarks, apart))
    if json:
        print_json(_data(sides, remarks, measured) | {"page": str(page) if page else None})
        return 0
    console = results()
    console.print(comparison_page(facts, [side.source for side in sides] if named else [], remarks))
    for side, comparison in zip(sides[1:], measured, strict=False):
        title = f"Rewards of {sides[0].candidate} and {side.candidate}" if more else "Rewards"
        console.print(distance_page(comparison, title))
    if page is not None:
        messages().print(f"\npage: {page}", soft_wrap=True)
    if not more:
        _suggest(sides[0], sides[1], not measured, runs_dir)
    return 0


def _measured_if_possible(one: Reference, other: Reference) -> Comparison | str:
    """Return the distance of two rewards, or the reason why it is unknown."""
    try:
        return _measured(one, other)
    except RewardgenError as error:
        return f"Their distance was not measured: {error.message}."


def _measured(one: Reference, other: Reference) -> Comparison:
    tasks = [side.history.card.name if side.history.card else "" for side in (one, other)]
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


def _data(sides: Sequence[Reference], remarks: list[str], measured: Sequence[Comparison]) -> dict[str, Any]:
    named = any(side.named for side in sides)
    data: dict[str, Any] = {"runs": [_run_facts(side)._asdict() for side in sides], "notes": remarks}
    data["candidates"] = [_candidate_facts(side)._asdict() for side in sides] if named else None
    apart = [
        {
            "of": [sides[0].reward.candidate_id, side.reward.candidate_id],
            "distance": comparison.distance,
            "components": comparison.same_name,
            "shares": comparison.shares,
        }
        for side, comparison in zip(sides[1:], measured, strict=False)
    ]
    data["rewards"] = apart[0] if len(apart) == 1 else apart or None
    return data


def _suggest(one: Reference, other: Reference, unmeasured: bool, runs_dir: Path) -> None:
    """Suggest comparing the code or the distance of two rewards of one task."""
    cards = one.history.card, other.history.card
    if not (one.has_reward and other.has_reward and cards[0] and cards[1] and cards[0].name == cards[1].name):
        return
    sides = [side.reward.candidate_id for side in (one, other)]
    homes = [home_of(side.folder, runs_dir) for side in (one, other)]
    if homes[0] != homes[1]:
        sides = [f"{side.folder.path}:{side.candidate}" for side in (one, other)]
    command, runs_dir = shlex.join(["runs", "compare", *sides]), homes[0]
    if not (one.named or other.named):
        next_steps((with_runs_dir(command, runs_dir), "the code of the chosen rewards"))
    elif unmeasured:
        next_steps((with_runs_dir(f"{command} --rewards", runs_dir), "the distance between them"))
