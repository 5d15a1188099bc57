"""All attacks by name, and a sample of every class; all but the sample carry the marker `matrix`."""

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

_OF_EACH = 2


def _sampled() -> frozenset[str]:
    """Some of each class, gate and control, and of those that layer 2 stops by itself and does not."""
    kinds: dict[object, list[str]] = {}
    for name, attack in ATTACKS.items():
        kinds.setdefault((attack.kind, attack.gate, attack.control, attack.alone), []).append(name)
    return frozenset(name for names in kinds.values() for name in names[:_OF_EACH])


SAMPLE = _sampled()


def each(names: Iterable[str]) -> pytest.MarkDecorator:
    """Parametrise a test with attacks: a sample in the plain test command, all of them with `-m matrix`."""
    params = [pytest.param(name, marks=[] if name in SAMPLE else pytest.mark.matrix) for name in names]
    return pytest.mark.parametrize("name", params)


over_the_matrix = pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.matrix)], ids=str)
"""Marks a test on what all attacks leave behind: it runs after the sample, and after the whole matrix."""


def selected(request: pytest.FixtureRequest) -> list[str]:
    """The attacks that this session runs: the sample, or all if any other is asked for."""
    whole = any(item.get_closest_marker("matrix") for item in request.session.items)
    return [name for name in ATTACKS if whole or name in SAMPLE]
