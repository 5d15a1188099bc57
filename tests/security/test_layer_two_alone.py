"""The reward language switched off: what the worker process stops by itself, and that each attack is a real one."""

import os
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rewardgen.sandbox.process import Limits
from tests.sandbox.confined import World, landlock_abi, left_behind, no_seccomp
from tests.security import effects
from tests.security.corpus import ATTACKS, SAMPLE, each, selected
from tests.security.harness import BEGUN, Seen, in_worker, placed, without_layers

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason=f"Linux has these layers, this is {sys.platform}")
MISSING = "; ".join(why for why in (landlock_abi()[1], no_seccomp()) if why)

LIMITS = Limits(
    wall_s=60.0,
    memory_bytes=700 << 20,
    file_bytes=16 << 20,
    folder_bytes=64 << 20,
    folder_entries=600,
    threads=64,
    answer_bytes=2 << 20,
    sandbox="strict",
)
SWITCHED_OFF = LIMITS.model_copy(update={"sandbox": "off"})
_FIRST_S, _LAST_S = 4.0, 40.0
HANGS = [name for name, attack in ATTACKS.items() if attack.kind == "hang"]
OTHERS = [name for name in ATTACKS if name not in HANGS]


def attacked(name, world, limits=LIMITS, device="cpu"):
    attack = ATTACKS[name]
    return in_worker("play_as_python", (placed(attack.source, world), attack.calls), world, limits, device)


def seen_of_hang(name):
    """With more time where this machine was so busy that the attack had not begun yet."""
    wall_s = _FIRST_S
    while True:
        with tempfile.TemporaryDirectory(prefix="rg-") as folder:
            world = World(Path(folder).resolve())
            try:
                seen = attacked(name, world, LIMITS.model_copy(update={"wall_s": wall_s}))
                effect, begun = bool(ATTACKS[name].seen(seen)), (world.scratch / BEGUN).exists()
            finally:
                world.close()
        if begun or wall_s > _LAST_S:
            return effect, begun, seen.failure
        wall_s *= 2.0


@pytest.fixture(scope="module")
def hangs(request):
    """The attacks that would never end, side by side."""
    names = [name for name in selected(request) if name in HANGS]
    with ThreadPoolExecutor(len(names)) as pool:
        return dict(zip(names, pool.map(seen_of_hang, names), strict=True))


@pytest.mark.skipif(bool(MISSING), reason=MISSING or "-")
@each(OTHERS)
def test_layer_two_alone_does_what_the_page_says(name, world):
    seen = attacked(name, world)
    effect = bool(ATTACKS[name].seen(seen))
    assert effect != ATTACKS[name].alone, seen
    if ATTACKS[name].control == "limit":
        assert _is_refused(seen), seen
    if "pid" in seen.told:
        assert not left_behind(seen.told["pid"])


@pytest.mark.skipif(bool(MISSING), reason=MISSING or "-")
@pytest.mark.parametrize("name", [name for name in OTHERS if name in SAMPLE])
def test_a_worker_that_is_given_a_gpus_driver_stops_what_any_other_does(name, world):
    assert bool(ATTACKS[name].seen(attacked(name, world, device="cuda"))) != ATTACKS[name].alone


@pytest.mark.skipif(bool(MISSING), reason=MISSING or "-")
@each(HANGS)
def test_what_never_ends_is_ended_by_a_limit(name, hangs):
    effect, begun, failure = hangs[name]
    assert begun and not effect and failure in ("timeout", "memory")


@each(name for name, attack in ATTACKS.items() if attack.control != "limit")
def test_without_layers_it_has_its_effect(name, world):
    """Otherwise the tests of the layers show nothing."""
    attack = ATTACKS[name]
    if attack.control == "worker":
        seen = attacked(name, world, SWITCHED_OFF)
    else:
        seen = without_layers(placed(attack.source, world), attack.calls, world)
    effect = bool(attack.seen(seen))
    if not effect and _is_denied(seen):
        pytest.skip(f"this host allows it to nobody of uid {os.getuid()}: {seen.words[:300]}")
    assert effect, seen
    if attack.kind == "delayed triggers":
        late = [at for at in (seen.told.get("failed_at"), seen.told.get("state_at")) if at is not None]
        assert all(at >= 999 for at in late), seen.told


def _is_refused(seen: Seen) -> bool:
    """Whether a limit or a layer was in the way, not a mistake in the attack."""
    words = ("MemoryError", "allocate memory", "start new thread", "File too large", "Too many open files")
    told = str(seen.told.get("errors"))
    return bool(seen.failure) or effects.log_is_full(seen) or any(word in told for word in words) or _is_denied(seen)


def _is_denied(seen: Seen) -> bool:
    denied = ("PermissionError", "Operation not permitted", "Permission denied")
    return any(word in seen.words for word in denied)
