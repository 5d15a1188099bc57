"""A detector of the analyzer is one function and one row of the registry: this file adds one from outside."""

import re
from pathlib import Path

import pytest

from rewardgen.analyzer import detectors
from rewardgen.analyzer.flags import DETECTORS
from rewardgen.analyzer.training_evidence import flag
from rewardgen.core.detectors import Detector
from tests.analyzer.flagged import flags
from tests.analyzer.trained import curve


def short_episodes(evidence):
    """Episodes are over before anything can be learned from them."""
    last = evidence.curves.curve[-1]
    if last.episode_steps < 10:
        yield flag("short-episodes", f"Episodes last {last.episode_steps:.0f} steps.", steps=last.episode_steps)


@pytest.fixture
def registered():
    DETECTORS.add(Detector("short-episodes", "a few steps", short_episodes, explained_by=("seeds-disagree",)))
    yield
    DETECTORS.remove("short-episodes")


def test_a_detector_from_outside_is_asked_like_the_others(registered):
    (found,) = flags(curves=curve(steps=5.0))
    assert (found.detector, found.message, found.evidence) == ("short-episodes", "Episodes last 5 steps.", {"steps": 5})
    assert flags() == ()


def test_its_flag_is_left_out_beside_one_that_says_more(registered):
    assert [each.detector for each in flags(curves=curve(steps=5.0), fitness=(0.1, 1.0))] == ["seeds-disagree"]


def test_a_detector_with_a_fault_of_its_own_is_named_and_costs_nothing():
    def broken(evidence):
        return evidence.no_such_thing

    broken.__module__ = "mine"
    DETECTORS.add(Detector("broken", "nothing", broken))
    try:
        found = flags(curves=curve(steps=5.0), fitness=(0.1, 1.0))
    finally:
        DETECTORS.remove("broken")
    assert [each.detector for each in found] == ["seeds-disagree", "broken"]
    assert "detector `broken` of `mine` raised AttributeError" in found[1].message


def test_every_flag_of_the_package_has_its_row():
    package = Path(detectors.__path__[0])
    raised = {name for path in package.glob("*.py") for name in re.findall(r'flag\(\s*"([a-z-]+)"', path.read_text())}
    assert raised == set(DETECTORS.names())
