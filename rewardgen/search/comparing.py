"""The step that asks a run's teacher to compare episodes, until the best candidate is settled or answers run out."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence

from rewardgen.core.formatting import count
from rewardgen.search.context import Context
from rewardgen.search.judge import judged_ids
from rewardgen.search.teachers.protocol import Answered
from rewardgen.store.comparisons import MOST_WORDS, Clip, Comparison, Question
from rewardgen.store.history import History
from rewardgen.store.measurements import STARTS
from rewardgen.store.records import CandidateRecord

_AGAIN_EVERY, _APART = 8, 4
"""Every so many questions an earlier one is repeated that lies at least so many questions back."""


def compare(run: Context, generation: int) -> None:
    """Ask the run's teacher, if it has one, for as many answers as a generation may have."""
    history = run.history
    if run.parts.teacher is None or history.generations[generation].finished:
        return
    while not run.time_up and not history.exhausted:
        if sum(each.generation == generation for each in history.comparisons) >= run.config.answers:
            return
        question = next_question(run.records(), history.comparisons, run.config.seed)
        if question is None or not _ask(run, generation, question):
            return


def next_question(records: Sequence[CandidateRecord], comparisons: Sequence[Comparison], seed: int) -> Question | None:
    """Return the question that tells most about which candidate is the best, or now and then an earlier one.

    Equal records and answers give the same question; None if the best one is settled, or there are none to compare.
    """
    from rewardgen.search.belief import believe, next_pair  # imports numpy

    number, ids = len(comparisons), judged_ids(records)
    rng = random.Random(f"{seed}/question/{number}")
    if len(ids) < 2:
        return None
    pair = next_pair(believe(ids, comparisons), comparisons)
    if pair is None:
        return None
    if number % _AGAIN_EVERY == _AGAIN_EVERY - 1 and (earlier := _to_repeat(comparisons)):
        return Question(left=earlier.right, right=earlier.left, repeats=earlier.number)
    first, second = rng.sample(pair, 2)
    results = {record.candidate.id: record.result for record in records if record.result}
    one, other = ({run.seed for run in results[id].slices if run.outcomes} for id in (first, second))
    if not one & other:
        return None
    seen = {(each.left.seed, each.left.start) for each in comparisons if {*each.ids} == {*pair}}
    films = [(seed, start) for seed in sorted(one & other) for start in range(STARTS)]
    trained, start = rng.choice([film for film in films if film not in seen] or films)
    left, right = (Clip(candidate_id=id, seed=trained, start=start) for id in (first, second))
    return Question(left=left, right=right)


def _to_repeat(comparisons: Sequence[Comparison]) -> Comparison | None:
    """Return the latest question not yet repeated, far enough back."""
    repeated = {each.repeats for each in comparisons}
    open_ones = [each for each in comparisons[:-_APART] if each.repeats is None and each.number not in repeated]
    return next((each for each in reversed(open_ones) if each.answer != "unclear"), None)


def _ask(run: Context, generation: int, question: Question) -> bool:
    """Ask one question and record the answer; False if a limit ended the asking."""
    number, began, teacher = len(run.history.comparisons), time.monotonic(), run.parts.teacher
    answers: list[Answered] = []
    assert teacher is not None

    async def ask() -> None:
        answered = await run.within_budget(teacher.answer(question, number), None)
        answers.extend([answered] if answered else [])

    run.gather([ask])
    for answered in answers:
        latest = run.history.comparisons[-1] if answered.again else None
        asked, number = (latest, latest.number) if latest else (question, number)
        comparison = Comparison(
            left=asked.left,
            right=asked.right,
            repeats=asked.repeats,
            number=number,
            generation=generation,
            answer=answered.answer,
            teacher=run.config.judge,
            why=answered.why[:MOST_WORDS],
            seconds=time.monotonic() - began,
        )
        run.journal.record("compared", comparison=comparison.model_dump(mode="json"))
    return bool(answers)


def asked_text(history: History) -> str:
    """Return the number of answers, and how many more are expected to settle the best candidate."""
    from rewardgen.search.belief import MOST_LEFT, answers_left, believe  # imports numpy

    comparisons = history.comparisons
    ids = judged_ids([record for id in history.ids() if (record := history.record(id))])
    if len(ids) < 2:
        return count(len(comparisons), "answer")
    more = answers_left(believe(ids, comparisons), comparisons)
    about = "at least" if more == MOST_LEFT else "about"
    left = f"{about} {more} more to find the best" if more else "the best is found"
    return f"{count(len(comparisons), 'answer')}, {left}"
