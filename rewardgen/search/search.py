"""The search: a loop that designs, reviews, trains and studies generations of rewards, then the finals.

Every step asks the history first and records an event after, so a resumed run walks the same way and repeats nothing
that was finished.
"""

from __future__ import annotations

from rewardgen.core.errors import UsageError
from rewardgen.search.comparing import compare
from rewardgen.search.context import Context
from rewardgen.search.designing import design, review
from rewardgen.search.evaluating import settle, study, train
from rewardgen.search.finals import run_finals
from rewardgen.search.stopping import doubt_steps, stop_reason
from rewardgen.store.history import Summary
from rewardgen.store.records import Slot


def run_search(run: Context) -> Summary:
    """Search until a reason to stop, then train the winner on fresh seeds."""
    generation = 0
    while not (reason := stop_reason(run, generation)):
        slots = _plan(run, generation)
        drafts = design(run, generation, slots)
        accepted = review(run, generation, slots, drafts)
        train(run, "search", {candidate.id: candidate.source for candidate in accepted} | run.history.baselines)
        compare(run, generation)
        settle(run, generation, rounds=1)
        diagnose = run.parts.strategy.learns and not stop_reason(run, generation + 1)
        study(run, slots, diagnose=diagnose)
        _finish(run, generation)
        doubt_steps(run)
        generation += 1
    if not run.history.stop_reason:
        run.journal.record("search-ended", reason=reason)  # further seeds may change the results behind it
    settle(run, generation)
    return run_finals(run, reason)


def first_drafts(run: Context) -> dict[str, str]:
    """Design and review the first generation, and return the sources of its accepted candidates."""
    if stop_reason(run, 0):
        return {}
    slots = _plan(run, 0)
    return {candidate.id: candidate.source for candidate in review(run, 0, slots, design(run, 0, slots))}


def _plan(run: Context, generation: int) -> tuple[Slot, ...]:
    """The slots of a generation, planned once: later results would plan others."""
    if generation == len(run.history.generations):
        records = run.records(before=generation)
        slots = run.parts.strategy.plan(records, generation)
        _require_plan(run, slots)
        plan = [slot.model_dump(mode="json", exclude_defaults=True) for slot in slots]
        run.journal.record("generation-started", generation=generation, slots=plan)
    return run.history.generations[generation].slots


def _require_plan(run: Context, slots: tuple[Slot, ...]) -> None:
    earlier, ids = set(run.history.ids()), [slot.candidate_id for slot in slots]
    problem = "" if slots else "no candidate"
    if repeated := [id for id in ids if ids.count(id) > 1 or id in earlier]:
        problem = f"`{repeated[0]}` twice"
    for slot in slots:
        if missing := [id for id in slot.parents if id not in earlier]:
            problem = f"`{slot.candidate_id}` from the unknown `{missing[0]}`"
        elif slot.operator != "draft" and not slot.parents:
            problem = f"`{slot.candidate_id}` by `{slot.operator}` without a parent"
    if problem:
        message = f"the strategy `{run.config.strategy}` plans {problem}"
        raise UsageError(message, "see `Strategy.plan` and `slot_id` in rewardgen/search/strategy.py")


def _finish(run: Context, generation: int) -> None:
    if not run.history.generations[generation].finished:
        ranking = run.parts.judge.rank(run.records())
        run.journal.record("generation-finished", generation=generation, ranking=ranking.model_dump(mode="json"))
