"""All attacks by name."""

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
