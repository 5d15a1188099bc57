"""The films of a run: the best of each generation beside its parent, and the chosen reward beside the human one."""

from __future__ import annotations

from rewardgen.core.errors import RewardgenError
from rewardgen.film.film_index import Film, films_of
from rewardgen.film.shooting import SECONDS, Plan, Take, shoot, take_of
from rewardgen.llm.protocol import Note, silent
from rewardgen.store.history import History, Phase
from rewardgen.store.records import BASELINES
from rewardgen.store.run_folder import RunFolder

_MOST_GENERATIONS = 4
"""Generations whose best is filmed; the first and the last ones."""


def make_films(
    folder: RunFolder,
    history: History,
    *,
    seconds: float = SECONDS,
    agreed: bool = False,
    note: Note = silent,
) -> list[Film]:
    """Film a whole run, without repeating films that exist; all films there are then. See `shoot`."""
    done = {film.name for film in films_of(folder)}
    plans = [at_pace(plan, seconds) for plan in plans_for(folder, history)]
    if missing := [plan for plan in plans if plan.name not in done]:
        shoot(folder, history, missing, seconds=seconds, agreed=agreed, note=note)
    return films_of(folder)


def plans_for(folder: RunFolder, history: History) -> list[Plan]:
    """The films that show a run, as far as its policies exist."""
    bests = {each.best.candidate_id: each.index for each in reversed(history.generations) if each.best}
    order, plans = sorted((index, id) for id, index in bests.items()), list[Plan]()
    for index, id in [*order[:1], *order[1:][-(_MOST_GENERATIONS - 1) :]]:
        take, record = _take(folder, history, id, "search"), history.record(id)
        if take is None or record is None:
            continue
        parent = next(filter(None, (_take(folder, history, each, "search") for each in record.candidate.parents)), None)
        beside = f", beside its parent {parent.id}" if parent else ""
        plans.append(Plan(take, f"The best of generation g{index:02d}, {id}{beside}", parent))
    chosen = history.summary.chosen if history.summary else None
    if chosen and (take := _take(folder, history, chosen, "final")):
        if human := _take(folder, history, "human", "final"):
            plans.append(Plan(take, f"Candidate {chosen} beside the human reward", human))
        plans.append(plan_of(folder, history, chosen))
    return plans


def plan_of(folder: RunFolder, history: History, id: str, *, seed: int | None = None) -> Plan:
    """The film of one reward alone; see `take_of`."""
    title = f"The task's own {id} reward" if id in BASELINES else f"Candidate {id}"
    return Plan(take_of(folder, history, id, seed=seed), title)


def at_pace(plan: Plan, seconds: float, speed: float = 1.0) -> Plan:
    """The same film with another length at most or speed, beside the usual film and not in its place."""
    if (seconds, speed) == (SECONDS, 1.0):
        return plan
    pace = "" if speed == 1.0 else f" at {speed:g} times its speed"
    return plan._replace(title=f"{plan.title}, {seconds:g} s{pace}", variant=f"{seconds:g}s-x{speed:g}")


def _take(folder: RunFolder, history: History, id: str, phase: Phase) -> Take | None:
    try:
        return take_of(folder, history, id, phases=(phase,))
    except RewardgenError:
        return None
