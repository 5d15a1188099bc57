"""Extras: modules that installed packages, this one included, name in the entry-point group `rewardgen.extras`.

To add one, write a module that registers what it brings (a trainer, an executor, a detector, a tracker) and loads
nothing heavy, and name it in the package's `pyproject.toml`:

    [project.entry-points."rewardgen.extras"]
    sac = "my_package.sac_trainer"
"""

from __future__ import annotations

import shlex
import threading
from pathlib import Path

DISTRIBUTION = "rewardgen-rl"
"""Name on the package index, where `rewardgen` is another package."""
GROUP = "rewardgen.extras"

_CHECKOUT = Path(__file__).resolve().parents[2]
_lock = threading.RLock()
_problems: dict[str, str] | None = None


def load_extras() -> dict[str, str]:
    """Import the extras of all installed packages, once per process.

    Returns:
        The name of each extra that cannot be loaded, with the reason.
    """
    global _problems
    with _lock:
        if _problems is None:
            _problems = {}  # before loading: an extra may ask a registry while it loads
            _load_into(_problems)
        return _problems


def _load_into(problems: dict[str, str]) -> None:
    import logging  # both are slow to import, and most commands load no extra
    from importlib.metadata import entry_points

    for entry in entry_points(group=GROUP):
        try:
            entry.load()
        except Exception as error:  # any package of the user's
            problems[entry.name] = f"{type(error).__name__}: {error}"
            logging.getLogger(__name__).warning("the extra `%s` cannot be loaded: %s", entry.name, error)


def install_hint(extra: str = "", pinned: bool = True) -> str:
    """Return the command that installs rewardgen with one of its extras, which may be too new or old to be `pinned`."""
    brackets = f"[{extra}]" if extra else ""
    if (_CHECKOUT / "constraints.txt").is_file():
        place = Path() if Path.cwd() == _CHECKOUT else _CHECKOUT
        constraints = ("-c", str(place / "constraints.txt")) if pinned else ()
        return shlex.join(("pip", "install", *constraints, "-e", f"{place}{brackets}"))
    return f"pip install '{DISTRIBUTION}{brackets}'"
