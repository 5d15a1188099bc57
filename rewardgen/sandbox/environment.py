"""Build the environment of a worker process from an allow-list, so that no API key reaches generated code."""

from __future__ import annotations

import contextlib
import os
import sysconfig
from pathlib import Path

from rewardgen.core.files import cache_folder
from rewardgen.core.resources import PACKAGE

KERNELS = "REWARDGEN_KERNELS"
"""Variable that names the lasting folder of compiled kernels; a worker's home is its own."""

_KEPT = (
    "CUDA_DEVICE_ORDER",
    "CUDA_VISIBLE_DEVICES",
    "DYLD_LIBRARY_PATH",
    "LANG",
    "LC_ALL",
    "LD_LIBRARY_PATH",
    "MUJOCO_GL",
    "NVIDIA_VISIBLE_DEVICES",
    "PATH",
    "PYOPENGL_PLATFORM",
    "TZ",
)

# Small networks are 2 to 15 times slower with more threads: they wait for each other by spinning.
_ONE_THREAD = {name: "1" for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")}


def worker_environment(scratch: Path) -> dict[str, str]:
    """Return the environment of a worker, whose folder is its home, temporary folder and cache."""
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    home = str(scratch)
    return {
        **kept,
        **_ONE_THREAD,
        "HOME": home,
        "TMPDIR": home,
        "XDG_CACHE_HOME": home,
        "USER": "rewardgen",
        "PYTHONPATH": _import_path(),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
        **_kernels(),
    }


def _kernels() -> dict[str, str]:
    with contextlib.suppress(RuntimeError):  # a user without a home
        return {KERNELS: str(cache_folder("kernels"))}
    return {}


def _import_path() -> str:
    """Return the folder of this package, unless installed, and the entries of PYTHONPATH."""
    package = str(PACKAGE.parent)
    installed = package in (sysconfig.get_path("purelib"), sysconfig.get_path("platlib"))
    inherited = [os.path.abspath(entry) for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry]
    return os.pathsep.join(inherited if installed else [package, *inherited])
