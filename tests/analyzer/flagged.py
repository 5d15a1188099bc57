"""The flags of a candidate that is trained as told, and what is asserted of them."""

from __future__ import annotations

from rewardgen.analyzer.analyzer import Analyzer
from tests.analyzer.trained import SOUND, trained
from tests.builders import card


def flags(success_terminates=False, benign_terminations=False, probes=(), best_fitness=None, **changes):
    """All flags of a training that is sound but for the changes."""
    given = card(
        success_terminates=success_terminates,
        benign_terminations=benign_terminations,
        probes=probes,
        best_fitness=best_fitness,
    )
    return Analyzer(None).study(trained(**changes), [], given).flags


def with_component(name, **changes):
    return flags(components=SOUND | {name: changes})


def fires(found, detector, words, component=None):
    """One flag and no other, of this detector, with these words and numbers to rest on."""
    assert [flag.detector for flag in found] == [detector]
    assert words in found[0].message
    assert found[0].component == component
    assert found[0].evidence
