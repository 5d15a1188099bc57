"""Candidates that a numerical tuner makes: the best reward of the archive with other constants.

A *structure* is a reward without the sizes of its constants, the keyword-only parameters: all candidates of a structure
teach the tuner, whoever set their constants. It is CMA-ES (Hansen 2016, arXiv:1604.00772) on the logarithm of a
constant's size. So a sign stays what it is, and a zero, whose size says nothing, stays zero. All of it is worked out
from the records: a resumed run proposes the same.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

import numpy as np
from cmaes import CMA

from rewardgen.core.config import RunConfig
from rewardgen.reward.identity import source_fingerprint
from rewardgen.reward.signature import read_signature, with_tunables
from rewardgen.search.judge import Judge
from rewardgen.search.strategy import slot_id
from rewardgen.store.ranking import Ranking
from rewardgen.store.records import Candidate, CandidateRecord, Slot

_STEP = 0.5
"""Standard deviation of a proposal around what did best, of the logarithm: two thirds are within a factor of 1.65."""
_REACH = math.log(20.0)
"""Of the logarithm: no constant moves by a larger factor from where it did best."""
_LEAST = 4
"""Of a population that CMA-ES learns from; with fewer it draws around the best."""
_LARGEST = math.log(1e30)
"""Of the logarithm of a constant's size; rewards are computed in float32."""


def tuned_slots(
    config: RunConfig, judge: Judge, records: Sequence[CandidateRecord], generation: int, planned: int
) -> tuple[Slot, ...]:
    """The further candidates of a generation: the best structure that has constants, with others.

    None in a generation that knows of no trained reward with constants.

    Args:
        config: The run's configuration; `tune` is how many there are to be.
        judge: Ranks the archive.
        records: All candidates of the earlier generations.
        generation: Index of the generation.
        planned: How many candidates it has besides.
    """
    if not config.tune:
        return ()
    members = _best_structure(records, judge.rank(records))
    if not members:
        return ()
    settings = [read_signature(each.candidate.source).tunables for each in members]
    proposals = _proposals(settings, config.tune, random.Random(f"{config.seed}/{generation}/constants"))
    return tuple(
        Slot(
            candidate_id=slot_id(generation, planned + number),
            operator="constants",
            parents=(members[0].candidate.id,),
            tunables=proposed,
        )
        for number, proposed in enumerate(proposals)
    )


def tuned_candidate(slot: Slot, generation: int, parent: Candidate) -> Candidate:
    """The candidate of a slot that `tuned_slots` planned.

    Args:
        slot: The slot.
        generation: Its generation.
        parent: Its parent.
    """
    before = read_signature(parent.source).tunables
    after = {name: value for name, value in slot.tunables.items() if before.get(name, value) != value}
    moved = [f"`{name}` {before[name]:g} -> {value:g}" for name, value in after.items()]
    return Candidate(
        id=slot.candidate_id,
        generation=generation,
        operator=slot.operator,
        parents=slot.parents,
        source=with_tunables(parent.source, after),
        diagnosis=f"Other constants, set by the tuner: {', '.join(moved)}.",
    )


def one_of_each_tuned(records: Sequence[CandidateRecord], ranking: Ranking) -> tuple[str, ...]:
    """The ids of a ranking, of each structure that was tuned only the best: the others are the same idea.

    Args:
        records: All candidates.
        ranking: Of these.
    """
    found = {each.candidate.id: each.candidate for each in records}
    tuned = {_structure(each.source) for each in found.values() if each.operator == "constants"}
    keys = {id: _structure(found[id].source) if tuned else id for id in ranking.ids}
    first = {key: id for id, key in reversed(keys.items())}
    return tuple(id for id, key in keys.items() if key not in tuned or first[key] == id)


def _best_structure(records: Sequence[CandidateRecord], ranking: Ranking) -> list[CandidateRecord]:
    """The ranked candidates of one structure, best first: of the best one with a constant that can be tuned.

    One of which other constants were tried and none could be trained makes room for the next.
    """
    found = {each.candidate.id: each for each in records}
    groups: dict[str, list[CandidateRecord]] = {}
    for id in ranking.ids:
        groups.setdefault(_structure(found[id].candidate.source), []).append(found[id])
    tried = [each.candidate for each in records if each.candidate.operator == "constants"]
    in_vain = {_structure(each.source) for each in tried} - {
        _structure(each.source) for each in tried if each.id in ranking.ids
    }
    for structure, members in groups.items():
        if any(read_signature(members[0].candidate.source).tunables.values()) and structure not in in_vain:
            return members
    return []


def _structure(source: str) -> str:
    """Fingerprint of a reward whose constants have lost their size; not their sign."""
    signs = {name: (value > 0) - (value < 0) for name, value in read_signature(source).tunables.items()}
    return source_fingerprint(with_tunables(source, signs))


def _proposals(settings: Sequence[dict[str, float]], count: int, rng: random.Random) -> list[dict[str, float]]:
    """New values for the constants of the first, which are where CMA-ES begins; the better half is its population.

    Args:
        settings: Constants of the candidates of one structure, best first; their names may differ, not their order.
        count: How many proposals.
        rng: Seeds the draws.
    """
    names = [name for name, value in settings[0].items() if value]
    columns = [list(settings[0]).index(name) for name in names]
    sizes = np.log(np.abs([[list(each.values())[column] for column in columns] for each in settings]))
    better = sizes[: math.ceil(len(sizes) / 2)]
    bounds = np.clip(sizes[0][:, None] + (-_REACH, _REACH), -_LARGEST, _LARGEST)
    start = np.clip(sizes[0], *bounds.T)
    population = max(_LEAST, len(better))
    search = CMA(start, _STEP, bounds=bounds, seed=rng.randrange(1 << 32), population_size=population)
    if len(better) >= _LEAST:
        search.tell([(each, float(place)) for place, each in enumerate(better)])
    proposals = []
    for _ in range(count):
        drawn = dict(zip(names, np.exp(search.ask()).tolist(), strict=True))
        changed = {name: math.copysign(drawn.get(name, 0.0), value) for name, value in settings[0].items()}
        proposals.append({name: float(f"{value:.3g}") for name, value in changed.items()})
    return proposals
