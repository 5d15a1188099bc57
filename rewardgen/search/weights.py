"""Weights of components with which returns rank episodes as fitness does.

The pairwise logistic loss that reward models are fitted with (Christiano et al. 2017, "Deep Reinforcement Learning from
Human Preferences"), with a ridge towards the present weights. Imports numpy: not for the command line.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Pairs = NDArray[np.intp]
"""Indices of the better and of the worse episode, (2, P)."""

_RIDGES = (10.0, 1.0, 0.1, 0.01, 0.001)
"""Strengths to choose from, relative to the mean loss of a pair."""
_FOLDS, _FEWEST_CANDIDATES, _FEWEST_PAIRS = 5, 4, 20
_STEPS, _HALVINGS, _CONVERGED = 100, 40, 1e-9


class WeightFit(NamedTuple):
    """Weights for C components, and the shares of held-out pairs of episodes that are ranked right, 0 to 1.

    Attributes:
        weights: Factor of each component, 0 or more, (C,); returns vary as much as with the present weights.
        before: Share with the present weights; a tie is half right.
        after: Share with weights fitted to the other candidates' episodes.
    """

    weights: tuple[float, ...]
    before: float
    after: float


def fit_weights(
    sums: Sequence[Sequence[float]], present: Sequence[float], fitness: Sequence[float], candidates: Sequence[str]
) -> WeightFit | None:
    """Fit weights to the order of episodes by fitness, with the ridge that ranks held-out candidates best.

    Args:
        sums: Sum of each of C components over each of E episodes, (C, E).
        present: Present factor of each component, 0 or more, (C,).
        fitness: Fitness of each episode, (E,).
        candidates: Id of the candidate that played each episode, (E,). Its episodes are alike and held out together.

    Returns:
        The fit; None if there are too few candidates or pairs, or present returns do not vary over episodes.
    """
    columns, values, own = np.array(sums, float).T, np.array(fitness, float), np.array(present, float)
    with np.errstate(all="ignore"):  # a reward may sum to anything
        spreads, spread = columns.std(0), (columns @ own).std()
        varying = spreads > 1e-9 * np.abs(columns).max(0)
    pairs = np.argwhere(values[:, None] > values).T
    of = _folds(values, np.array(candidates))[pairs]
    splits = [(pairs[:, (of == fold).all(0)], pairs[:, (of != fold).all(0)]) for fold in range(of.max(initial=0) + 1)]
    if (
        len({*candidates}) < _FEWEST_CANDIDATES
        or sum(held.shape[1] for held, _ in splits) < _FEWEST_PAIRS
        or not all(others.size for _, others in splits)
        or not (np.isfinite(spreads).all() and 0.0 < spread < np.inf)
    ):
        return None
    # With the present weights, the returns of standardised components vary by 1.
    scaled, start = columns[:, varying] / spreads[varying], own[varying] * spreads[varying] / spread
    shares = {
        ridge: _share([(scaled @ _fitted(scaled, others, start, ridge), held) for held, others in splits])
        for ridge in _RIDGES
    }
    ridge = max(shares, key=shares.__getitem__)  # the strongest of equals
    weights = own.copy()
    weights[varying] = _fitted(scaled, pairs, start, ridge) * spread / spreads[varying]
    weights *= spread / max((columns @ weights).std(), 1e-9 * spread)
    before = _share([(scaled @ start, held) for held, _ in splits])
    return WeightFit(tuple(weights.tolist()), before, shares[ridge])


def _folds(fitness: Array, candidates: NDArray[np.str_]) -> NDArray[np.intp]:
    """Return the fold of each episode. Each fold has candidates of all levels of fitness, at least two."""
    order = sorted({*candidates.tolist()}, key=lambda id: (float(fitness[candidates == id].mean()), id))
    count = max(1, min(_FOLDS, len(order) // 2))
    return np.array([order.index(id) % count for id in candidates.tolist()])


def _share(ranked: Sequence[tuple[Array, Pairs]]) -> float:
    """Return the share of pairs that returns, (E,), rank right."""
    gaps = np.concatenate([returns[better] - returns[worse] for returns, (better, worse) in ranked])
    return float((gaps > 0).mean() + 0.5 * (gaps == 0).mean())


def _fitted(scaled: Array, pairs: Pairs, start: Array, ridge: float) -> Array:
    """Minimise the mean of log(1 + exp(-gap of returns)) plus the ridge, over weights of 0 or more.

    Newton's method on the weights that are free to move, projected (Bertsekas 1982, "Projected Newton Methods for
    Optimization Problems with Simple Constraints").
    """
    gaps, weights = scaled[pairs[0]] - scaled[pairs[1]], start

    def loss(weights: Array) -> float:
        return float(np.logaddexp(0.0, -gaps @ weights).mean() + 0.5 * ridge * np.square(weights - start).sum())

    for _ in range(_STEPS):
        wrong = np.exp(-np.logaddexp(0.0, gaps @ weights))
        slope = -(wrong @ gaps) / len(gaps) + ridge * (weights - start)
        curvature = (gaps.T * (wrong * (1.0 - wrong))) @ gaps / len(gaps) + ridge * np.eye(len(weights))
        free = (weights > 0.0) | (slope < 0.0)
        step = np.zeros_like(weights)
        step[free] = np.linalg.solve(curvature[np.ix_(free, free)], slope[free])
        moves = (np.maximum(weights - 0.5**halving * step, 0.0) for halving in range(_HALVINGS))
        now, level = weights, loss(weights)
        weights = next((move for move in moves if loss(move) < level), now)
        if np.abs(weights - now).max(initial=0.0) < _CONVERGED:
            break
    return weights
