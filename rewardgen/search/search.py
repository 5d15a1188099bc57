"""The search: the loop that designs, reviews, trains and studies generations of rewards, then the finals.

Every step asks the history first and records what it did, so that a resumed run walks the same road and repeats nothing
that was finished.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

from rewardgen.analyzer.analyzer import Analyzer, fitness_alone
from rewardgen.core.config import RunConfig
from rewardgen.core.errors import BudgetExhausted, ModelError
from rewardgen.critic.duplicates import NOT_COMPARED, Distances, RewardDistance, find_duplicate
from rewardgen.critic.gates import Critic
from rewardgen.critic.llm_review import Reader, no_reading
from rewardgen.designer.protocol import NO_REPLY, Designer
from rewardgen.search import evolution, finals
from rewardgen.search.evolution import Slot
from rewardgen.store.history import History, Phase, Summary
from rewardgen.store.journal import Journal
from rewardgen.store.messages import Usage
from rewardgen.store.records import (
    Candidate,
    CandidateRecord,
    DesignRequest,
    RewardSpec,
    SliceResult,
    SliceSpec,
    TaskCard,
    Verdict,
)

Result = TypeVar("Result")


class Trainer(Protocol):
    """Trains slices; each is handed over as soon as its fitness is known. A failed slice is a result too."""

    def train(
        self,
        rewards: Sequence[RewardSpec],
        slices: Sequence[SliceSpec],
        *,
        folder: Path,
        on_progress: Callable[[dict[str, Any]], None],
        on_slice: Callable[[SliceResult], None],
        stop_hacking: bool,
    ) -> None:
        """Train all slices; returns when every one was handed to `on_slice`.

        With `stop_hacking` a slice whose reward rises while its fitness falls may end early; it has its result.
        """


class Parts(NamedTuple):
    """What the search is made of."""

    designer: Designer
    critic: Critic
    analyzer: Analyzer
    trainer: Trainer
    usage: Callable[[], Usage]
    """What the language model calls of the run took so far."""
    policies: Path
    """Folder for trained policies."""
    on_study: Callable[[CandidateRecord], None]
    """Called whenever more is known of a candidate, to keep its folder up to date."""
    reader: Reader | None = None
    """A language model that reads candidates which passed the other gates."""
    ruler: RewardDistance | None = None
    """Tells how far rewards are from each other; without it only the same program is a duplicate."""


class Search:
    """One run of the search.

    Args:
        config: The run's configuration.
        card: The task as the designer sees it.
        parts: The roles and the trainer.
        journal: The run's memory.
    """

    def __init__(self, config: RunConfig, card: TaskCard, parts: Parts, journal: Journal) -> None:
        self._config = config
        self._card = card
        self._parts = parts
        self._journal = journal

    @property
    def _history(self) -> History:
        return self._journal.history

    def run(self) -> Summary:
        """Search until a reason to stop, then train the finalists on fresh seeds."""
        generation = 0
        while not (reason := self._stop_reason(generation)):
            slots = self._plan(generation)
            drafts = self._design(slots)
            sound = self._review(slots, drafts)
            self._train("search", {each.id: each.source for each in sound})
            self._study(slots)
            self._finish(generation)
            generation += 1
        return self._finals(reason)

    def _stop_reason(self, generation: int) -> str:
        """Why no further generation starts; empty to go on. One that was started before is always taken up again."""
        if generation < len(self._history.generations):
            return ""
        if self._history.stop_reason:
            return self._history.stop_reason
        best = self._history.best()
        target, minutes = self._config.target_fitness, self._config.max_minutes
        if self._history.exhausted:
            return self._history.exhausted
        if best is not None and target is not None and (best.fitness or 0.0) >= target:
            return f"target fitness {target:g} reached"
        if generation >= self._config.generations:
            return "the one generation is done" if generation == 1 else f"all {generation} generations done"
        if minutes is not None and self._journal.elapsed_s >= 60 * minutes:
            return f"time limit of {minutes:g} min reached"
        stalled = evolution.stalled_generations(self._studies())
        return f"no gain beyond noise for {stalled} generations" if stalled >= self._config.patience else ""

    def _studies(self, before: int | None = None) -> list[CandidateRecord]:
        """All candidates so far, in order; only those of generations before an index, if one is given."""
        rounds = self._history.generations[:before]
        return [record for each in rounds for id in each.ids if (record := self._history.record(id))]

    # Design.

    def _plan(self, generation: int) -> tuple[Slot, ...]:
        earlier = self._studies(before=generation)
        slots = evolution.plan(earlier, generation, self._config.candidates, self._config.seed)
        if generation == len(self._history.generations):
            ids = [slot.candidate_id for slot in slots]
            self._journal.record("generation-started", generation=generation, ids=ids)
        return slots

    def _request(self, slot: Slot, generation: int) -> DesignRequest:
        parents = [record for each in slot.parents if (record := self._history.record(each))]
        earlier = self._studies(before=generation)
        if "analyzer" in self._config.ablate:
            parents, earlier = map(fitness_alone, parents), map(fitness_alone, earlier)
        return DesignRequest(
            candidate_id=slot.candidate_id,
            generation=generation,
            operator=slot.operator,
            card=self._card,
            goal=self._config.goal,
            lens=slot.lens,
            parents=tuple(parents),
            failed_ideas=evolution.failed_ideas(tuple(earlier), apart_from=slot.parents),
            seed=slot.seed,
        )

    def _design(self, slots: Sequence[Slot]) -> list[Candidate]:
        """The first version of each candidate; those that the budget no longer allowed are recorded as failures."""
        generation = _generation(slots)
        unanswered: list[Candidate] = []

        async def design(slot: Slot) -> None:
            request = self._request(slot, generation)
            answer = await self._within_budget(self._parts.designer.design(request), None)
            candidate = answer or _undesigned(request, self._history.exhausted)
            if candidate.failure.startswith(NO_REPLY):
                unanswered.append(candidate)
            else:
                self._record_candidate(candidate)

        self._gather([design(slot) for slot in slots if (slot.candidate_id, 0) not in self._history.designed])
        if len(unanswered) == len(slots):
            raise _no_answers(unanswered)
        for candidate in unanswered:
            self._record_candidate(candidate)
        return [self._history.designed[slot.candidate_id, 0] for slot in slots]

    def _repair(self, slots: Sequence[Slot], verdicts: dict[str, Verdict]) -> list[Candidate]:
        """One repair round trip for each rejected candidate that has a source; those that could be repaired."""

        async def repair(slot: Slot) -> None:
            candidate = self._history.designed[slot.candidate_id, 0]
            request = self._request(slot, candidate.generation)
            findings = verdicts[slot.candidate_id].findings
            repaired = await self._within_budget(self._parts.designer.repair(request, candidate, findings), None)
            if repaired is not None:
                self._record_candidate(repaired.model_copy(update={"repairs": 1}))

        repairable = [slot for slot in slots if verdicts[slot.candidate_id].repairable]
        missing = [slot for slot in repairable if (slot.candidate_id, 1) not in self._history.designed]
        if not self._history.generations[_generation(slots)].finished:  # else a repair failed for good back then
            self._gather([repair(slot) for slot in missing])
        versions = [self._history.designed.get((slot.candidate_id, 1)) for slot in slots]
        return [version for version in versions if version is not None]

    def _record_candidate(self, candidate: Candidate) -> None:
        self._journal.record("designed", candidate=candidate.model_dump(mode="json"))

    async def _within_budget(self, call: Coroutine[Any, Any, Result], otherwise: Result) -> Result:
        """The result of a designer's call; `otherwise` if the budget refused it, which also ends the search."""
        try:
            return await call
        except BudgetExhausted as error:
            if not self._history.exhausted:
                self._journal.record("budget-exhausted", reason=error.message)
            return otherwise

    def _gather(self, calls: Sequence[Coroutine[Any, Any, None]]) -> None:
        """Run calls concurrently. All of them end, and are recorded, before the first error is raised."""

        async def all_of_them() -> list[BaseException | None]:
            return await asyncio.gather(*calls, return_exceptions=True)

        if calls:
            try:
                errors = [each for each in asyncio.run(all_of_them()) if each is not None]
            finally:
                self._record_usage()
            if errors:
                raise errors[0]

    def _record_usage(self) -> None:
        usage = self._parts.usage()
        if usage != self._history.usage:
            self._journal.record("usage", usage=usage.model_dump(mode="json"))

    # Review.

    def _review(self, slots: Sequence[Slot], drafts: Sequence[Candidate]) -> list[Candidate]:
        """The candidates worth training, each in its last version."""
        verdicts = self._verdicts(drafts, repairs=0)
        repaired = self._repair(slots, verdicts)
        self._verdicts(repaired, repairs=1)
        records = [self._history.record(slot.candidate_id) for slot in slots]
        for record in records:
            if record:
                self._parts.on_study(record)
        return [record.candidate for record in records if record and record.verdict.accepted]

    def _verdicts(self, candidates: Sequence[Candidate], repairs: int) -> dict[str, Verdict]:
        """Gates in order of cost: a language model is paid to read only what nothing else refuses.

        So what the model vetoes counts as seen when later candidates are looked for duplicates, also in a resumed run:
        one that pays the same would be vetoed too.
        """
        pending = [each for each in candidates if (each.id, repairs) not in self._history.reviewed]
        earlier = self._studies(before=pending[0].generation) if pending else ()
        verdicts = self._parts.critic.review(pending, self._card, earlier) if pending else {}
        self._refuse_duplicates(pending, verdicts)
        self._read(pending, verdicts)
        for verdict in verdicts.values():
            self._journal.record("reviewed", verdict=verdict.model_dump(mode="json"), repairs=repairs)
        return {each.id: self._history.reviewed[each.id, repairs] for each in candidates}

    def _read(self, candidates: Sequence[Candidate], verdicts: dict[str, Verdict]) -> None:
        """Add to the verdicts what a language model objects to, if one reads along."""
        reader = self._parts.reader

        async def read(candidate: Candidate, reader: Reader) -> None:
            verdict = verdicts[candidate.id]
            reading = reader.read(candidate, self._card, self._config.goal, verdict.findings)
            unread = no_reading("the budget left no room for the call", "raise `--max-cost` or `--max-tokens`")
            found = await self._within_budget(reading, (unread,))
            verdicts[candidate.id] = verdict.model_copy(update={"findings": (*verdict.findings, *found)})

        if reader is not None:
            self._gather([read(each, reader) for each in candidates if verdicts[each.id].accepted])

    def _refuse_duplicates(self, candidates: Sequence[Candidate], verdicts: dict[str, Verdict]) -> None:
        """Add a rejection to the verdicts on what is the same as one before it, as a program or in what it pays."""
        passed = self._passed()
        sound = [each for each in candidates if verdicts[each.id].accepted]
        gaps = self._gaps(sound, passed)
        for each in sound:
            if finding := find_duplicate(each.source, gaps.get(each.id), passed):
                findings = (*verdicts[each.id].findings, finding)
                verdicts[each.id] = verdicts[each.id].model_copy(update={"findings": findings})
            if verdicts[each.id].accepted:
                passed.append(CandidateRecord(candidate=each, verdict=verdicts[each.id]))

    def _gaps(self, candidates: Sequence[Candidate], passed: Sequence[CandidateRecord]) -> Distances:
        """How far candidates are from each other, and from others; one that cannot be told is left out."""
        # One that could not be compared would spoil every later comparison too.
        others = [
            each.candidate for each in passed if not any(f.detector == NOT_COMPARED for f in each.verdict.findings)
        ]
        if self._parts.ruler is None or not candidates or len(candidates) + len(others) < 2:
            return {each.id: {} for each in candidates}
        return self._parts.ruler.gaps(_specs(candidates), _specs(others), self._card)

    def _passed(self) -> list[CandidateRecord]:
        """Candidates that passed all gates but the reading; those that are not reviewed yet are not among them."""
        return [record for record in self._studies() if self._has_passed(record.candidate)]

    def _has_passed(self, candidate: Candidate) -> bool:
        verdict = self._history.reviewed.get((candidate.id, candidate.repairs))
        return verdict is not None and verdict.passed

    # Training and study.

    def _train(self, phase: Phase, sources: dict[str, str]) -> None:
        """Train what is not yet trained in this phase, on the seeds reserved for it."""
        history = self._history
        seeds = history.search_seeds if phase == "search" else history.final_seeds
        slices = [SliceSpec(candidate_id=id, seed=seed) for id in sources for seed in seeds]
        missing = [each for each in slices if (phase, each.candidate_id, each.seed) not in history.trained]
        wanted = {each.candidate_id for each in missing}

        def keep(result: SliceResult) -> None:
            self._journal.record("trained", phase=phase, slice=result.model_dump(mode="json"))

        def progress(message: dict[str, Any]) -> None:
            self._journal.listener.progress({**message, "phase": phase})

        if missing:
            self._parts.trainer.train(
                [RewardSpec(candidate_id=id, source=source) for id, source in sources.items() if id in wanted],
                missing,
                folder=self._parts.policies / phase,
                on_progress=progress,
                on_slice=keep,
                # The final figures are those of the full budget.
                stop_hacking=phase == "search" and "analyzer" not in self._config.ablate,
            )

    def _study(self, slots: Sequence[Slot]) -> None:
        async def record(slot: Slot) -> None:
            found = self._history.record(slot.candidate_id)
            if found is None or found.result is None:
                return
            parents = [each for id in slot.parents if (each := self._history.record(id))]
            table = self._parts.analyzer.study(found, parents, self._card)
            analysis = await self._within_budget(self._parts.analyzer.diagnose(table, found, self._card), table)
            self._journal.record("studied", analysis=analysis.model_dump(mode="json"))

        self._gather([record(slot) for slot in slots if slot.candidate_id not in self._history.studied])
        for slot in slots:
            if found := self._history.record(slot.candidate_id):
                self._parts.on_study(found)

    def _finish(self, generation: int) -> None:
        if not self._history.generations[generation].finished:
            best = next(iter(evolution.ranked(self._studies())), None)
            self._journal.record(
                "generation-finished",
                generation=generation,
                best=best.candidate.id if best else None,
                fitness=best.fitness if best else None,
            )

    # Finals.

    def _finals(self, reason: str) -> Summary:
        """Train the finalists and the task's own rewards on the fresh seeds, and sum up."""
        finalists = evolution.ranked(self._studies())[: self._config.finalists]
        sources = {record.candidate.id: record.candidate.source for record in finalists}
        if sources:
            sources |= self._history.baselines
            if not self._history.finalists:
                self._journal.record("finals-started", ids=list(sources), reason=reason)
            self._train("final", sources)
        summary = finals.summarise(reason, list(sources), self._history)
        if self._history.summary is None:
            self._journal.record("finished", summary=summary.model_dump(mode="json"))
        return summary


def _generation(slots: Sequence[Slot]) -> int:
    return int(slots[0].candidate_id[1:].split("-")[0])


def _no_answers(unanswered: Sequence[Candidate]) -> ModelError:
    """A model that answers nothing is away; a generation without candidates would end the search for no fault of it."""
    why = unanswered[0].failure.removeprefix(NO_REPLY)
    calls = "the call" if len(unanswered) == 1 else f"any of the {len(unanswered)} calls"
    return ModelError(
        f"the model did not answer {calls} of this generation: {why}",
        "see that the model can be reached, then resume the run",
    )


def _undesigned(request: DesignRequest, why: str) -> Candidate:
    return Candidate(
        id=request.candidate_id,
        generation=request.generation,
        operator=request.operator,
        parents=tuple(record.candidate.id for record in request.parents),
        failure=f"not designed: {why}",
    )


def _specs(candidates: Sequence[Candidate]) -> list[RewardSpec]:
    return [RewardSpec(candidate_id=each.id, source=each.source) for each in candidates]
