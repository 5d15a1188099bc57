"""Files that a worker may open: Python and its packages, its inputs, its own folder, a GPU's driver. Nothing else.

Landlock grants rights on whole folders and cannot take a part back. So of a folder that may hold a person's keys, only
the entries that are not hidden are granted.
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
"""Folders of many owners; a folder in one of them may be meant."""
_DRIVER = (
    *("/proc/driver/nvidia", "/proc/driver/nvidia-uvm", "/proc/devices", "/proc/modules", "/etc/nvidia"),
    *("/proc/sys/vm/mmap_min_addr", "/sys/module/nvidia", "/sys/module/nvidia_uvm", "/sys/bus/pci/devices"),
    *("/sys/devices", "/usr/lib/wsl", "/usr/local/nvidia", "/usr/local/cuda"),
)
_DEVICES = ("/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", "/dev/nvidia[0-9]*", "/dev/dxg")


def worker_grants(folder: Path, reads: Iterable[Path], writes: Iterable[Path], gpu: bool) -> list[Grant]:
    """Return all rights of a worker on files. Call it in the worker: `/proc/self` is the caller.

    Of readable folders, hidden entries stay closed.
    """
    return [
        *(Grant(f"{prefix}/{name}", READ) for prefix in _prefixes() for name in ("lib", "lib64")),
        *_packages(),
        *(Grant(path, READ) for path in (*_SYSTEM, "/proc/self")),
        Grant("/dev/null", Right.READ_FILE | Right.WRITE_FILE),
        *(grant for path in (*reads, shipped("envs")) for grant in _visible(path)),
        # Shipped tasks are listed, also in a checkout whose folder is not granted.
        Grant(str(shipped("envs")), Right.READ_DIR),
        *(Grant(str(path), OWN) for path in (folder, *writes)),
        *(_driver() if gpu else ()),
    ]


def declared_reads(file: Path, named: object) -> list[Path]:
    """Resolve the files and folders that a task declares in `reads`, relative to its file.

    Raises:
        TaskError: One does not exist, or may hold secrets.
    """
    if not isinstance(named, tuple | list) or not all(isinstance(name, str) for name in named):
        hint = 'write a tuple of paths, as in `reads = ("../meshes",)`'
        raise TaskError(f"`reads` of {file.name} is {named!r}", hint)
    return [_declared(file, name) for name in named]


def _declared(file: Path, named: str) -> Path:
    claim = f"`reads` of {file.name} names {named}"
    try:
        path = (file.parent / named).resolve(strict=True)
    except (OSError, RuntimeError) as error:
        raise TaskError(f"{claim}, which cannot be found", f"paths are relative to {file.parent}") from error
    if _may_hold_secrets(path):
        raise TaskError(f"{claim}, which may hold secrets", "name the file or the folder of data itself, or move it")
    return path


def included_reads(model: Path, files: Iterable[Path]) -> list[Path]:
    """Resolve the files that a model includes; a stranger's model may name any place, also by a link.

    All files below the model's folder or beside installed packages are fine.

    Raises:
        TaskError: A file may hold secrets.
    """
    resolved, folder = [file.resolve() for file in files], model.resolve().parent
    for file in resolved:
        if not file.is_relative_to(folder) and not _is_installed(file) and _may_hold_secrets(file):
            hint = f"take the line out, or put a copy beside {model.name} if it is part of the robot"
            raise TaskError(f"{model.name} includes {file}, which may hold secrets", hint)
    return resolved


def _may_hold_secrets(path: Path) -> bool:
    of_many = str(path) in _OF_MANY or str(path.parent) == "/home"
    return _is_private(path) or (path.is_dir() and (of_many or _is_broad(path)))


def _is_private(path: Path) -> bool:
    """Return True for system files, and hidden files in the home, where programs keep keys, except caches."""
    home = _home()
    first = path.relative_to(home).parts[:1] if path.is_relative_to(home) else ()
    hidden = any(part.startswith(".") and part not in (".cache", ".local") for part in first)
    return hidden or any(path.is_relative_to(folder) for folder in _SYSTEMS_OWN)


def _prefixes() -> set[str]:
    """Return the prefixes of the environment and of its base."""
    return {sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix}


def _packages() -> Iterator[Grant]:
    """Grant packages outside the prefixes; in any other folder, what can be imported, and versions."""
    yield Grant(str(PACKAGE), READ)
    elsewhere = (Path(entry) for entry in (*sys.path, site.getusersitepackages()) if entry)
    for entry in (entry for entry in elsewhere if not _is_installed(entry)):
        if entry.name in ("site-packages", "dist-packages") or not entry.is_dir():
            yield Grant(str(entry), READ)
        elif not _is_broad(entry):
            yield Grant(str(entry), Right.READ_DIR)
            yield from (Grant(str(child), READ) for child in _entries(entry) if _is_of_package(child))


def _is_installed(entry: Path) -> bool:
    return any(
        entry.is_relative_to(prefix + "/lib") or entry.is_relative_to(prefix + "/lib64") for prefix in _prefixes()
    )


def _is_of_package(path: Path) -> bool:
    with contextlib.suppress(OSError):
        return path.suffix in (".py", ".so", ".dist-info") or (path / "__init__.py").is_file()
    return False


def _entries(folder: Path) -> list[Path]:
    with contextlib.suppress(OSError):
        return list(folder.iterdir())
    return []


def _visible(path: Path) -> Iterator[Grant]:
    """Grant a file, or the visible entries of a folder: `.env` files often hold keys."""
    if not path.is_dir():
        yield Grant(str(path), READ)
        return
    for child in _entries(path):
        opens = not child.name.startswith(".") and not (_is_broad(path) and child.is_dir())
        if opens and not (child.is_symlink() and _leads_to_secrets(child)):
            yield Grant(str(child), READ)


def _leads_to_secrets(link: Path) -> bool:
    path = link.resolve()
    return not path.is_relative_to(link.parent.resolve()) and _may_hold_secrets(path)


def _is_broad(folder: Path) -> bool:
    """Return True for a home, a shared folder, or a folder above them."""
    shared = [_home(), Path("/tmp"), Path("/var/tmp"), Path("/dev/shm")]
    resolved = folder.resolve()
    return any(resolved == broad or resolved in broad.parents for broad in shared)


def _home() -> Path:
    """Return the home of the user; HOME of a worker is another folder."""
    try:
        return Path(pwd.getpwuid(os.getuid()).pw_dir).resolve()
    except KeyError:
        return Path("/")


def _driver() -> Iterator[Grant]:
    """Grant the files of NVIDIA's driver, which also writes thread names below `/proc/self/task`."""
    yield from (Grant(path, READ) for path in _DRIVER)
    yield from (Grant(path, DEVICE) for pattern in _DEVICES for path in glob.glob(pattern))
    yield Grant("/dev/nvidia-caps", DEVICE | Right.READ_DIR)
    yield Grant("/proc/self/task", READ | Right.WRITE_FILE | Right.TRUNCATE)
