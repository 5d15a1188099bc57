"""Review candidates and repair each rejected one once."""

from __future__ import annotations

from collections.abc import Sequence

from rewardgen.critic.critic import ModelReading
from rewardgen.critic.llm_review import no_reading
from rewardgen.search.context import Context
from rewardgen.search.designing import repair
from rewardgen.store.records import Candidate, Finding, Gate, Slot, Verdict


def review(run: Context, generation: int, slots: Sequence[Slot], drafts: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates worth training, each in its last version; none that was not reviewed when time was up.

    Args:
        run: The run.
        generation: Index of the generation.
        slots: Slots of its candidates.
        drafts: Their first versions.
    """
    verdicts = _verdicts(run, drafts, repairs=0)
    _verdicts(run, repair(run, generation, slots, verdicts), repairs=1)
    records = [record for slot in slots if (record := run.history.record(slot.candidate_id))]
    reviewed = [record for record in records if (record.candidate.id, record.candidate.repairs) in run.history.reviewed]
    return [record.candidate for record in reviewed if record.verdict.accepted]


def _verdicts(run: Context, candidates: Sequence[Candidate], repairs: int) -> dict[str, Verdict]:
    reviewed = run.history.reviewed
    pending = [candidate for candidate in candidates if (candidate.id, repairs) not in reviewed]

    def on_gate(candidate_id: str, gate: Gate) -> None:
        run.journal.listener.progress({"phase": "review", "candidate_id": candidate_id, "gate": gate})

    if pending:
        verdicts: dict[str, Verdict] = {}
        with run.time_limit() as up:
            verdicts = run.parts.critic.review(
                pending,
                run.card,
                run.records(),
                goal=run.config.goal,
                # The ranking of earlier episodes tells a repair what earlier candidates reached.
                ranks=run.parts.strategy.learns and "tpe" not in run.config.ablate,
                cancel=up,
                on_gate=on_gate,
                read=lambda readings: _read(run, readings),
            ).verdicts
        for verdict in verdicts.values():
            run.journal.record("reviewed", verdict=verdict.model_dump(mode="json"), repairs=repairs)
    return {
        candidate.id: reviewed[candidate.id, repairs] for candidate in candidates if (candidate.id, repairs) in reviewed
    }


def _read(run: Context, readings: Sequence[ModelReading]) -> list[tuple[Finding, ...]]:
    """Run a language model's readings concurrently, within the budget."""
    results: list[tuple[Finding, ...]] = [()] * len(readings)

    async def read(place: int, reading: ModelReading) -> None:
        objections = await run.within_budget(reading, None)
        if objections is None:
            hint = "raise `--max-cost`, `--max-tokens` or `--max-minutes`"
            objections = (no_reading(run.history.exhausted, hint),)
        results[place] = objections

    run.gather([read(place, reading) for place, reading in enumerate(readings)])
    return results
