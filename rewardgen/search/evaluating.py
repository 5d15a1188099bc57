"""The steps that train candidates and study what came of it."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import Any

from rewardgen.search.context import Context
from rewardgen.store.history import Phase
from rewardgen.store.records import BASELINES, RewardSpec, SliceFailure, SliceResult, SliceSpec, Slot


def train(run: Context, phase: Phase, sources: Mapping[str, str]) -> None:
    """Train what is not yet trained in this phase, on the seeds that are opened for it.

    When the time of the search is up, what has not been trained to the end has failed.

    Args:
        run: The run.
        phase: What for.
        sources: Id to reward, of candidates and of the task's own rewards.
    """
    history = run.history
    slices = [SliceSpec(candidate_id=id, seed=seed) for id in sources for seed in history.seeds(phase, id)]
    missing = [each for each in slices if (phase, each.candidate_id, each.seed) not in history.trained]
    # The final figures are those of the full budget.
    stop_hacking = phase == "search" and "analyzer" not in run.config.ablate
    trainer, cache, folder = run.parts.trainer, run.parts.cache, run.parts.policies / phase
    if phase == "confirm":
        assert run.config.confirm is not None
        trainer, cache = run.parts.longer(run.config.confirm), None

    def keep(result: SliceResult) -> None:
        run.journal.record("trained", phase=phase, slice=result.model_dump(mode="json"))
        if phase == "search" and result.candidate_id not in BASELINES and history.result(phase, result.candidate_id):
            ranking = run.parts.judge.rank(run.records())
            if ranking.ids[:1] != history.ranking.ids[:1]:
                run.journal.record("ranked", ranking=ranking.model_dump(mode="json"))

    def progress(message: dict[str, Any]) -> None:
        run.journal.listener.progress({**message, "phase": phase})

    for each in [each for each in missing if cache and each.candidate_id in BASELINES]:
        assert cache is not None
        if found := cache.bring(each, sources[each.candidate_id], folder, stop_hacking=stop_hacking):
            keep(found)
            missing.remove(each)
    if not missing:
        return
    wanted = {each.candidate_id for each in missing}

    def trained(result: SliceResult) -> None:
        if cache and result.candidate_id in BASELINES:
            cache.keep(result, sources[result.candidate_id], folder, stop_hacking=stop_hacking)
        keep(result)

    with run.time_limit() if phase == "search" else nullcontext(threading.Event()) as cancel:
        trainer.train(
            [
                RewardSpec(candidate_id=id, source=source, own=id in BASELINES)
                for id, source in sources.items()
                if id in wanted
            ],
            missing,
            folder=folder,
            on_progress=progress,
            on_slice=trained,
            stop_hacking=stop_hacking,
            cancel=cancel,
        )
    for each in missing if cancel.is_set() else ():
        # A further seed that there was no time for is no failure of a leader.
        if each.seed in history.search_seeds and (phase, each.candidate_id, each.seed) not in history.trained:
            keep(SliceResult(**each.model_dump(), failure=SliceFailure(kind="timeout", message=run.time_up)))


def study(run: Context, slots: Sequence[Slot], *, diagnose: bool) -> None:
    """Analyse the trained candidates of a generation.

    Args:
        run: The run.
        slots: What they were designed from.
        diagnose: Whether to ask for written diagnoses, which only the designers of a further generation read.
    """
    known = run.history.studied

    async def study_one(slot: Slot) -> None:
        found = run.history.record(slot.candidate_id)
        if found is None or found.result is None:
            return
        before = known.get(slot.candidate_id)
        parents = [each for id in sorted(slot.parents, key=place) if (each := run.history.record(id))]
        analysis = before or run.parts.analyzer.study(found, parents, run.card, archive)
        if diagnose and slot.operator != "constants":
            call = run.parts.analyzer.diagnose(analysis, found, run.card)
            analysis = await run.within_budget(call, analysis)
        if analysis != before:
            run.journal.record("studied", analysis=analysis.model_dump(mode="json"))

    archive = run.records()
    ranked = run.parts.judge.rank(archive).ids

    def place(id: str) -> int:
        return ranked.index(id) if id in ranked else len(ranked)

    def is_open(slot: Slot) -> bool:
        """Whether it is not studied yet or, in a run that was extended, lacks the diagnosis that nobody was to read."""
        analysis = known.get(slot.candidate_id)
        if analysis is None or not (diagnose and run.history.promised):
            return analysis is None
        return not analysis.diagnosis and not any(each.detector == "no-diagnosis" for each in analysis.flags)

    run.gather([study_one(slot) for slot in slots if is_open(slot)])
