"""Seeds where they decide: the best candidates of a search get further seeds until it is settled which is the best.

With as many trainings in all, that picks a better reward than the same number of seeds for every candidate, unless
candidates differ far more than seeds do: docs/statistics.md has the simulation.
"""

from __future__ import annotations

from collections.abc import Mapping

from rewardgen.core.config import FURTHER_SHARE
from rewardgen.search.context import Context
from rewardgen.search.evaluating import train
from rewardgen.store.history import Opening
from rewardgen.store.ranking import Ranking, leads


def settle(run: Context, generation: int, *, to_the_end: bool) -> None:
    """Give the leaders further seeds, one each in every round.

    Args:
        run: The run.
        generation: Index of the generation that was trained last; after the last one, how many there were.
        to_the_end: Whether to go on until the order is settled or the seeds are used up; else there is one round.
    """
    history = run.history
    finished = not to_the_end and history.generations[generation].finished
    while True:
        sources = {record.candidate.id: record.candidate.source for record in run.records() if record.result}
        train(run, "search", sources)
        rounds = [each for each in history.openings if (each.phase, each.generation) == ("search", generation)]
        if finished or run.time_up or (rounds and not to_the_end):
            return
        seeds = _round(run)
        if not seeds:
            return
        opening = Opening(phase="search", generation=generation, seeds=seeds)
        run.journal.record("seeds-opened", **opening.model_dump(mode="json"))


def _round(run: Context) -> dict[str, tuple[int, ...]]:
    history, config = run.history, run.config
    ranking = run.parts.judge.rank(run.records())
    counts = {id: len(history.seeds("search", id)) for id in ranking.ids}
    spent = sum(len(seeds) for (phase, _), seeds in history.further.items() if phase == "search")
    left = len(ranking.ids) * len(history.search_seeds) // FURTHER_SHARE - spent
    assert history.training is not None
    first = history.search_seeds[0]
    if run.config.max_steps is not None:
        left = min(left, int((run.steps_left - run.final_steps) // history.training.env_steps))
    ids = contenders(ranking, counts, config.leaders, config.leader_seeds)[: max(0, left)]
    return {id: (first + counts[id],) for id in ids}


def contenders(ranking: Ranking, counts: Mapping[str, int], leaders: int, most: int) -> list[str]:
    """The leaders of which any may be the best, those with the fewest seeds first; none if it is settled.

    Args:
        ranking: Of all candidates.
        counts: Seeds that each of them has.
        leaders: How many of the best count.
        most: Seeds beyond which a candidate gets no more.
    """
    first = ranking.ranks[:leaders]
    open_ = [each.candidate_id for each in first[1:] if not leads(first[0], each)]
    ids = [first[0].candidate_id, *open_] if open_ else []
    return sorted((id for id in ids if counts[id] < most), key=counts.__getitem__)
