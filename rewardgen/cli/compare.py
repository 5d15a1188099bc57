"""`rewardgen runs compare`: two runs, or two candidates, side by side."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from rewardgen.cli.output import Json, RunsDir, home_of, next_steps, print_json, with_runs_dir
from rewardgen.core.errors import UsageError
from rewardgen.critic.review import Comparison
from rewardgen.search.inspect_rewards import compare_rewards
from rewardgen.store.facts import CandidateFacts, RunFacts, candidate_facts, notes, run_facts
from rewardgen.store.history import status_of
from rewardgen.store.reference import Reference, find_reference
from rewardgen.store.run_folder import DEFAULT_RUNS_DIR
from rewardgen.ui.compare import candidates_page, rewards_page, runs_page
from rewardgen.ui.console import results

Side = Annotated[
    str, Parameter(help="`latest`, a run's id or a part of it, or its folder; `RUN:CANDIDATE` for one candidate.")
]
Rewards = Annotated[
    bool, Parameter(negative="", help="Measure how far the two rewards are from each other.", show_default=False)
]


def compare(
    one: Side, other: Side, /, *, rewards: Rewards = False, runs_dir: RunsDir = DEFAULT_RUNS_DIR, json: Json = False
) -> int:
    """Set two runs, or two candidates, side by side."""
    sides = find_reference(one, runs_dir), find_reference(other, runs_dir)
    told = notes(sides[0].history, sides[1].history)
    measured = _measured(*sides) if rewards else None
    if json:
        print_json(_data(*sides, told, measured))
        return 0
    console = results()
    if sides[0].named or sides[1].named:
        first, second = map(_candidate_facts, sides)
        console.print(candidates_page(first, second, (sides[0].source, sides[1].source), told))
    else:
        first, second = map(_run_facts, sides)
        console.print(runs_page(first, second, told))
    if measured:
        console.print(rewards_page(measured.distance, measured.shares, measured.same_name))
    _suggest(*sides, measured is None, runs_dir)
    return 0


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


def _data(one: Reference, other: Reference, told: list[str], measured: Comparison | None) -> dict[str, Any]:
    sides = one, other
    named = bool(one.named or other.named)
    data: dict[str, Any] = {"runs": [_run_facts(each)._asdict() for each in sides], "notes": told}
    data["candidates"] = [_candidate_facts(each)._asdict() for each in sides] if named else None
    data["rewards"] = None
    if measured:
        rewards = [each.reward.candidate_id for each in sides]
        distances = {"distance": measured.distance, "components": measured.same_name, "shares": measured.shares}
        data["rewards"] = {"of": rewards, **distances}
    return data


def _suggest(one: Reference, other: Reference, unmeasured: bool, runs_dir: Path) -> None:
    """The next look at two rewards of one task: their code, or the distance between them."""
    cards = one.history.card, other.history.card
    if not (one.has_reward and other.has_reward and cards[0] and cards[1] and cards[0].name == cards[1].name):
        return
    command = shlex.join(["runs", "compare", one.reward.candidate_id, other.reward.candidate_id])
    runs_dir = home_of(one.folder, runs_dir)
    if not (one.named or other.named):
        next_steps((with_runs_dir(command, runs_dir), "the code of the chosen rewards"))
    elif unmeasured:
        next_steps((with_runs_dir(f"{command} --rewards", runs_dir), "how far they are from each other"))
