"""Which files a worker needs: Python and its packages, its inputs, its own folder, a GPU's driver. Nothing else.

Landlock grants rights on whole folders and cannot take a part back. So folders that may also hold a person's keys are
granted by what is in them and is not hidden.
"""

from __future__ import annotations

import contextlib
import glob
import os
import pwd
import site
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from rewardgen.core.errors import TaskError
from rewardgen.core.resources import PACKAGE, shipped
from rewardgen.sandbox.landlock import DEVICE, OWN, READ, Grant, Right

_SYSTEM = (
    *("/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/local/lib", "/lib", "/lib64", "/usr/share/zoneinfo"),
    *("/etc/ld.so.cache", "/etc/localtime", "/dev/urandom", "/dev/random"),
    *("/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/sys/devices/system/cpu", "/sys/devices/system/node"),
)
_SYSTEMS_OWN = ("/proc", "/sys", "/dev", "/run", "/boot", "/etc")
_OF_MANY = ("/home", "/media", "/mnt", "/opt", "/srv", "/usr", "/var")
"""Folders of all kinds of things; one in them may be meant."""
_DRIVER = (
    *("/proc/driver/nvidia", "/proc/driver/nvidia-uvm", "/proc/devices", "/proc/modules", "/etc/nvidia"),
    *("/proc/sys/vm/mmap_min_addr", "/sys/module/nvidia", "/sys/module/nvidia_uvm", "/sys/bus/pci/devices"),
    *("/sys/devices", "/usr/lib/wsl", "/usr/local/nvidia", "/usr/local/cuda"),
)
_DEVICES = ("/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", "/dev/nvidia[0-9]*", "/dev/dxg")


def worker_grants(folder: Path, reads: Iterable[Path], writes: Iterable[Path], gpu: bool) -> list[Grant]:
    """Everything that a worker may open, to be asked for by the worker itself: `/proc/self` is the one who asks.

    Args:
        folder: Its own folder.
        reads: Files and folders that it is given to read. Hidden files and folders in such a folder are left out.
        writes: Further folders that it may change.
        gpu: Whether it uses a GPU.
    """
    return [
        *_python(),
        *_packages(),
        *(Grant(path, READ) for path in (*_SYSTEM, "/proc/self")),
        Grant("/dev/null", Right.READ_FILE | Right.WRITE_FILE),
        *(grant for path in (*reads, shipped("envs")) for grant in _visible(path)),
        # Tasks are found by listing them; a checkout is not always listed by what is above it, a home for one.
        Grant(str(shipped("envs")), Right.READ_DIR),
        *(Grant(str(path), OWN) for path in (folder, *writes)),
        *(_driver() if gpu else ()),
    ]


def declared_reads(file: Path, named: object) -> list[Path]:
    """The files and folders that a task says it reads, resolved.

    Args:
        file: The task file.
        named: What its class says: a tuple of paths, relative to the file.

    Raises:
        TaskError: One does not exist, or would open more than a task can have a use for.
    """
    if not isinstance(named, tuple | list) or not all(isinstance(each, str) for each in named):
        hint = 'write a tuple of paths, as in `reads = ("../meshes",)`'
        raise TaskError(f"`reads` of {file.name} is {named!r}", hint)
    return [_declared(file, each) for each in named]


def _declared(file: Path, named: str) -> Path:
    told = f"`reads` of {file.name} names {named}"
    try:
        path = (file.parent / named).resolve(strict=True)
    except (OSError, RuntimeError) as error:
        raise TaskError(f"{told}, which cannot be found", f"paths are relative to {file.parent}") from error
    if _may_hold_secrets(path):
        raise TaskError(f"{told}, which may hold secrets", "name the file or the folder of data itself, or move it")
    return path


def included_reads(model: Path, files: Iterable[Path]) -> list[Path]:
    """What a model includes, resolved. Whoever made it may have named any place, also by a link.

    Args:
        model: Its file.
        files: What MuJoCo says that it includes; below the model's folder or beside installed packages, all is well.

    Raises:
        TaskError: A file may hold secrets.
    """
    resolved, own = [each.resolve() for each in files], model.resolve().parent
    for each in resolved:
        if not each.is_relative_to(own) and not _is_installed(each) and _may_hold_secrets(each):
            hint = f"take the line out, or put a copy beside {model.name} if it is part of the robot"
            raise TaskError(f"{model.name} includes {each}, which may hold secrets", hint)
    return resolved


def _may_hold_secrets(path: Path) -> bool:
    return _is_private(path) or (path.is_dir() and (_is_broad(path) or _is_of_many(path)))


def _is_private(path: Path) -> bool:
    """Whether it is the system's own, or hidden in the home, where programs keep keys; caches are not."""
    home = _home()
    first = path.relative_to(home).parts[:1] if path.is_relative_to(home) else ()
    hidden = any(part.startswith(".") and part not in (".cache", ".local") for part in first)
    return hidden or any(path.is_relative_to(each) for each in _SYSTEMS_OWN)


def _is_of_many(folder: Path) -> bool:
    return str(folder) in _OF_MANY or str(folder.parent) == "/home"


def _python() -> Iterator[Grant]:
    """The standard library, installed packages and the shared libraries beside them."""
    return (Grant(path, READ) for prefix in _prefixes() for path in (f"{prefix}/lib", f"{prefix}/lib64"))


def _prefixes() -> set[str]:
    """Of the environment, and of what it is based on."""
    return {sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix}


def _packages() -> Iterator[Grant]:
    """What is imported from elsewhere. Of a folder where somebody works, only what can be imported."""
    yield Grant(str(PACKAGE), READ)
    elsewhere = (Path(each) for each in (*sys.path, site.getusersitepackages()) if each)
    for entry in (each for each in elsewhere if not _is_installed(each)):
        if entry.name in ("site-packages", "dist-packages") or not entry.is_dir():
            yield Grant(str(entry), READ)
        elif not _is_broad(entry):
            yield Grant(str(entry), Right.READ_DIR)
            yield from (Grant(str(each), READ) for each in _entries(entry) if _is_importable(each))


def _is_installed(entry: Path) -> bool:
    return any(
        entry.is_relative_to(prefix + "/lib") or entry.is_relative_to(prefix + "/lib64") for prefix in _prefixes()
    )


def _is_importable(path: Path) -> bool:
    with contextlib.suppress(OSError):  # somebody else's folder is none that a worker imports from
        return path.suffix in (".py", ".so") or (path / "__init__.py").is_file()
    return False


def _entries(folder: Path) -> list[Path]:
    with contextlib.suppress(OSError):
        return list(folder.iterdir())
    return []


def _visible(path: Path) -> Iterator[Grant]:
    """A file, or what is in a folder and is not hidden: keys are often kept in `.env` beside the work."""
    if not path.is_dir():
        yield Grant(str(path), READ)
        return
    for each in _entries(path):
        opens = not each.name.startswith(".") and not (_is_broad(path) and each.is_dir())
        if opens and not (each.is_symlink() and _leads_to_secrets(each)):
            yield Grant(str(each), READ)


def _leads_to_secrets(link: Path) -> bool:
    path = link.resolve()
    return not path.is_relative_to(link.parent.resolve()) and _may_hold_secrets(path)


def _is_broad(folder: Path) -> bool:
    """Whether a folder holds the work of all kinds of programs: a home, or one that is shared, or one above such."""
    shared = [_home(), Path("/tmp"), Path("/var/tmp"), Path("/dev/shm")]
    resolved = folder.resolve()
    return any(resolved == each or resolved in each.parents for each in shared)


def _home() -> Path:
    """The home of the user, which is not the HOME of a worker."""
    try:
        return Path(pwd.getpwuid(os.getuid()).pw_dir).resolve()
    except KeyError:
        return Path("/")


def _driver() -> Iterator[Grant]:
    """What NVIDIA's driver opens. It also names its threads, by writing below `/proc/self/task`."""
    yield from (Grant(path, READ) for path in _DRIVER)
    yield from (Grant(path, DEVICE) for pattern in _DEVICES for path in glob.glob(pattern))
    yield Grant("/dev/nvidia-caps", DEVICE | Right.READ_DIR)
    yield Grant("/proc/self/task", READ | Right.WRITE_FILE | Right.TRUNCATE)
