"""Landlock alone: files, TCP and signals outside are out of reach, and the worker's own folder is as it was."""

import os
import re
import sys
import threading
from pathlib import Path

import pytest

from rewardgen.sandbox import landlock
from rewardgen.sandbox.landlock import OWN, READ, Grant, Right
from tests.sandbox.attacks import ATTACKS, LANDLOCK, sampled
from tests.sandbox.confined import by_landlock, in_child, landlock_abi, privileges, was_refused

ABI, WHY_NOT = landlock_abi()
needs_landlock = pytest.mark.skipif(ABI == 0, reason=WHY_NOT or "-")
STOPPED = [name for name, attack in ATTACKS.items() if LANDLOCK in attack.stopped_by]


def attempt(world, name, confine):
    """Whether an attack has its effect, and what the child told."""
    attack = ATTACKS[name]
    outcome = in_child(lambda: confine(world), lambda: attack.attempt(world))
    return bool(attack.succeeded(world, outcome.answer, outcome.session)), outcome


@needs_landlock
@sampled(STOPPED)
def test_landlock_alone_stops(name, world):
    if ATTACKS[name].landlock_abi > ABI:
        pytest.skip(f"Landlock stops it since ABI {ATTACKS[name].landlock_abi}, this host has ABI {ABI}")
    succeeded, outcome = attempt(world, name, by_landlock)
    assert not succeeded, outcome


def confined_to(*grants):
    def confine():
        privileges.gain_none()
        landlock.restrict(grants)

    return confine


@needs_landlock
def test_what_is_granted_works(world):
    def work():
        (world.scratch / "folder").mkdir()
        (world.scratch / "folder" / "file").write_text("one")
        os.replace(world.scratch / "folder" / "file", world.scratch / "folder" / "renamed")
        (world.scratch / "folder" / "renamed").write_text("two")
        text = (world.scratch / "folder" / "renamed").read_text()
        (world.scratch / "folder" / "renamed").unlink()
        (world.scratch / "folder").rmdir()
        return text + world.kept.read_text()

    grants = Grant(str(world.scratch), OWN), Grant(str(world.kept), READ)
    assert in_child(confined_to(*grants), work).answer == "twokept"


@needs_landlock
def test_a_grant_to_read_is_none_to_write(world):
    for do in (lambda: world.kept.write_text("x"), world.kept.unlink, lambda: os.truncate(world.kept, 0)):
        assert was_refused(in_child(confined_to(Grant(str(world.outside), READ)), do).answer)
    assert world.kept.read_text() == "kept"


@needs_landlock
def test_it_cannot_be_taken_back(world):
    def widen():
        landlock.restrict([Grant("/", OWN | Right.EXECUTE)])
        return world.key.read_text()

    assert was_refused(in_child(confined_to(), widen).answer)


@needs_landlock
def test_threads_that_would_stay_free_are_an_error(world):
    def confine_with_a_second_thread():
        end = threading.Event()
        threading.Thread(target=end.wait, daemon=True).start()
        privileges.gain_none()
        landlock.restrict([])

    answer = in_child(lambda: None, confine_with_a_second_thread).answer
    assert was_refused(answer) and "this process has 2" in answer


def test_without_landlock_it_says_why(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(OSError, match="darwin"):
        landlock.abi()


@pytest.mark.parametrize(
    ("version", "newest"),
    [(1, Right.MAKE_SYM), (2, Right.REFER), (3, Right.TRUNCATE), (4, Right.TRUNCATE), (7, Right.IOCTL_DEV)],
)
def test_a_kernel_is_asked_only_for_rights_that_it_knows(version, newest):
    handled = landlock._handled(version)
    assert newest in handled and handled < newest << 1


def test_rights_have_the_numbers_of_the_kernels_header():
    header = Path("/usr/include/linux/landlock.h")
    if not header.exists():
        pytest.skip(f"no {header} on this host to compare with")
    theirs = dict(re.findall(r"#define LANDLOCK_ACCESS_FS_(\w+)\s+\(1ULL << (\d+)\)", header.read_text()))
    known = {right.name: right.value for right in Right if right.name in theirs}
    assert known == {name: 1 << int(theirs[name]) for name in known} and len(known) >= 13
