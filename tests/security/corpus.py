"""All attacks by name, and samples of every class; the others carry the marker `matrix`."""

from collections.abc import Iterable

import pytest

from tests.security import (
    attacks_delayed,
    attacks_exhaustion,
    attacks_files,
    attacks_globals,
    attacks_imports,
    attacks_introspection,
    attacks_leaks,
    attacks_network,
    attacks_output,
    attacks_processes,
    attacks_results,
    attacks_state,
)
from tests.security.attack import Attack

_MODULES = (
    *(attacks_introspection, attacks_imports, attacks_files, attacks_network, attacks_processes, attacks_exhaustion),
    *(attacks_state, attacks_globals, attacks_leaks, attacks_delayed, attacks_results, attacks_output),
)

ATTACKS: dict[str, Attack] = {
    f"{attack.kind}: {name}": attack for module in _MODULES for name, attack in module.ATTACKS.items()
}


def _sampled(of_each: int) -> frozenset[str]:
    """Some of each class, gate and control, and of those that layer 2 stops by itself and does not."""
    kinds: dict[object, list[str]] = {}
    for name, attack in ATTACKS.items():
        kinds.setdefault((attack.kind, attack.gate, attack.control, attack.alone), []).append(name)
    return frozenset(name for names in kinds.values() for name in names[:of_each])


SAMPLE = _sampled(1) - {"hang: huge integer"}
"""Without what holds a probe for ten seconds; `tests/critic/test_review.py` has one that takes too long."""
WARP = "ppo on Warp"
TRAINERS = {
    "ppo": frozenset(ATTACKS),
    "sb3-ppo": _sampled(2),
    "sac": SAMPLE,
    "sb3-sac": SAMPLE,
    "rsl-rl": SAMPLE,
    WARP: SAMPLE,
}
"""Those that are attacked, and with what at most; on a GPU if there is one, else on MuJoCo Warp's CPU device."""
ALWAYS = ("ppo",)
"""Those that the plain test command attacks; the others share their workers, or take minutes."""


def each(names: Iterable[str]) -> pytest.MarkDecorator:
    """Parametrise a test with attacks: a sample in the plain test command, all of them with `-m matrix`."""
    params = [pytest.param(name, marks=[] if name in SAMPLE else pytest.mark.matrix) for name in names]
    return pytest.mark.parametrize("name", params)


def each_and_every_trainer(names: Iterable[str]) -> pytest.MarkDecorator:
    """Parametrise a test with trainers (of the fixture `pipeline`) and attacks, as `each` does."""
    params = [(trainer, name) for trainer, tried in TRAINERS.items() for name in names if name in tried]
    marked = [
        pytest.param(*each, marks=pytest.mark.matrix if each[0] not in ALWAYS or each[1] not in SAMPLE else [])
        for each in params
    ]
    return pytest.mark.parametrize(("pipeline", "name"), marked, indirect=["pipeline"])


over_the_matrix = pytest.mark.parametrize(
    ("pipeline", "whole"),
    [("ppo", False), *(pytest.param(each, True, marks=pytest.mark.matrix) for each in TRAINERS)],
    indirect=["pipeline"],
)
"""Marks a test on what all attacks leave behind: it runs after the samples, and after the whole matrix."""


def selected(request: pytest.FixtureRequest, trainer: str = "ppo") -> list[str]:
    """The attacks that this session runs: the sample, or all if any other is asked for."""
    whole = any(item.get_closest_marker("matrix") for item in request.session.items)
    return [name for name in ATTACKS if name in (TRAINERS[trainer] if whole or trainer != "ppo" else SAMPLE)]
