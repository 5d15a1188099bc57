"""Belief about which candidate a teacher prefers, from answers on pairs: Bradley-Terry with ties.

Davidson (1970), "On extending the Bradley-Terry model to accommodate ties in paired comparison experiments": with the
difference d of two strengths, a win, a loss and a tie are as likely as exp(d/2), exp(-d/2) and nu are to each other.
Strengths and nu are those of the highest posterior under a weak prior; the posterior is taken to be normal there. A
bootstrap over answers would call three equal answers certain; the posterior does not. The order of answers has no
influence. Imports numpy: not for the command line.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rewardgen.store.comparisons import Comparison

Array = NDArray[np.floating[Any]]

PRIOR = 2.0
"""Standard deviation of strengths before any answer: two candidates then differ by 2.8, or odds of 16 to 1."""
SETTLED = 0.95
"""Probability that the leader is the best one from which no more questions are asked."""
_TIES, _TIES_PRIOR = -1.0, 1.5
"""Mean and standard deviation of log(nu) before any answer."""
_STEPS, _HALVINGS, _CONVERGED = 50, 30, 1e-10
_DRAWS, _MOST_COMPARED, MOST_LEFT, _UNCLEAR = 512, 10, 30, 2


class Belief(NamedTuple):
    """Strengths of N candidates."""

    ids: tuple[str, ...]
    mean: Array
    """(N,), with a mean of 0."""
    covariance: Array
    log_ties: float
    """log(nu)."""

    @property
    def errors(self) -> Array:
        """Standard deviation of each strength against the mean of all, (N,)."""
        count = len(self.ids)
        centring = np.eye(count) - 1.0 / count
        return np.sqrt(np.diag(centring @ self.covariance @ centring).clip(0.0))

    def best(self) -> Array:
        """Probability of each candidate to be the strongest one, (N,)."""
        return _shares(self.mean, self.covariance, _draws(len(self.ids)))


def believe(ids: Sequence[str], comparisons: Sequence[Comparison]) -> Belief:
    """Fit strengths to the decided answers on pairs of these candidates."""
    place, count = {id: index for index, id in enumerate(ids)}, len(ids)
    wins, ties = np.zeros((count, count)), np.zeros((count, count))
    for each in comparisons:
        left, right = (place.get(id) for id in each.ids)
        if left is None or right is None or left == right or each.answer == "unclear":
            continue
        if each.answer == "same":
            ties[left, right] += 0.5
            ties[right, left] += 0.5
        else:
            wins[(left, right) if each.answer == "left" else (right, left)] += 1.0
    return _fitted(tuple(ids), wins, ties)


def _fitted(ids: tuple[str, ...], wins: Array, ties: Array) -> Belief:
    """Newton's method with halved steps; the logarithm of the posterior is strictly concave."""
    count = len(ids)
    point = np.append(np.zeros(count), _TIES)
    value, gradient, curvature = _posterior(point, wins, ties)
    for _ in range(_STEPS):
        step = np.linalg.solve(curvature, gradient)
        if float(gradient @ step) < _CONVERGED:
            break
        for halving in range(_HALVINGS):
            nearer = point + step * 0.5**halving
            reached = _posterior(nearer, wins, ties)
            if reached[0] > value:
                break
        else:
            break
        point, (value, gradient, curvature) = nearer, reached
    covariance = np.linalg.inv(curvature)[:count, :count]
    return Belief(ids, point[:count] - point[:count].mean(), covariance, float(point[count]))


def _posterior(point: Array, wins: Array, ties: Array) -> tuple[float, Array, Array]:
    """Logarithm of the posterior, its gradient (N + 1,), and its negative second derivatives (N + 1, N + 1)."""
    strengths, log_ties, count = point[:-1], point[-1], len(point) - 1
    lead = strengths[:, None] - strengths[None, :]
    win, tie = _chances(lead, log_ties)
    loss, games = win.T, wins + wins.T + 2.0 * ties  # 2 ties: each is shared by [i, j] and [j, i]
    # Each pair stands twice, at [i, j] and [j, i]: sums over all cells are halved.
    log_likelihood = (wins * np.log(win)).sum() + (ties * np.log(tie)).sum()
    pull = (wins - wins.T) / 2.0 - games * (win - loss) / 2.0
    stiff = games * ((win + loss) / 4.0 - ((win - loss) / 2.0) ** 2)
    cross = games * tie * (win - loss) / 2.0
    gradient = np.append(pull.sum(1), ties.sum() - (games * tie).sum() / 2.0)
    curvature = np.zeros((count + 1, count + 1))
    curvature[:count, :count] = np.diag(stiff.sum(1)) - stiff
    curvature[:count, count] = curvature[count, :count] = -cross.sum(1)
    curvature[count, count] = (games * tie * (1.0 - tie)).sum() / 2.0
    precision = np.append(np.full(count, PRIOR**-2), _TIES_PRIOR**-2)
    off = point - np.append(np.zeros(count), _TIES)
    value = float(log_likelihood - (precision * off**2).sum() / 2.0)
    return value, gradient - precision * off, curvature + np.diag(precision)


def _chances(lead: Array, log_ties: float) -> tuple[Array, Array]:
    """Probabilities of a win and of a tie at a lead."""
    logs = np.stack((lead / 2.0, -lead / 2.0, np.full_like(lead, log_ties)))
    shares = np.exp(logs - logs.max(0))
    win, _, tie = (shares / shares.sum(0)).clip(1e-300)
    return win, tie


def next_pair(belief: Belief, comparisons: Sequence[Comparison]) -> tuple[str, str] | None:
    """Return the pair whose answer is expected to tell most about which candidate is the best one.

    Between equal pairs the one with fewer answers decides. A pair that the teacher could not tell apart twice is not
    asked again. None if the best one is settled, or nobody can tell.
    """
    unclear = Counter(frozenset(each.ids) for each in comparisons if each.answer == "unclear")
    barred = {pair for pair, times in unclear.items() if times >= _UNCLEAR}
    found = _most_telling(belief, _counts(belief, comparisons), barred)
    return found and (belief.ids[found[0]], belief.ids[found[1]])


def _counts(belief: Belief, comparisons: Sequence[Comparison]) -> list[int]:
    return [sum(id in each.ids for each in comparisons) for id in belief.ids]


def answers_left(belief: Belief, comparisons: Sequence[Comparison]) -> int:
    """Estimate the number of answers until the best one is settled, if each is the likeliest one; at most 30."""
    seen = _counts(belief, comparisons)
    for asked in range(MOST_LEFT):
        found = _most_telling(belief, seen)
        if found is None:
            return asked
        outcomes, covariance = _outcomes(belief, *found)
        _, mean = max(outcomes, key=lambda outcome: outcome[0])
        belief = belief._replace(mean=mean, covariance=covariance)
        for place in found:
            seen[place] += 1
    return MOST_LEFT


def _most_telling(
    belief: Belief, counts: Sequence[int], barred: Collection[frozenset[str]] = ()
) -> tuple[int, int] | None:
    draws, chances = _draws(len(belief.ids)), belief.best()
    if float(chances.max()) >= SETTLED:
        return None
    likely = sorted(np.argsort(-chances, kind="stable")[:_MOST_COMPARED].tolist())
    expected: dict[tuple[int, int], float] = {}
    for one, other in combinations(likely, 2):
        if frozenset((belief.ids[one], belief.ids[other])) in barred:
            continue
        outcomes, covariance = _outcomes(belief, one, other)
        entropies = [(chance, _entropy(_shares(mean, covariance, draws))) for chance, mean in outcomes]
        expected[one, other] = round(sum(chance * entropy for chance, entropy in entropies), 6)
    order = sorted(expected, key=lambda pair: (expected[pair], counts[pair[0]] + counts[pair[1]], pair))
    return order[0] if order else None


def _outcomes(belief: Belief, one: int, other: int) -> tuple[list[tuple[float, Array]], Array]:
    """Chance of each answer on a pair with the strengths after it, and their covariance, by one step of Newton's."""
    wins, ties = _chances(np.array([[0.0, belief.mean[one] - belief.mean[other]]]), belief.log_ties)
    win, tie = float(wins[0, 1]), float(ties[0, 1])
    loss = 1.0 - win - tie
    moved = belief.covariance[:, one] - belief.covariance[:, other]
    stiff = (win + loss) / 4.0 - ((win - loss) / 2.0) ** 2
    covariance = belief.covariance - stiff * np.outer(moved, moved) / (1.0 + stiff * (moved[one] - moved[other]))
    moved = covariance[:, one] - covariance[:, other]
    answers = ((win, 0.5), (loss, -0.5), (tie, 0.0))
    return [(chance, belief.mean + moved * (shift - (win - loss) / 2.0)) for chance, shift in answers], covariance


def _draws(count: int) -> Array:
    return np.random.default_rng(0).standard_normal((_DRAWS, count))


def _shares(mean: Array, covariance: Array, draws: Array) -> Array:
    """Share of draws from a normal distribution in which each candidate is the strongest, (N,)."""
    strongest = (mean + draws @ np.linalg.cholesky(covariance).T).argmax(1)
    return np.bincount(strongest, minlength=len(mean)) / len(draws)


def _entropy(shares: Array) -> float:
    return -sum(share * math.log(share) for share in shares.tolist() if share)
