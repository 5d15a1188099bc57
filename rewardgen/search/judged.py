"""A run as designers see it where a teacher compares episodes: no fitness, but what was won and lost, and why."""

from __future__ import annotations

from collections.abc import Sequence

from rewardgen.analyzer.flags import BY_FITNESS
from rewardgen.core.formatting import count, number
from rewardgen.core.text import visible
from rewardgen.store.comparisons import Comparison, mirrored
from rewardgen.store.ranking import Ranking
from rewardgen.store.records import CandidateRecord, TaskCard

_WORDS = {"left": "won", "right": "lost", "same": "alike", "unclear": "undecided"}
_SHOWN = 5
"""Latest comparisons of a candidate that are told one by one, of those with a reason or with different ends."""


def judged_card(card: TaskCard, words: str) -> TaskCard:
    """Return the task card without fitness and success, with who judges instead: `Teacher.words`."""
    hidden = {"success": "", "fitness": "", "best_fitness": None, "judged": words}
    probes = tuple(probe.model_copy(update={"parts": {}}) for probe in card.probes)
    return card.model_copy(update={**hidden, "probes": probes})


def judged_record(record: CandidateRecord, ranking: Ranking, archive: Sequence[CandidateRecord]) -> CandidateRecord:
    """Return a trained candidate with its comparisons in words, and without what was read off its fitness."""
    if record.result is None or record.result.failure:
        return record
    by_id = {each.candidate.id: each for each in archive}
    update: dict[str, object] = {"preference": _in_words(record, ranking, by_id)}
    if analysis := record.analysis:
        flags = tuple(flag for flag in analysis.flags if flag.detector not in BY_FITNESS)
        claims = tuple(each for each in analysis.predictions if not each.claim.startswith(("fitness", "success rate")))
        update["analysis"] = analysis.model_copy(update={"flags": flags, "predictions": claims, "fitness_delta": None})
    return record.model_copy(update=update)


def _in_words(record: CandidateRecord, ranking: Ranking, archive: dict[str, CandidateRecord]) -> str:
    """Return a paragraph on rank, wins and losses, then a line for each of the latest telling comparisons."""
    id, rank = record.candidate.id, ranking.rank(record.candidate.id)
    seen = [_from_left(each, id) for each in record.comparisons]
    answers = [each.answer for each in seen]
    place = f"place {ranking.ids.index(id) + 1} of {len(ranking.ids)}" if rank else "not placed"
    strength = f" (strength {number(rank.estimate)} ± {number(rank.standard_error)})" if rank else ""
    tally = ", ".join(f"{answers.count(answer)} {word}" for answer, word in _WORDS.items() if answer in answers)
    lines = [f"{place}{strength} by {count(len(seen), 'comparison')} of episodes{f': {tally}' if tally else ''}"]
    for comparison, each in zip(reversed(record.comparisons), reversed(seen), strict=True):
        side = "left" if comparison.left.candidate_id == id else "right"
        why = f", because: {' '.join(visible(each.why).split())}" if each.why else ""
        sides = [_episode(archive.get(clip.candidate_id), clip.seed, clip.start) for clip in (each.left, each.right)]
        if (why or sides[0] != sides[1]) and len(lines) <= _SHOWN:  # the others tell no more than the counts
            against = f"against {each.right.candidate_id} ({sides[0]} against {sides[1]})"
            lines.append(f"{_WORDS[each.answer]}, on the {side}, {against}{why}")
    return "\n".join(dict.fromkeys(lines))


def _from_left(comparison: Comparison, id: str) -> Comparison:
    if comparison.left.candidate_id == id:
        return comparison
    sides = {"left": comparison.right, "right": comparison.left, "answer": mirrored(comparison.answer)}
    return comparison.model_copy(update=sides)


def _episode(record: CandidateRecord | None, seed: int, start: int) -> str:
    runs = record.result.slices if record and record.result else ()
    outcome = next((run.outcomes[start] for run in runs if run.seed == seed and start < len(run.outcomes)), None)
    return f"{outcome.steps} steps, {outcome.ending}" if outcome else "its episode is gone"
