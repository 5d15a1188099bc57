"""The step that designs the candidates of a generation, and repairs those that the critic rejected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rewardgen.analyzer.analyzer import fitness_alone
from rewardgen.core.errors import ModelError
from rewardgen.designer.protocol import NO_REPLY, REFUSED
from rewardgen.search.context import Context
from rewardgen.search.earlier_ideas import failed_ideas, leading_ideas
from rewardgen.search.feedback import feedback_for
from rewardgen.store.ranking import Ranking
from rewardgen.store.records import Candidate, CandidateRecord, DesignRequest, Slot, Verdict


def design(run: Context, generation: int, slots: Sequence[Slot]) -> list[Candidate]:
    """The first version of each candidate; those that the budget no longer allowed are recorded as failures.

    Args:
        run: The run.
        generation: Index of the generation.
        slots: What to design.

    Raises:
        ModelError: The model answered none of the calls of the generation, or has refused every one of the run.
        CredentialsError: The API key is missing or was refused, or the account is empty.
    """
    designed = run.history.designed
    unanswered: list[Candidate] = []
    ids = [slot.candidate_id for slot in slots]

    def settle() -> None:
        """Record the calls without an answer as failures once an answer shows that it is not for want of a model."""
        replies = [each for each in designed.values() if each.id != run.history.init_id]
        answered = [each for each in replies if not each.failure.startswith((NO_REPLY, REFUSED))]
        here = any(each.id in ids for each in answered)
        for candidate in unanswered[:]:
            if here or (answered and candidate.failure.startswith(REFUSED)):
                unanswered.remove(candidate)
                _record(run, candidate)

    async def design_one(slot: Slot) -> None:
        request = _request(run, generation, slot)
        answer = await run.within_budget(run.parts.designer.design(request), None)
        candidate = answer or _undesigned(request, run.history.exhausted)
        if candidate.failure.startswith((NO_REPLY, REFUSED)):
            unanswered.append(candidate)
        else:
            _record(run, candidate)
        settle()

    missing = [slot for slot in slots if (slot.candidate_id, 0) not in designed]
    for slot in missing:
        if slot.candidate_id == run.history.init_id:
            _record(run, _given(slot, run.history.init_source))
    run.gather([design_one(slot) for slot in missing if (slot.candidate_id, 0) not in designed])
    if unanswered:
        raise _no_answers(unanswered)
    return [designed[slot.candidate_id, 0] for slot in slots]


def _given(slot: Slot, source: str) -> Candidate:
    """The candidate of the reward that a person gave."""
    told = "The reward that the run was given."
    return Candidate(id=slot.candidate_id, generation=0, operator=slot.operator, source=source, diagnosis=told)


def repair(run: Context, generation: int, slots: Sequence[Slot], verdicts: Mapping[str, Verdict]) -> list[Candidate]:
    """One repair round trip for each rejected candidate that has a source; those that could be repaired.

    Args:
        run: The run.
        generation: Index of the generation.
        slots: What its candidates were designed from.
        verdicts: On their first versions, by id, of those that were reviewed.
    """
    designed = run.history.designed

    async def repair_one(slot: Slot) -> None:
        candidate, findings = designed[slot.candidate_id, 0], verdicts[slot.candidate_id].findings
        call = run.parts.designer.repair(_request(run, generation, slot), candidate, findings)
        repaired = await run.within_budget(call, None)
        if repaired is not None:
            _record(run, repaired.model_copy(update={"repairs": 1}))

    repairable = [slot for slot in slots if (found := verdicts.get(slot.candidate_id)) and found.repairable]
    if not run.history.generations[generation].finished:  # else a repair failed for good back then
        run.gather([repair_one(slot) for slot in repairable if (slot.candidate_id, 1) not in designed])
    return [version for slot in slots if (version := designed.get((slot.candidate_id, 1)))]


def _request(run: Context, generation: int, slot: Slot) -> DesignRequest:
    parents = [record for each in slot.parents if (record := run.history.record(each))]
    earlier = run.records(before=generation) if run.parts.strategy.learns else []
    ranking = run.parts.judge.rank(earlier)
    if "analyzer" in run.config.ablate:
        parents, earlier = map(fitness_alone, parents), [*map(fitness_alone, earlier)]
    own = (run.history.baseline_record(name) for name in run.history.baselines) if run.parts.strategy.learns else ()
    baselines = tuple(each for each in own if each and each.fitness is not None)
    best = _best_beside(earlier, ranking, slot)
    at_length = (*slot.parents, *([best.candidate.id] if best else []))
    return DesignRequest(
        candidate_id=slot.candidate_id,
        generation=generation,
        operator=slot.operator,
        card=run.card,
        goal=run.config.goal,
        lens=slot.lens,
        parents=tuple(parents),
        best=best,
        leading_ideas=leading_ideas(tuple(earlier), ranking, apart_from=at_length),
        failed_ideas=failed_ideas(tuple(earlier), ranking, apart_from=at_length),
        baselines=baselines,
        feedback=feedback_for(run.history, generation),
        seed=slot.seed,
    )


def _best_beside(records: Sequence[CandidateRecord], ranking: Ranking, slot: Slot) -> CandidateRecord | None:
    """The best of all, for who has to do something else than it; None if it is a parent."""
    leader = ranking.best
    if slot.operator not in ("explore", "rewrite") or leader is None or leader.candidate_id in slot.parents:
        return None
    return next((each for each in records if each.candidate.id == leader.candidate_id), None)


def _record(run: Context, candidate: Candidate) -> None:
    run.journal.record("designed", candidate=candidate.model_dump(mode="json"))


def _undesigned(request: DesignRequest, why: str) -> Candidate:
    return Candidate(
        id=request.candidate_id,
        generation=request.generation,
        operator=request.operator,
        parents=tuple(record.candidate.id for record in request.parents),
        failure=f"not designed: {why}",
    )


def _no_answers(unanswered: Sequence[Candidate]) -> ModelError:
    """A model that answers nothing is away; a generation without candidates would end the search for no fault of it."""
    why = unanswered[0].failure.removeprefix(NO_REPLY).removeprefix(REFUSED)
    calls = "the call" if len(unanswered) == 1 else f"any of the {len(unanswered)} calls"
    hint = "see that the model can be reached and takes such requests, then resume the run"
    if all(each.failure.startswith(REFUSED) for each in unanswered):
        hint = "a refused request is made again only if you resume the run with `--model` or `--api-base`"
    return ModelError(f"the model did not answer {calls} of this generation: {why}", hint)
