"""Detectors: functions that look for one kind of fault each, registered by the critic and by the analyzer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, Literal, NamedTuple, TypeVar

from rewardgen.core.errors import RewardgenError, UsageError
from rewardgen.core.registry import Registry, is_own

Report = TypeVar("Report")


class Need(NamedTuple):
    """Data that a detector cannot work without.

    Attributes:
        missing: Shown where the data is missing.
        met: True if the recorded data has it.
    """

    missing: str
    met: Callable[[Any], bool]


class Detector(NamedTuple):
    """One kind of fault. Several detectors may share one function, which is called once.

    Attributes:
        name: Stable name, such as `dead-component`.
        sees: The fault, in a few words.
        find: Yields one report per fault.
        fix: The remedy, in a few words.
        severity: Of the reports; `both` if only certain faults reject.
        need: Data without which the detector is skipped.
        explained_by: Detectors whose reports say more and replace this one's.
    """

    name: str
    sees: str
    find: Callable[[Any], Iterable[Any]]
    fix: str = ""
    severity: Literal["reject", "warn", "both"] = "warn"
    need: Need | None = None
    explained_by: tuple[str, ...] = ()


class DetectorRegistry(Registry[Detector], Generic[Report]):
    """Detectors in the order in which they are called.

    `broken` makes the report on a detector from outside this package that raised, from its row and a message.
    """

    def __init__(self, broken: Callable[[Detector, str], Report]) -> None:
        super().__init__("detector")
        self._broken = broken

    def add(self, *detectors: Detector) -> None:
        """Register detectors.

        Raises:
            UsageError: A name is taken.
        """
        for detector in detectors:
            self.register(detector.name, detector)

    def reports(self, subject: Any, data: Any = None) -> Iterator[Report]:
        """Yield the reports of all detectors on a subject, or of those whose needs the data meets."""
        functions: dict[Callable[[Any], Iterable[Any]], Detector] = {}
        for detector in self:
            if data is None or detector.need is None or detector.need.met(data):
                functions.setdefault(detector.find, detector)
        for find, detector in functions.items():
            yield from find(subject) if is_own(find) else self._from_outside(detector, subject)

    def missing(self, data: Any) -> Iterator[str]:
        """Yield the detectors that lack data, with the reason: `pair-reversed (the task declares no pairs)`."""
        for detector in self:
            if detector.need and not detector.need.met(data):
                yield f"{detector.name} ({detector.need.missing})"

    def outside_modules(self) -> list[str]:
        """Return the modules of detectors from outside this package, for a worker to import.

        Raises:
            UsageError: A detector is defined in the script itself, which no worker can import.
        """
        names = dict.fromkeys(detector.find.__module__ for detector in self if not is_own(detector.find))
        if "__main__" in names:
            hint = "move it to a module on PYTHONPATH and import that"
            raise UsageError("a detector that is defined in the script itself cannot be imported by a worker", hint)
        return [*names]

    def _from_outside(self, detector: Detector, subject: Any) -> list[Report]:
        """Call a detector whose faults must not cost the subject anything."""
        try:
            return list(detector.find(subject))
        except RewardgenError:
            raise
        except Exception as error:
            whose = f"detector `{detector.name}` of `{detector.find.__module__}`"
            return [self._broken(detector, f"{whose} raised {type(error).__name__}: {error}")]
