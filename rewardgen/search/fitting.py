"""Candidates by the operator `fit`: a trained candidate's reward with weights fitted to all recorded episodes.

The task's sparse reward is offered as one more component, as in BARFI (Gupta et al. 2023, "Behavior Alignment via
Reward Function Optimization"), which learns to blend a designed reward with the task's own. A fit asks no model.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rewardgen.core.errors import RewardgenError
from rewardgen.critic.critic import check_form
from rewardgen.critic.sandboxed import PriceEpisodes, ReviewRequest
from rewardgen.reward.fitted import RESIDUAL, SPARSE, FittedReward, read_fitted
from rewardgen.reward.language import check_language
from rewardgen.reward.signature import check_signature
from rewardgen.search.context import Context
from rewardgen.store.records import Candidate, CandidateRecord, RewardSpec, Slot, TaskCard

LEAST_GAIN = 0.01
"""Rise of the share of held-out pairs ranked right that counts: with less, the child would repeat its parent."""


class Fit(NamedTuple):
    """A fitted reward, and the shares of held-out pairs of episodes that are ranked right, 0 to 1.

    Attributes:
        reward: The reward.
        before: Share with the parent's weights.
        after: Share with fitted weights.
        episodes: Number of recorded episodes.
        diagnosis: The fit in words.
    """

    reward: FittedReward
    before: float
    after: float
    episodes: int
    diagnosis: str


def fit_candidate(run: Context, generation: int, slot: Slot) -> Candidate | None:
    """Return the candidate of a slot by a fit of weights; None if no weights rank held-out episodes better."""
    parent = run.history.record(slot.fit) if slot.fit else None
    if parent is None or run.parts.returns is None or run.time_up:
        return None
    records, sparse = run.records(before=generation), run.history.baselines.get(SPARSE, "")
    try:
        fit = fit_reward(parent.candidate, records, run.card, sparse, run.parts.returns)
    except RewardgenError as error:
        run.journal.listener.note(f"{slot.candidate_id}: weights of {slot.fit} not fitted: {error.message}")
        return None
    if fit is None or fit.after < fit.before + LEAST_GAIN:
        return None
    fields = {"parents": (parent.candidate.id,), "source": fit.reward.source, "diagnosis": fit.diagnosis}
    candidate = Candidate(id=slot.candidate_id, generation=generation, operator="fit", **fields)
    return None if check_form(candidate, run.card) else candidate


def fit_reward(
    parent: Candidate, records: Sequence[CandidateRecord], card: TaskCard, sparse: str, price: PriceEpisodes
) -> Fit | None:
    """Fit the weights of a candidate's components to the recorded episodes of all candidates.

    Args:
        parent: The candidate. Weights that were fitted before are replaced.
        records: All candidates.
        card: The task.
        sparse: Source of the task's sparse reward; empty without one.
        price: Sums components over episodes, in a worker.

    Returns:
        The fit; None if the reward cannot be priced, or the episodes are too few.

    Raises:
        RewardgenError: An episode cannot be read, or the worker failed.
    """
    from rewardgen.search.weights import fit_weights  # imports numpy

    earlier = read_fitted(parent.source)
    designed = earlier.designed if earlier else parent.source
    specs = [RewardSpec(candidate_id=parent.id, source=designed)]
    # A designed reward with the same word may give it another meaning.
    if sparse and SPARSE not in designed and not check_language(sparse) + check_signature(sparse, card.input_names()):
        specs.append(RewardSpec(candidate_id=SPARSE, source=sparse))
    slices = [result for record in records if record.result for result in record.result.slices if result.episodes_file]
    played = [(result.candidate_id, kept.fitness) for result in slices for kept in result.kept]
    answer = price(ReviewRequest(specs, card, [result.episodes_file or "" for result in slices])) if slices else {}
    sums, extra = dict(answer.get(parent.id) or {}), answer.get(SPARSE) or {}
    # The worker ran the reward, so its sums may have any length.
    if not sums or {len(values) for values in (*sums.values(), *extra.values())} != {len(played)}:
        return None
    has_total = RESIDUAL in sums
    sums = {name: values for name, values in sums.items() if name != RESIDUAL or any(values)}
    present = earlier.weights if earlier else dict.fromkeys(sums, 1.0)
    if extra:
        sums[SPARSE] = [sum(values) for values in zip(*extra.values(), strict=True)]
    candidates, fitness = zip(*played, strict=True)
    fit = fit_weights([*sums.values()], [present.get(name, 0.0) for name in sums], fitness, candidates)
    if fit is None:
        return None
    weights = {name: float(f"{weight:.3g}") for name, weight in zip(sums, fit.weights, strict=True) if weight}
    blended = sparse if extra and SPARSE in weights else ""
    factors = sorted(((weights.get(name, 0.0) / weight, name) for name, weight in present.items()), reverse=True)
    changes = [f"`{name}` times {factor:.3g}" for factor, name in factors]
    changes += [f"`{name}` new at {weight:g}" for name, weight in weights.items() if name not in present]
    words = (
        f"The components of {parent.id} stay, with weights fitted to {len(played)} recorded episodes of"
        f" {len({*candidates})} candidates. Held-out pairs of episodes that returns rank as fitness does:"
        f" {100 * fit.before:.0f} % before, {100 * fit.after:.0f} % after. Weights, from the largest rise to the"
        f" largest fall: {', '.join(changes)}."
    )
    reward = FittedReward(designed, weights, has_total, blended, tuple(extra) if blended else ())
    return Fit(reward, fit.before, fit.after, len(played), words)
