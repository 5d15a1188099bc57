"""Which candidates are better: the one answer that parents, stop rules, finalists and every report go by.

To add a judge, write a class with `rank` and register what makes it of a run's configuration:

    class Shortest:
        def rank(self, records):
            trained = [each for each in records if each.result and not each.result.failure]
            ranks = [Rank(candidate_id=each.candidate.id, estimate=-len(each.candidate.source)) for each in trained]
            return Ranking(ranks=tuple(sorted(ranks, key=lambda each: each.estimate, reverse=True)))

    JUDGES.register("shortest", lambda config: Shortest())

A run then takes it by `RunConfig(judge="shortest")`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from rewardgen.core.config import RunConfig
from rewardgen.core.registry import Registry
from rewardgen.core.statistics import standard_errors
from rewardgen.store.ranking import Rank, Ranking, leads
from rewardgen.store.records import CandidateRecord


class Judge(Protocol):
    """Ranks candidates by what their trainings showed.

    It is asked again and again, also for parts of the records, and by a resumed run as by the one before: the same
    records always get the same ranking.
    """

    def rank(self, records: Sequence[CandidateRecord]) -> Ranking:
        """The ranking of candidates.

        Args:
            records: The candidates, in the order in which they were planned; some were never trained, or failed. The
                task's own rewards may be among them, to compare candidates with.
        """
        ...


JUDGES: Registry[Callable[[RunConfig], Judge]] = Registry("judge")


class FitnessJudge:
    """Ranks by the task's fitness; ties by success rate, then by longer episodes, then by the order of planning.

    The estimate is the mean over seeds, its standard error by the spread over seeds of all candidates together.
    """

    def rank(self, records: Sequence[CandidateRecord]) -> Ranking:
        """See `Judge.rank`. A candidate with a failed seed has no fitness and is not ranked."""
        found = []
        for record in records:
            result = record.result
            if result is None or result.fitness is None:
                continue
            values = [each.final_fitness for each in result.slices if each.final_fitness is not None]
            lengths = [each.curve[-1].episode_steps for each in result.slices if each.curve]
            merit = (round(result.fitness, 6), result.success_rate or 0.0, sum(lengths) / max(len(lengths), 1))
            found.append((merit, record.candidate.id, values))
        errors, freedom = standard_errors([values for *_, values in found])
        ranked = sorted(zip(found, errors, strict=True), key=lambda each: each[0][0], reverse=True)
        return Ranking(
            ranks=tuple(
                # What a candidate with one seed would have with another, nobody knows. Where no seeds differ at all,
                # there is no noise.
                Rank(
                    candidate_id=id,
                    estimate=merit[0],
                    standard_error=error,
                    freedom=(freedom or None) if len(values) > 1 else 0,
                )
                for (merit, id, values), error in ranked
            )
        )


JUDGES.register("fitness", lambda config: FitnessJudge())


def improves(record: CandidateRecord, ranking: Ranking) -> bool:
    """Whether a candidate is ranked above all its parents; one that has none, or is not ranked itself, is not."""
    own = ranking.rank(record.candidate.id)
    parents = [rank for each in record.candidate.parents if (rank := ranking.rank(each))]
    return own is not None and bool(parents) and all(own.estimate > each.estimate for each in parents)


def stalled_generations(records: Sequence[CandidateRecord], judge: Judge) -> int:
    """Generations in a row, up to the last, that brought no gain beyond noise.

    A gain is a new best candidate that leads the best before it by more than noise. The first generation with a ranked
    candidate is a gain.
    """
    best, stalled = "", 0
    for generation in range(max((record.candidate.generation for record in records), default=-1) + 1):
        ranking = judge.rank([record for record in records if record.candidate.generation <= generation])
        before, now = ranking.rank(best), ranking.best
        stalled = 0 if now and (before is None or leads(now, before)) else stalled + 1
        best = now.candidate_id if now else best
    return stalled
