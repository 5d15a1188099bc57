"""The step that puts candidates through the critic's gates, with one repair for those that it rejects."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from rewardgen.critic.llm_review import Reader, no_reading
from rewardgen.search.context import Context
from rewardgen.search.designing import repair
from rewardgen.store.records import Candidate, Gate, Slot, Verdict


def review(run: Context, generation: int, slots: Sequence[Slot], drafts: Sequence[Candidate]) -> list[Candidate]:
    """The candidates worth training, each in its last version; none that was not reviewed before the time was up.

    Args:
        run: The run.
        generation: Index of the generation.
        slots: What its candidates were designed from.
        drafts: Their first versions.
    """
    verdicts = _verdicts(run, drafts, repairs=0)
    repaired = repair(run, generation, slots, verdicts)
    _verdicts(run, repaired, repairs=1)
    records = [record for slot in slots if (record := run.history.record(slot.candidate_id))]
    reviewed = [each for each in records if (each.candidate.id, each.candidate.repairs) in run.history.reviewed]
    return [record.candidate for record in reviewed if record.verdict.accepted]


def _verdicts(run: Context, candidates: Sequence[Candidate], repairs: int) -> dict[str, Verdict]:
    """Gates in order of cost: a language model is paid to read only what nothing else refuses.

    So what the model vetoes counts as seen when later candidates are looked for duplicates, also in a resumed run: one
    that pays the same would be vetoed too.
    """
    reviewed = run.history.reviewed
    pending = [each for each in candidates if (each.id, repairs) not in reviewed]
    if pending:
        # The ranking of earlier episodes tells a repair what earlier candidates reached.
        ranks = run.parts.strategy.learns and "tpe" not in run.config.ablate
        verdicts: dict[str, Verdict] = {}
        with run.time_limit() as up:
            options = {"ranks": ranks, "cancel": up, "on_gate": partial(_tell, run)}
            verdicts = run.parts.critic.review(pending, run.card, run.records(), **options).verdicts
        _read(run, [each for each in pending if each.id in verdicts], verdicts)
        for verdict in verdicts.values():
            run.journal.record("reviewed", verdict=verdict.model_dump(mode="json"), repairs=repairs)
    return {each.id: reviewed[each.id, repairs] for each in candidates if (each.id, repairs) in reviewed}


def _tell(run: Context, id: str, gate: Gate) -> None:
    run.journal.listener.progress({"phase": "review", "candidate_id": id, "gate": gate})


def _read(run: Context, candidates: Sequence[Candidate], verdicts: dict[str, Verdict]) -> None:
    """Add to the verdicts what a language model objects to, if one reads along."""
    reader = run.parts.reader

    async def read(candidate: Candidate, reader: Reader) -> None:
        verdict = verdicts[candidate.id]
        _tell(run, candidate.id, "model")
        reading = reader.read(candidate, run.card, run.config.goal, verdict.findings)
        found = await run.within_budget(reading, None)
        if found is None:
            hint = "raise `--max-cost`, `--max-tokens` or `--max-minutes`"
            found = (no_reading(run.history.exhausted, hint),)
        verdicts[candidate.id] = verdict.model_copy(update={"findings": (*verdict.findings, *found)})

    if reader is not None:
        # Of a reward that a tuner set other constants of, the parent was read.
        asked = [each for each in candidates if each.operator != "constants"]
        run.gather([read(each, reader) for each in asked if verdicts[each.id].accepted])
