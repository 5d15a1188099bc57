"""Fitted weights are believed by what they say of candidates that they were not fitted to."""

import numpy as np
import pytest

from rewardgen.search.weights import fit_weights

rng = np.random.default_rng(0)
CANDIDATES = [f"c{number // 3}" for number in range(30)]
SKILL = np.repeat(rng.normal(size=10), 3) + 0.1 * rng.normal(size=30)
NOISE = rng.normal(size=30)


def fit(*sums, present=None, candidates=CANDIDATES, fitness=SKILL):
    return fit_weights([list(values) for values in sums], present or [1.0] * len(sums), list(fitness), candidates)


def test_a_component_that_follows_fitness_rises_and_noise_falls_at_any_scale():
    fine, coarse = 0.001 * SKILL, 1000.0 * NOISE
    found = fit(fine, coarse)
    assert found.before < 0.6 and found.after > 0.95
    assert found.weights[0] > 1e4 and found.weights[1] < 0.1
    assert (found.weights[0] * fine + found.weights[1] * coarse).std() == pytest.approx((fine + coarse).std())
    assert found == fit(fine, coarse)


def test_a_weight_of_zero_may_rise_and_none_turns_negative():
    assert fit(NOISE, SKILL, present=[1.0, 0.0]).weights[1] > 0.5
    found = fit(SKILL + NOISE, -0.5 * SKILL)
    assert found.weights[0] > 0.0 == found.weights[1]


def test_components_that_only_tell_candidates_apart_are_not_believed():
    marks = [[float(name == mark) for name in CANDIDATES] for mark in sorted({*CANDIDATES})]
    together, apart = (fit(0.1 * NOISE, *marks, candidates=names) for names in (CANDIDATES, range(30)))
    assert together.after <= together.before + 0.05 and apart.after > apart.before + 0.1


def test_too_little_evidence_gives_no_fit():
    assert fit(SKILL, NOISE, candidates=[n % 3 for n in range(30)]) is None
    assert fit(SKILL, NOISE, fitness=[0.0] * 29 + [1.0]) is None
    assert fit(SKILL, NOISE, present=[0.0, 0.0]) is None
    assert fit([1e308, -1e308] * 15, NOISE) is None
