"""Steps that design the candidates of a generation, review them, and repair each rejected one once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from rewardgen.core.errors import ModelError
from rewardgen.critic.critic import ModelReading
from rewardgen.critic.llm_review import no_reading
from rewardgen.designer.protocol import NO_REPLY, REFUSED
from rewardgen.search.context import Context
from rewardgen.search.requests import design_request
from rewardgen.store.records import Candidate, Finding, Gate, Slot, Verdict


def design(run: Context, generation: int, slots: Sequence[Slot]) -> list[Candidate]:
    """Return the first version of each candidate; a candidate without room in the budget is recorded as failed.

    Raises:
        ModelError: The model answered no call of the generation, or refused every call of the run.
    """
    designed, ids = run.history.designed, [slot.candidate_id for slot in slots]
    unanswered: list[Candidate] = []

    async def design_one(slot: Slot) -> None:
        call = run.parts.designer.design(design_request(run, generation, slot))
        candidate = await run.within_budget(call, None) or _undesigned(run, generation, slot)
        if candidate.failure.startswith((NO_REPLY, REFUSED)):
            unanswered.append(candidate)
        else:
            _record(run, candidate)

    missing = [slot for slot in slots if (slot.candidate_id, 0) not in designed]
    if missing and missing[0].candidate_id == run.history.init_id:
        _record(run, _init_candidate(missing.pop(0), run.history.init_source))
    run.gather([partial(design_one, slot) for slot in missing])
    replies = [candidate for candidate in designed.values() if candidate.id != run.history.init_id]
    answered = [reply for reply in replies if not reply.failure.startswith((NO_REPLY, REFUSED))]
    # An answer shows that the model is there: the others are failures of their candidates.
    in_generation = any(reply.id in ids for reply in answered)
    for candidate in unanswered:
        if not in_generation and not (answered and candidate.failure.startswith(REFUSED)):
            raise _no_answers(unanswered)
        _record(run, candidate)
    return [designed[slot.candidate_id, 0] for slot in slots]


def _init_candidate(slot: Slot, source: str) -> Candidate:
    diagnosis = "The reward that the run was given."
    return Candidate(id=slot.candidate_id, generation=0, operator=slot.operator, source=source, diagnosis=diagnosis)


def _undesigned(run: Context, generation: int, slot: Slot) -> Candidate:
    failure, told = f"not designed: {run.history.exhausted}", {"operator": slot.operator, "parents": slot.parents}
    return Candidate(id=slot.candidate_id, generation=generation, failure=failure, **told)


def _no_answers(unanswered: Sequence[Candidate]) -> ModelError:
    """Error for a generation without answers: its failures are the model's, not the candidates'."""
    why = unanswered[0].failure.removeprefix(NO_REPLY).removeprefix(REFUSED)
    calls = "the call" if len(unanswered) == 1 else f"any of the {len(unanswered)} calls"
    hint = "check that the model can be reached and takes such requests, then resume the run"
    if all(candidate.failure.startswith(REFUSED) for candidate in unanswered):
        hint = "a refused request is made again only if you resume the run with `--model` or `--api-base`"
    return ModelError(f"the model did not answer {calls} of this generation: {why}", hint)


def review(run: Context, generation: int, slots: Sequence[Slot], drafts: Sequence[Candidate]) -> list[Candidate]:
    """Return the accepted candidates in their last versions; without those not reviewed when time was up."""
    verdicts = _verdicts(run, drafts, repairs=0)
    _verdicts(run, _repair(run, generation, slots, verdicts), repairs=1)
    records = [record for slot in slots if (record := run.history.record(slot.candidate_id))]
    reviewed = [record for record in records if (record.candidate.id, record.candidate.repairs) in run.history.reviewed]
    return [record.candidate for record in reviewed if record.verdict.accepted]


def _repair(run: Context, generation: int, slots: Sequence[Slot], verdicts: Mapping[str, Verdict]) -> list[Candidate]:
    designed = run.history.designed

    async def repair_one(slot: Slot) -> None:
        candidate, findings = designed[slot.candidate_id, 0], verdicts[slot.candidate_id].findings
        call = run.parts.designer.repair(design_request(run, generation, slot), candidate, findings)
        repaired = await run.within_budget(call, None)
        if repaired is not None:
            _record(run, repaired.model_copy(update={"repairs": 1}))

    repairable = [slot for slot in slots if (verdict := verdicts.get(slot.candidate_id)) and verdict.repairable]
    if not run.history.generations[generation].finished:  # in a finished generation, the repair failed for good
        run.gather([partial(repair_one, slot) for slot in repairable if (slot.candidate_id, 1) not in designed])
    return [version for slot in slots if (version := designed.get((slot.candidate_id, 1)))]


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
                run.shown_card,
                run.records(),
                goal=run.config.goal,
                # The ranking of earlier episodes shows a repair the results of earlier candidates.
                ranks=run.parts.strategy.learns and run.parts.judge.by_fitness and "tpe" not in run.config.ablate,
                cancel=up,
                on_gate=on_gate,
                read=lambda readings: _read(run, readings),
            ).verdicts
        for verdict in verdicts.values():
            run.journal.record("reviewed", verdict=verdict.model_dump(mode="json"), repairs=repairs)
    done = [candidate.id for candidate in candidates if (candidate.id, repairs) in reviewed]
    return {id: reviewed[id, repairs] for id in done}


def _read(run: Context, readings: Sequence[ModelReading]) -> list[tuple[Finding, ...]]:
    results: list[tuple[Finding, ...]] = [()] * len(readings)

    async def read(place: int, reading: ModelReading) -> None:
        objections = await run.within_budget(reading(), None)
        if objections is None:
            hint = "raise `--max-cost`, `--max-tokens` or `--max-minutes`"
            objections = (no_reading(run.history.exhausted, hint),)
        results[place] = objections

    run.gather([partial(read, place, reading) for place, reading in enumerate(readings)])
    return results


def _record(run: Context, candidate: Candidate) -> None:
    run.journal.record("designed", candidate=candidate.model_dump(mode="json"))
