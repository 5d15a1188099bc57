"""Design requests: the task, parents, earlier ideas in a line each, and the user's remarks on earlier results."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

from rewardgen.analyzer.analyzer import fitness_alone
from rewardgen.core.errors import UsageError
from rewardgen.core.formatting import number, shortened
from rewardgen.core.text import visible
from rewardgen.designer.protocol import MOST_OF_AN_IDEA, idea_of
from rewardgen.reward.observation import observed_names
from rewardgen.reward.stages import stage_names
from rewardgen.search.context import Context
from rewardgen.search.judge import improves
from rewardgen.store.events import EventLog
from rewardgen.store.history import History
from rewardgen.store.journal import Journal, SilentListener
from rewardgen.store.ranking import Ranking, leads
from rewardgen.store.records import CandidateRecord, DesignRequest, Operator, Slot
from rewardgen.store.run_folder import RunFolder

MOST_CHARS = 1_000
"""Characters of one remark at most."""
MOST_FEEDBACK = 4_000
"""Characters of all remarks in a design request; the newest come first."""
_MINOR_FLAGS = ("still-rising", "no-diagnosis", "negligible-component")
"""Flags that do not explain a failure."""
_LESSON = re.compile(r"^\W*LESSON\W*:?\s*(.+)", re.MULTILINE | re.DOTALL)


def design_request(run: Context, generation: int, slot: Slot) -> DesignRequest:
    """Build the request for one candidate."""
    history, learns = run.history, run.parts.strategy.learns
    parents = [record for id in slot.parents if (record := history.record(id))]
    earlier = run.records(before=generation) if learns else []
    ranking = run.parts.judge.rank(earlier)
    if "analyzer" in run.config.ablate:
        parents, earlier = [*map(fitness_alone, parents)], [*map(fitness_alone, earlier)]
    parents, earlier = run.shown(parents), run.shown(earlier)
    bars = history.baselines if learns and run.parts.judge.by_fitness else {}
    baselines = [history.baseline_record(name) for name in bars]
    best = _best_beside(earlier, ranking, slot)
    in_full = (*slot.parents, *([best.candidate.id] if best else []))
    sources = [parent.candidate.source for parent in parents]
    return DesignRequest(
        candidate_id=slot.candidate_id,
        generation=generation,
        operator=slot.operator,
        card=run.shown_card,
        goal=run.config.goal,
        lens=slot.lens,
        parents=tuple(parents),
        best=best,
        leading_ideas=leading_ideas(earlier, ranking, exclude=in_full),
        failed_ideas=failed_ideas(earlier, ranking, exclude=in_full),
        baselines=tuple(record for record in baselines if record and record.fitness is not None),
        feedback=feedback_for(history, generation),
        stages=_told_of(run, "stage", run.config.stages, map(stage_names, sources)),
        evolve_observation=_told_of(run, "observe", run.config.evolve_observation, map(observed_names, sources)),
        seed=slot.seed,
    )


def _told_of(run: Context, operator: Operator, allowed: bool | None, in_parents: Iterable[Collection[str]]) -> bool:
    """True if designers may use what an operator adds: it is allowed, was asked for earlier, or a parent has it."""
    asked = any(slot.operator == operator for generation in run.history.generations for slot in generation.slots)
    return bool(allowed or asked or any(in_parents))


def _best_beside(records: Sequence[CandidateRecord], ranking: Ranking, slot: Slot) -> CandidateRecord | None:
    """Return the leader, for operators that must do something else; None if the leader is a parent."""
    leader = ranking.best
    if slot.operator not in ("explore", "rewrite") or leader is None or leader.candidate_id in slot.parents:
        return None
    return next((record for record in records if record.candidate.id == leader.candidate_id), None)


def failed_ideas(
    records: Sequence[CandidateRecord], ranking: Ranking, exclude: Collection[str] = ()
) -> tuple[str, ...]:
    """Return the latest five failed ideas, a line each: idea, result and flags; `exclude` are shown in full."""
    lines = [
        _line(record, record.outcome[:160] or (_result(record) if _is_failure(record, ranking) else ""))
        for record in reversed(records)
        if record.candidate.id not in exclude
    ]
    return tuple(line for line in lines if line)[:5]


def leading_ideas(
    records: Sequence[CandidateRecord], ranking: Ranking, exclude: Collection[str] = ()
) -> tuple[str, ...]:
    """Return the best three ideas that are not among the failed ones, best first; see `failed_ideas`."""
    by_id = {record.candidate.id: record for record in records}
    leaders = [by_id[id] for id in ranking.ids if id in by_id and id not in exclude]
    lines = [_line(record, _result(record)) for record in leaders if not _is_failure(record, ranking)]
    return tuple(line for line in lines if line)[:3]


def _line(record: CandidateRecord, result: str) -> str:
    candidate, analysis = record.candidate, record.analysis
    if not result:
        return ""
    parents = f" of {' and '.join(candidate.parents)}" if candidate.parents else ""
    raised = sorted({flag.detector for flag in analysis.flags} - set(_MINOR_FLAGS)) if analysis else []
    flags = f" ({', '.join(raised)})" if raised else ""
    match = _LESSON.search(analysis.diagnosis) if analysis else None
    lesson = f" A reader's lesson: {' '.join(match[1].split())[:MOST_OF_AN_IDEA]}" if match else ""
    idea = idea_of(candidate.diagnosis) or "no idea given"
    return f"{candidate.id} ({candidate.operator}{parents}): {idea} -> {' '.join(result.split())}{flags}.{lesson}"


def _is_failure(record: CandidateRecord, ranking: Ranking) -> bool:
    """True for a trained candidate that is no better than its parents or than trivial policies; where comparisons rank,
    for one that is worse than a parent beyond noise.
    """
    if record.analysis is None or improves(record, ranking):
        return False
    if record.preference:  # few answers hardly ever tell a child from its parent
        child = ranking.rank(record.candidate.id)
        parents = [rank for id in record.candidate.parents if (rank := ranking.rank(id))]
        return child is not None and any(leads(parent, child) for parent in parents)
    trivial = any(flag.detector == "no-better-than-trivial" for flag in record.analysis.flags)
    return trivial or (record.analysis.fitness_delta is not None and record.analysis.parent is not None)


def _result(record: CandidateRecord) -> str:
    """Fitness of a trained candidate, also against its parent; empty for others."""
    analysis, result = record.analysis, record.result
    if record.preference:
        return record.preference.partition("\n")[0]
    if analysis is None or result is None or record.fitness is None:
        return ""
    values = ", ".join(number(run.final_fitness) for run in result.slices if run.final_fitness is not None)
    text = f"fitness {number(record.fitness)} (by seed: {values})"
    if analysis.fitness_delta is not None and analysis.parent:
        limit = analysis.parent.noise
        side = "of unknown noise" if limit is None else "which is within noise and shows nothing"
        if limit is not None and abs(analysis.fitness_delta) > limit:
            side = "beyond noise"
        return f"{text}, {analysis.fitness_delta:+.3g} against its parent, {side}"
    return text


def feedback_for(history: History, generation: int) -> tuple[str, ...]:
    """Return the user's remarks made before a generation, newest last, as many as fit."""
    remarks, room = [], MOST_FEEDBACK
    for remark in reversed(history.feedback):
        if remark.generation > generation:
            continue
        text = shortened(remark.text, MOST_CHARS)  # anybody may have written the log
        room -= len(text)
        if room < 0:
            break
        remarks.append(text)
    return tuple(reversed(remarks))


def checked_remarks(remarks: Sequence[str]) -> list[str]:
    """Return a user's remarks without invisible characters; raise if there is none, or one is empty or too long."""
    texts = [visible(remark).strip() for remark in remarks]
    if not texts or not all(texts):
        raise UsageError("the feedback is empty", 'write it after the run: `rewardgen feedback latest "slower"`')
    if excess := max(0, max(map(len, texts)) - MOST_CHARS):
        raise UsageError(f"a remark is {excess} characters too long", f"write {MOST_CHARS} at most, or several remarks")
    return texts


def give_feedback(folder: RunFolder, remarks: Sequence[str]) -> History:
    """Record a user's remarks on a run, and return the run's history."""
    with folder.locked():
        history = History.load(folder)
        journal = Journal(EventLog(folder.events), history, SilentListener())
        for text in remarks:
            journal.record("feedback", text=text)
    return history
