"""Judges: the ranking of candidates for parents, stop rules and finals.

To add a judge, write a class with `rank`, and register a function that builds it from a run's configuration:

    class Shortest:
        by_fitness = False

        def rank(self, records):
            trained = [record.candidate for record in records if record.result and not record.result.failure]
            ranks = [Rank(candidate_id=candidate.id, estimate=-len(candidate.source)) for candidate in trained]
            return Ranking(ranks=tuple(sorted(ranks, key=lambda rank: rank.estimate, reverse=True)))

    JUDGES.register("shortest", lambda config: Shortest())

A run uses it with `--judge shortest`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from rewardgen.core.config import DEFAULT_JUDGE, RunConfig
from rewardgen.core.registry import Registry
from rewardgen.core.statistics import standard_errors
from rewardgen.llm.factory import judging_model
from rewardgen.llm.protocol import LLM, Note, silent
from rewardgen.search.teachers import rules as _rules  # noqa: F401  (they register themselves)
from rewardgen.search.teachers.asking import VisionTeacher
from rewardgen.search.teachers.protocol import TEACHERS, Teacher, TeacherSetup
from rewardgen.store.history import History
from rewardgen.store.ranking import Rank, Ranking, leads
from rewardgen.store.records import CandidateRecord
from rewardgen.store.run_folder import RunFolder


class Judge(Protocol):
    """Ranks candidates by the results of their trainings, or by comparisons of their episodes.

    The same records must always give the same ranking, so that a run can be resumed. A judge is also asked for parts of
    the records.
    """

    by_fitness: bool
    """True if it ranks by the task's fitness. If not, further seeds settle nothing, and designers see no fitness."""

    def rank(self, records: Sequence[CandidateRecord]) -> Ranking:
        """Rank candidates.

        Args:
            records: The candidates in the order of planning, some of them untrained or failed. The task's own rewards
                may be among them, for comparison.
        """
        ...


JUDGES: Registry[Callable[[RunConfig], Judge]] = Registry("judge")


class FitnessJudge:
    """Ranks by the task's fitness; ties by success rate, then by longer episodes, then by the order of planning.

    The estimate is the mean over seeds, its standard error by the spread over seeds of all candidates together.
    """

    by_fitness = True

    def rank(self, records: Sequence[CandidateRecord]) -> Ranking:
        """See `Judge.rank`. A candidate with a failed seed has no fitness and is not ranked."""
        measured = []
        for record in records:
            result = record.result
            if result is None or result.fitness is None:
                continue
            values = [run.final_fitness for run in result.slices if run.final_fitness is not None]
            lengths = [run.curve[-1].episode_steps for run in result.slices if run.curve]
            merit = (float(f"{result.fitness:.7g}"), result.success_rate or 0.0, sum(lengths) / max(len(lengths), 1))
            measured.append((merit, record.candidate.id, values))
        errors, freedom = standard_errors([values for *_, values in measured])
        ranked = sorted(zip(measured, errors, strict=True), key=lambda pair: pair[0][0], reverse=True)
        ranks = []
        for (merit, id, values), error in ranked:
            # The noise of a single seed is unknown. Where no seeds differ at all, there is no noise.
            known = (freedom or None) if len(values) > 1 else 0
            ranks.append(Rank(candidate_id=id, estimate=merit[0], standard_error=error, freedom=known))
        return Ranking(ranks=tuple(ranks))


JUDGES.register(DEFAULT_JUDGE, lambda config: FitnessJudge())


class PreferenceJudge:
    """Ranks by a teacher's answers on pairs of episodes (`rewardgen.search.belief`); ties by the order of planning.

    The estimate is a Bradley-Terry strength, with the standard deviation of its posterior.
    """

    by_fitness = False

    def rank(self, records: Sequence[CandidateRecord]) -> Ranking:
        """See `Judge.rank`. A candidate with a failed seed is not ranked."""
        from rewardgen.search.belief import believe  # imports numpy

        ids = judged_ids(records)
        if not ids:
            return Ranking()
        answers = {each.number: each for record in records for each in record.comparisons}
        belief = believe(ids, [answers[number] for number in sorted(answers)])
        found = zip(ids, belief.mean.tolist(), belief.errors.tolist(), strict=True)
        ranks = [Rank(candidate_id=id, estimate=round(mean, 3), standard_error=error) for id, mean, error in found]
        return Ranking(ranks=tuple(sorted(ranks, key=lambda rank: rank.estimate, reverse=True)))


def judged_ids(records: Sequence[CandidateRecord]) -> list[str]:
    """Return the candidates whose episodes can be compared: all that were trained without a failure."""
    return [record.candidate.id for record in records if record.result and record.result.fitness is not None]


def make_judge(config: RunConfig) -> Judge:
    """Build a run's judge: a registered one, or preferences of a teacher."""
    if config.judge in JUDGES:
        return JUDGES.get(config.judge)(config)
    if not judging_model(config.judge):
        TEACHERS.get(config.judge.partition(":")[0], *JUDGES.names(), "PROVIDER/MODEL")
    return PreferenceJudge()


def make_teacher(
    config: RunConfig, folder: RunFolder, history: History, note: Note = silent, llm: LLM | None = None
) -> Teacher | None:
    """Build the teacher whose answers a run's judge needs; None for a judge that needs none."""
    if config.judge in JUDGES:
        return None
    name, _, argument = config.judge.partition(":")
    kind = TEACHERS.get(name) if name in TEACHERS else VisionTeacher
    return kind(TeacherSetup(argument, folder, history, note, llm))


def improves(record: CandidateRecord, ranking: Ranking) -> bool:
    """True if a candidate is ranked above all its ranked parents, of which there must be one."""
    child = ranking.rank(record.candidate.id)
    parents = [rank for id in record.candidate.parents if (rank := ranking.rank(id))]
    return child is not None and bool(parents) and all(child.estimate > parent.estimate for parent in parents)


def stalled_generations(records: Sequence[CandidateRecord], judge: Judge) -> int:
    """Count the latest generations in a row without a gain beyond noise.

    A gain is a new best candidate that leads the previous best by more than noise, or the first ranked candidate. Where
    answers decide, any new best candidate is a gain: few answers hardly ever show more.
    """
    best, stalled = "", 0
    for generation in range(max((record.candidate.generation for record in records), default=-1) + 1):
        ranking = judge.rank([record for record in records if record.candidate.generation <= generation])
        before, now = ranking.rank(best), ranking.best
        gains = now and (before is None or leads(now, before) or (not judge.by_fitness and now.candidate_id != best))
        stalled = 0 if gains else stalled + 1
        best = now.candidate_id if now else best
    return stalled
