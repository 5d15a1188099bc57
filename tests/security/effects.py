"""How effects of attacks are seen from outside."""

import contextlib
import os
import signal
import time
from pathlib import Path

from tests.sandbox.confined import SECRET
from tests.security import host
from tests.security.harness import TOLD, Seen

_LOG_LIMIT = 2 << 20


# Outside of the process.


def made(seen: Seen) -> bool:
    """Something new lies where it may not write."""
    return os.path.lexists(seen.world.outside / "new")


def kept_changed(seen: Seen) -> bool:
    try:
        return seen.world.kept.read_text() != "kept"
    except OSError:
        return True


def kept_touched(seen: Seen) -> bool:
    """The mode or the time of a file that is not its own."""
    status = seen.world.kept.stat()
    return status.st_mode & 0o777 != 0o644 or status.st_mtime < 1e9


def folder_gone(seen: Seen) -> bool:
    return not (seen.world.outside / "empty").exists()


def leaked(seen: Seen) -> bool:
    """A secret in what came out, or copied to where it is kept."""
    return SECRET in seen.words or any(SECRET in each for each in _own_files(seen))


def _own_files(seen: Seen) -> list[str]:
    with contextlib.suppress(OSError):
        files = [each for each in seen.world.scratch.iterdir() if each.is_file() and each.stat().st_size < 1 << 20]
        return [each.name + each.read_text(errors="replace") for each in files]
    return []


def tcp_called(seen: Seen) -> bool:
    return seen.world.was_called(seen.world.tcp)


def udp_arrived(seen: Seen) -> bool:
    return seen.world.got_mail()


def local_called(seen: Seen) -> bool:
    return seen.world.was_called(seen.world.local)


def abstract_called(seen: Seen) -> bool:
    return seen.world.was_called(seen.world.abstract)


def has_child(seen: Seen) -> bool:
    """A process that it started wrote its number into a file; it is ended."""
    path = seen.world.scratch / "child"
    with contextlib.suppress(OSError, ValueError):
        os.kill(int(path.read_text()), signal.SIGKILL)
    return path.exists()


def program_ran(seen: Seen) -> bool:
    """Another program left a file in its own folder, which it may do a moment later."""
    latest = time.monotonic() + (1.0 if seen.told.get("errors") == [] or not seen.told else 0.0)
    while not (seen.world.scratch / "ran").exists() and time.monotonic() < latest:
        time.sleep(0.02)
    return (seen.world.scratch / "ran").exists()


def victim_harmed(seen: Seen) -> bool:
    return seen.world.victim_is_harmed()


def victim_limited(seen: Seen) -> bool:
    return " 11 " in Path(f"/proc/{seen.world.victim.pid}/limits").read_text()


def got_more(seen: Seen) -> bool:
    """It wrote a file after it had taken more than it may."""
    return (seen.world.scratch / "got").exists()


def took_it(seen: Seen) -> bool:
    """It had what it asked for: gigabytes at once."""
    return bool(seen.told) and not seen.told["errors"]


def not_ended(seen: Seen) -> bool:
    """What never ends was not ended by a limit."""
    return bool(seen.told) or not seen.failure


# In its own process, whose shared things belong to nobody outside.


def state_changed(seen: Seen) -> bool:
    return seen.told.get("state_at") is not None


def rival_changed(seen: Seen) -> bool:
    return bool(seen.told.get("rival"))


def rival_leaked(seen: Seen) -> bool:
    return host.RIVAL_NOTE in seen.words


def fitness_changed(seen: Seen) -> bool:
    return bool(seen.told) and seen.told["fitness"] != host.HONEST_FITNESS


def global_changed(*names: str):
    return lambda seen: any(name in seen.told.get("globals", ()) for name in names)


# In what comes back from the process.


def answer_forged(seen: Seen) -> bool:
    return seen.answer is not None and not (isinstance(seen.answer, dict) and seen.answer.get("slices") == [])


def message_forged(seen: Seen) -> bool:
    return bool(seen.messages)


def report_forged(seen: Seen) -> bool:
    """A file of its own folder, which the trainer had left for others to read."""
    return '"fitness": 999' in _text(seen.world.scratch / TOLD)


def policy_forged(seen: Seen) -> bool:
    return (seen.world.scratch / "policy.npz").exists()


def taken_as_it_is(seen: Seen) -> bool:
    """A trainer without a contract has gone on with what is no finite number per world."""
    return bool(seen.told.get("odd"))


def aliased(seen: Seen) -> bool:
    """What it returned is an input: whoever adds to it changes the simulation."""
    return bool(seen.told.get("aliased"))


def names_taken(seen: Seen) -> bool:
    """Text that no name of a component may hold, or more of it than anybody reads."""
    names = seen.told.get("names", [])
    return any(not each.isidentifier() or len(each) > 48 for each in names) or seen.told.get("count", 0) > 32


def long_text_taken(seen: Seen) -> bool:
    return any(len(each) > 1000 for each in seen.told.get("errors", []))


def log_flooded(seen: Seen) -> bool:
    return (seen.world.scratch / "worker.log").stat().st_size > _LOG_LIMIT


def log_is_full(seen: Seen) -> bool:
    return (seen.world.scratch / "worker.log").stat().st_size >= 1 << 20


def died(seen: Seen) -> bool:
    """The process ended in the middle, and with it whatever it had to tell of others."""
    return not seen.told


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
