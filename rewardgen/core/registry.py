"""What a seam has by name: a new implementation is one call of `register`, from inside the package or outside it.

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

T = TypeVar("T")


def is_own(function: Callable[..., object]) -> bool:
    """Whether a function is this package's, not one that somebody registered from outside it."""
    return function.__module__.partition(".")[0] == __name__.partition(".")[0]


class Registry(Generic[T]):
    """Entries by name, in the order in which they were registered.

    Args:
        kind: What an entry is, as it reads in a message: `strategy`, `simulator`, `detector`.
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
            raise UsageError(f"there is a {self._kind} `{name}` already", "register it under another name")
        return entry

    def remove(self, name: str) -> None:
        """Take an entry out again; a test cleans up after itself with it."""
        self.get(name)
        del self._entries[name]

    def get(self, name: str) -> T:
        """The entry of this name.

        Raises:
            UsageError: There is none; the hint names the nearest one.
        """
        if name not in self._entries:
            hint = f"{did_you_mean(name, self._entries)}; your own are known where they are registered: docs/python.md"
            raise UsageError(f"unknown {self._kind} `{name}`", hint)
        return self._entries[name]

    def names(self) -> tuple[str, ...]:
        """Every name, in the order of registration."""
        return tuple(self._entries)

    def all(self) -> tuple[T, ...]:
        """Every entry, in the order of registration."""
        return tuple(self._entries.values())

    def __iter__(self) -> Iterator[T]:
        return iter(self.all())

    def __contains__(self, name: object) -> bool:
        return name in self._entries
