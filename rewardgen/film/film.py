"""The films of a run: the best of each generation beside its parent, and the chosen reward beside the human one.

`films_of` reads which ones there are, `make_films` makes them.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rewardgen.core.errors import RewardgenError
from rewardgen.core.files import explain_os_error
from rewardgen.film.film_index import Film, add_films, films_folder, films_of
from rewardgen.film.shooting import SECONDS, Plan, Take, TakePhase, shoot, take_of
from rewardgen.store.history import History
from rewardgen.store.run_folder import RunFolder

__all__ = ["Film", "films_of", "make_films", "plan_of", "plans_for"]

_CHOSEN = "The chosen reward"
_MOST_GENERATIONS = 4
"""Of which the best is filmed; of more, the first and the last ones."""


def make_films(
    folder: RunFolder,
    history: History,
    *,
    seconds: float = SECONDS,
    draw: bool = False,
    agreed: bool = False,
    note: Callable[[str], None] = lambda text: None,
) -> list[Film]:
    """Film a whole run; what has been filmed is not filmed again.

    Args:
        folder: The run's.
        history: What is known of it.
        seconds: That a film lasts at most.
        draw: Whether to draw the model where OpenGL could render it.
        agreed: Whether the user agreed to run the task file of a run that they did not start here.
        note: Is told how it goes, in a line.

    Returns:
        All films that there are now.

    Raises:
        UsageError: The run was not started here, and its task is none that is shipped.
        RewardgenError: The task cannot be simulated, or a file cannot be written.
    """
    if not (plans_for(folder, history) or films_of(folder)):
        return []
    with _alone(folder):
        there = {each.name for each in films_of(folder)}
        plans = [each for each in plans_for(folder, history) if each.name not in there]
        if plans:
            announcement = f"making {len(plans)} films; Ctrl-C leaves them out"
            options = {"seconds": seconds, "draw": draw, "agreed": agreed, "note": note, "announcement": announcement}
            shoot(folder, history, plans, **options)
        titles = {each.name: each.title for each in plans_for(folder, history)}
        found = films_of(folder)
        # A run that went on may have chosen another reward since.
        stale = [each for each in found if each.title.startswith(_CHOSEN) or each.name in titles]
        told = {each.name: titles.get(each.name, f"Candidate {each.id}") for each in stale}
        if any(told[each.name] != each.title for each in stale):
            add_films(folder, [each.model_copy(update={"title": told.get(each.name, each.title)}) for each in found])
    return films_of(folder)


@contextmanager
def _alone(folder: RunFolder) -> Iterator[None]:
    """Wait until no other process makes films of a run: who runs it and who watches it may both come to its end."""
    path = films_folder(folder) / ".lock"
    try:
        path.parent.mkdir(exist_ok=True)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o644)
    except OSError as error:
        raise explain_os_error(path, error) from error
    with open(handle, "a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def plans_for(folder: RunFolder, history: History) -> list[Plan]:
    """The films that tell a run, as far as its policies are there."""
    return [*_of_search(folder, history), *_of_finals(folder, history)]


def plan_of(folder: RunFolder, history: History, id: str, *, seed: int | None = None) -> Plan:
    """The film of one reward alone.

    Args:
        folder: The run's.
        history: What is known of it.
        id: A candidate, `human` or `sparse`.
        seed: Of the training whose policy is shown; that with the middle fitness if not given.

    Raises:
        UsageError: It was not trained, or not with this seed.
        RunFolderError: Its policies are gone.
    """
    return Plan(take_of(folder, history, id, seed=seed), title_of(history, id), sentence=_sentence(history))


def title_of(history: History, id: str) -> str:
    """What a film of one reward is called."""
    if id in history.baselines:
        return f"The task's own {id} reward"
    return f"{_CHOSEN}, {id}" if history.summary and history.summary.chosen == id else f"Candidate {id}"


def _of_search(folder: RunFolder, history: History) -> Iterator[Plan]:
    bests = {each.best.candidate_id: each.index for each in reversed(history.generations) if each.best}
    chosen = sorted((index, id) for id, index in bests.items())
    for index, id in [*chosen[:1], *chosen[1:][-(_MOST_GENERATIONS - 1) :]]:
        take, record = _take(folder, history, id, "search"), history.record(id)
        if take is None or record is None:
            continue
        parents = [found for each in record.candidate.parents if (found := _take(folder, history, each, "search"))]
        title = f"The best of generation g{index:02d}, {id}"
        title += f", beside its parent {parents[0].id}" if parents else ""
        yield Plan(take, title, parents[0] if parents else None)


def _of_finals(folder: RunFolder, history: History) -> Iterator[Plan]:
    chosen = history.summary.chosen if history.summary else None
    take = _take(folder, history, chosen, "final") if chosen else None
    if take is None:
        return
    human, sentence = _take(folder, history, "human", "final"), _sentence(history)
    if human:
        yield Plan(take, f"{_CHOSEN}, {take.id}, beside the human reward", human, sentence)
    yield Plan(take, title_of(history, take.id), None, sentence)


def _take(folder: RunFolder, history: History, id: str, phase: TakePhase) -> Take | None:
    try:
        return take_of(folder, history, id, phases=(phase,))
    except RewardgenError:
        return None


def _sentence(history: History) -> str:
    """What was asked for."""
    return history.config.goal if history.config else ""
