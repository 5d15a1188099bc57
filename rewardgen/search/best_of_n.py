"""Independent drafts without feedback: what a search has to beat with as many candidates."""

from __future__ import annotations

import random
from collections.abc import Sequence

from rewardgen.core.config import RunConfig
from rewardgen.search.judge import Judge
from rewardgen.search.strategy import STRATEGIES, lenses, slot_id
from rewardgen.store.records import CandidateRecord, Slot


class BestOfN:
    """Plans drafts only, which differ by lens and seed: the first generation of `evolve`, again and again.

    Args:
        config: The run's configuration: as many candidates as for any other strategy.
        judge: Not asked.
    """

    learns = False

    def __init__(self, config: RunConfig, judge: Judge) -> None:
        self._config = config

    def plan(self, records: Sequence[CandidateRecord], generation: int) -> tuple[Slot, ...]:
        """See `Strategy.plan`."""
        seed, candidates = self._config.seed, self._config.candidates
        rng, hints = random.Random(f"{seed}/{generation}"), lenses(seed, generation * candidates)
        return tuple(
            Slot(
                candidate_id=slot_id(generation, number), operator="draft", lens=next(hints), seed=rng.randrange(2**31)
            )
            for number in range(candidates)
        )


STRATEGIES.register("best-of-n", BestOfN)
