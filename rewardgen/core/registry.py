"""Registries: implementations of a seam by name, from this package and from extras (`rewardgen.core.extras`).

```python
STRATEGIES: Registry[type[Strategy]] = Registry("strategy")
STRATEGIES.register("best-of-n", BestOfN)
STRATEGIES.get("best-of-m")          # UsageError: unknown strategy `best-of-m`, with the nearest valid name
```
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from rewardgen.core.errors import UsageError, did_you_mean
from rewardgen.core.extras import load_extras

T = TypeVar("T")


def is_own(function: Callable[..., object]) -> bool:
    """True if a function belongs to this package."""
    return function.__module__.partition(".")[0] == __name__.partition(".")[0]


class Registry(Generic[T]):
    """Entries by name, in the order in which they were registered.

    Args:
        kind: Noun for an entry in messages, such as `strategy` or `detector`.
    """

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._entries: dict[str, T] = {}

    def register(self, name: str, entry: T) -> T:
        """Add an entry and return it.

        Raises:
            UsageError: Another entry has this name already.
        """
        if self._entries.setdefault(name, entry) is not entry:
            raise UsageError(f"the {self._kind} `{name}` exists already", "register it under another name")
        return entry

    def remove(self, name: str) -> None:
        """Remove an entry, as tests do when they end."""
        self.get(name)
        del self._entries[name]

    def get(self, name: str, *others: str) -> T:
        """Return the entry of this name; the hint of an error also knows other names that would be valid.

        Raises:
            UsageError: The name is unknown; the hint has the nearest one, and extras that cannot be loaded.
        """
        if name not in self:
            close = did_you_mean(name, (*self._entries, *others))
            hint = f"{close}; import the module that registers your own: docs/python.md"
            broken = "".join(f"; extra `{extra}`: {problem}" for extra, problem in load_extras().items())
            raise UsageError(f"unknown {self._kind} `{name}`", hint + broken)
        return self._entries[name]

    def names(self) -> tuple[str, ...]:
        """Return all names in the order of registration."""
        load_extras()
        return tuple(self._entries)

    def __iter__(self) -> Iterator[T]:
        load_extras()
        return iter(tuple(self._entries.values()))

    def __contains__(self, name: object) -> bool:
        if name not in self._entries:
            load_extras()
        return name in self._entries
