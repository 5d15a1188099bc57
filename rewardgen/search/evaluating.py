"""Steps that train candidates, give the leaders further seeds, and analyse the results.

Further seeds for the leaders pick a better reward than equal seeds for every candidate at the same number of trainings,
unless candidates differ far more than seeds do (simulated in docs/statistics.md).
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any

from rewardgen.core.config import FURTHER_SHARE
from rewardgen.search.context import Context, search_steps_left
from rewardgen.store.history import Phase, SeedRound
from rewardgen.store.ranking import Ranking, leads
from rewardgen.store.records import BASELINES, Analysis, RewardSpec, SliceFailure, SliceResult, SliceSpec, Slot


def train(run: Context, phase: Phase, sources: Mapping[str, str]) -> None:
    """Train the slices of a phase without a result; slices that the search's time limit interrupts fail."""
    history = run.history
    slices = [SliceSpec(candidate_id=id, seed=seed) for id in sources for seed in history.seeds(phase, id)]
    missing = [spec for spec in slices if (phase, spec.candidate_id, spec.seed) not in history.trained]
    cache, folder = run.parts.cache, run.parts.policies / phase

    def record(result: SliceResult) -> None:
        run.journal.record("trained", phase=phase, slice=result.model_dump(mode="json"))
        if phase == "search" and result.candidate_id not in BASELINES and history.result(phase, result.candidate_id):
            ranking = run.parts.judge.rank(run.records())
            if ranking.ids[:1] != history.ranking.ids[:1]:
                run.journal.record("ranked", ranking=ranking.model_dump(mode="json"))

    def finish(result: SliceResult) -> None:
        if cache and result.candidate_id in BASELINES:
            cache.keep(result, sources[result.candidate_id], folder)
        record(result)

    def progress(message: dict[str, Any]) -> None:
        run.journal.listener.progress({**message, "phase": phase})

    raced = history.race.drafts if history.race else ()
    for spec in [spec for spec in missing if spec.candidate_id in (*BASELINES, *raced)]:
        if cache and (cached := cache.bring(spec, sources[spec.candidate_id], folder)):
            record(cached)
            missing.remove(spec)
    if not missing:
        return
    # Candidates train side by side, so a limit on the first of them would leave nothing to choose from.
    begun = any((result := history.result("search", id)) and not result.failure for id in history.ids())
    with run.time_limit() if phase == "search" and begun else nullcontext(threading.Event()) as cancel:
        rewards = dict.fromkeys(spec.candidate_id for spec in missing)
        run.parts.trainer.train(
            [RewardSpec(candidate_id=id, source=sources[id], is_baseline=id in BASELINES) for id in rewards],
            missing,
            folder=folder,
            on_progress=progress,
            on_slice=finish,
            cancel=cancel,
        )
    for spec in missing if cancel.is_set() else ():
        # A further seed that ran out of time does not count against a leader.
        if spec.seed in history.search_seeds and (phase, spec.candidate_id, spec.seed) not in history.trained:
            record(SliceResult(**spec.model_dump(), failure=SliceFailure(kind="timeout", message=run.time_up)))


def settle(run: Context, generation: int, rounds: int | None = None) -> None:
    """Give the leaders further seeds, one each per round, until the order is settled or their seeds are used up.

    A judge that does not rank by fitness has no use for them. After the search, `generation` counts all of them.
    """
    history = run.history
    finished = generation < len(history.generations) and history.generations[generation].finished
    while True:
        trained = [record.candidate for record in run.records() if record.result]
        train(run, "search", {candidate.id: candidate.source for candidate in trained})
        keys = [(seed_round.phase, seed_round.generation) for seed_round in history.seed_rounds]
        if finished or run.time_up or not run.parts.judge.by_fitness or keys.count(("search", generation)) == rounds:
            return
        seeds = _next_round(run)
        if not seeds:
            return
        seed_round = SeedRound(phase="search", generation=generation, seeds=seeds)
        run.journal.record("seeds-opened", **seed_round.model_dump(mode="json"))


def _next_round(run: Context) -> dict[str, tuple[int, ...]]:
    history, config = run.history, run.config
    ranking = run.parts.judge.rank(run.records())
    counts = {id: len(history.seeds("search", id)) for id in ranking.ids}
    spent = sum(len(seeds) for (phase, _), seeds in history.extra_seeds.items() if phase == "search")
    room = len(ranking.ids) * len(history.search_seeds) // FURTHER_SHARE - spent
    if config.max_steps is not None:
        room = min(room, int(search_steps_left(config, history) // history.training.env_steps))
    ids = contenders(ranking, counts, config.leaders, config.leader_seeds)[: max(0, room)]
    return {id: (history.search_seeds[0] + counts[id],) for id in ids}


def contenders(ranking: Ranking, counts: Mapping[str, int], leaders: int, most: int) -> list[str]:
    """Return the leaders that may be the best, fewest seeds first; empty if the order is settled."""
    first = ranking.ranks[:leaders]
    undecided = [rank.candidate_id for rank in first[1:] if not leads(first[0], rank)]
    ids = [first[0].candidate_id, *undecided] if undecided else []
    return sorted((id for id in ids if counts[id] < most), key=counts.__getitem__)


def study(run: Context, slots: Sequence[Slot], *, diagnose: bool) -> None:
    """Analyse the trained candidates of a generation; only designers of a further one read written diagnoses."""
    studied, archive = run.history.studied, run.records()
    order = run.parts.judge.rank(archive).ids

    def place(id: str) -> int:
        return order.index(id) if id in order else len(order)

    def is_open(slot: Slot) -> bool:
        analysis = studied.get(slot.candidate_id)
        return analysis is None or (diagnose and bool(run.history.requested_generations) and _lacks_diagnosis(analysis))

    async def study_one(slot: Slot) -> None:
        record = run.history.record(slot.candidate_id)
        if record is None or record.result is None:
            return
        before = studied.get(slot.candidate_id)
        ids = sorted(record.candidate.parents, key=place)
        parents = [parent for id in ids if (parent := run.history.record(id))]
        analysis = before or run.parts.analyzer.study(record, parents, run.card, archive)
        if diagnose:
            (shown,) = run.shown([record.model_copy(update={"analysis": analysis})])
            assert shown.analysis is not None
            call = run.parts.analyzer.diagnose(shown.analysis, shown, run.shown_card)
            diagnosed = await run.within_budget(call, shown.analysis)
            added = diagnosed.flags[len(shown.analysis.flags) :]
            update = {"diagnosis": diagnosed.diagnosis, "flags": (*analysis.flags, *added)}
            analysis = analysis.model_copy(update=update)
        if analysis != before:
            run.journal.record("studied", analysis=analysis.model_dump(mode="json"))

    run.gather([partial(study_one, slot) for slot in slots if is_open(slot)])


def _lacks_diagnosis(analysis: Analysis) -> bool:
    """True in an extended run for its former last generation, which needed no diagnoses."""
    return not analysis.diagnosis and not any(flag.detector == "no-diagnosis" for flag in analysis.flags)
