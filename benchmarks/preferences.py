"""`python -m benchmarks preferences`: is the reward that simulated teachers choose as good as the fittest one?

Nothing is trained and nobody is asked. The candidates of recorded runs are compared by the fitness of their recorded
episodes, with the weaknesses of each kind of teacher.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, median
from typing import NamedTuple

from benchmarks.figures import Figure, Report, Say
from rewardgen.api.runs import open_run
from rewardgen.core.asynchrony import run_coroutine
from rewardgen.core.errors import UsageError
from rewardgen.search.comparing import next_question
from rewardgen.search.judge import FitnessJudge, PreferenceJudge
from rewardgen.search.teachers.protocol import TeacherSetup
from rewardgen.search.teachers.rules import KINDS, SimulatedTeacher
from rewardgen.store.comparisons import Comparison
from rewardgen.store.history import History
from rewardgen.store.ranking import leads
from rewardgen.store.records import CandidateRecord
from rewardgen.store.run_folder import RunFolder


class PreferenceOptions(NamedTuple):
    """Options of the measurement.

    Attributes:
        answers: Answers at most.
        repetitions: Times that each kind of teacher judges each run, with other draws.
    """

    answers: int = 40
    repetitions: int = 5

    def quick(self) -> PreferenceOptions:
        """The same in less time."""
        return self._replace(repetitions=1)


class Choice(NamedTuple):
    """The candidate that a teacher chose, against the fittest one.

    Attributes:
        within_noise: True if the fittest one does not lead it by more than noise.
        lost: Fitness that it lacks, as a share of the range of all candidates.
        answers: Answers that were given.
    """

    within_noise: bool
    lost: float
    answers: int


def bench_preferences(runs: Sequence[str], options: PreferenceOptions, say: Say) -> Report:
    """Let each kind of simulated teacher choose among each run's candidates.

    Args:
        runs: Folders of runs.
        options: What to measure.
        say: Told what goes on.

    Raises:
        UsageError: No run is named, or a run has fewer than two trained candidates.
        RewardgenError: A folder is no run.
    """
    if not runs:
        raise UsageError("there is no run whose candidates could be compared", "name folders of runs")
    figures: list[Figure] = []
    for kind in KINDS:
        choices: list[Choice] = []
        for ref in runs:
            run = open_run(ref)
            records = [record for id in run.history.ids() if (record := run.history.record(id))]
            if len(FitnessJudge().rank(records).ranks) < 2:
                raise UsageError(f"{ref} has fewer than two trained candidates", "name other runs")
            choices += [
                _choice(kind, run.folder, run.history, records, options.answers, repetition)
                for repetition in range(options.repetitions)
            ]
        say(f"{kind}: {len(choices)} choices")
        figures += [
            Figure(
                name="within noise of the fittest",
                subject=kind,
                unit="",
                values=(fmean(each.within_noise for each in choices),),
            ),
            Figure(name="fitness lost, mean", subject=kind, unit="", values=(fmean(each.lost for each in choices),)),
            Figure(name="answers, median", subject=kind, unit="", values=(median(each.answers for each in choices),)),
        ]
    return Report(
        bench="preferences",
        settings={"runs": len(runs), **options._asdict()},
        figures=tuple(figures),
        notes=("Share of choices within noise of the fittest candidate; fitness lost as a share of the run's range.",),
    )


def _choice(
    kind: str, folder: RunFolder, history: History, records: Sequence[CandidateRecord], most: int, repetition: int
) -> Choice:
    teacher = SimulatedTeacher(TeacherSetup(kind, folder, history))
    answers: list[Comparison] = []
    while len(answers) < most and (question := next_question(records, answers, repetition)):
        number = len(answers)
        answered = run_coroutine(teacher.answer(question, number + most * repetition))
        fields = {**question.model_dump(), "number": number, "generation": 0, "teacher": kind}
        answers.append(Comparison.model_validate(fields | {"answer": answered.answer}))
    judged = [
        record.model_copy(update={"comparisons": tuple(each for each in answers if record.candidate.id in each.ids)})
        for record in records
    ]
    chosen, fitness = PreferenceJudge().rank(judged).ids[0], FitnessJudge().rank(records)
    best, mine = fitness.ranks[0], fitness.rank(chosen)
    assert mine is not None
    span = best.estimate - fitness.ranks[-1].estimate
    return Choice(not leads(best, mine), (best.estimate - mine.estimate) / (span or 1.0), len(answers))
