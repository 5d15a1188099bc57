"""What the critic can see in a reward by itself: one row per detector of the gates `static` and `probe`.

To add one, write a function that yields a `Finding` for each fault that it sees, and register it:

```python
register(Detector("too-calm", "probe", "warn", "a component that hardly moves", "give it more weight", too_calm))
```

A function that can tell several faults apart may stand in several rows; it is asked once, at the place of the first.
Detectors run in worker processes, where the modules of those from outside this package are imported by their names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from rewardgen.core.errors import UsageError
from rewardgen.core.registry import Registry
from rewardgen.store.records import Finding

if TYPE_CHECKING:
    from rewardgen.sim.transitions import TransitionSet

Stage = Literal["static", "contract", "probe"]
"""`static` detectors see a reward's text. Those of the probe see what it does on recorded transitions: `contract` what
keeps it from being trained with, after which nothing else is asked, and `probe` all that is doubtful about the rest."""


class Need(NamedTuple):
    """What a detector cannot do without.

    Attributes:
        missing: What is said where it is missing.
        met: Whether a set of transitions has it.
    """

    missing: str
    met: Callable[[TransitionSet], bool]


class Detector(NamedTuple):
    """One kind of fault.

    Attributes:
        name: Of its findings, such as `dead-component`.
        stage: When it is looked for, and what `find` is given.
        severity: Of its findings; `both` is a rejection where the fault is certain.
        sees: The fault, in a few words.
        fix: What to do about it, in a few words.
        find: Yields a finding for each fault of a reward: of its `ParsedReward` if the stage is `static`, else of its
            `ProbedReward`.
        need: What it cannot do without; it is left out, and said to be, where that is missing.
    """

    name: str
    stage: Stage
    severity: Literal["reject", "warn", "both"]
    sees: str
    fix: str
    find: Callable[[Any], Iterator[Finding]]
    need: Need | None = None


DETECTORS: Registry[Detector] = Registry("detector")
"""In the order in which they are asked."""


def register(*detectors: Detector) -> None:
    """Add detectors.

    Raises:
        UsageError: Another detector has one of their names.
    """
    for each in detectors:
        DETECTORS.register(each.name, each)


def findings(stage: Stage, reward: Any, transitions: TransitionSet | None = None) -> Iterator[Finding]:
    """All that the detectors of a stage see in a reward.

    Args:
        stage: Which.
        reward: What their functions are given.
        transitions: Where it was run, which must have what a detector needs; None if that is not asked.
    """
    rows = [each for each in DETECTORS if each.stage == stage]
    able = [each.find for each in rows if not (each.need and transitions and not each.need.met(transitions))]
    for find in dict.fromkeys(able):
        yield from find(reward)


def not_available(transitions: TransitionSet) -> tuple[str, ...]:
    """What cannot be asked on these transitions, with the reason: `pair-reversed (no pairs declared)`."""
    rows = [each for each in DETECTORS if each.need and not each.need.met(transitions)]
    missing = [f"{each.name} ({each.need.missing})" for each in rows if each.need]
    if not bool(transitions.of("perturbed").any()):
        missing.append("perturbed starts (states of its environment cannot be set)")
    return tuple(missing)


def outside_modules() -> list[str]:
    """The modules of detectors that are not this package's own, for a worker to import.

    Raises:
        UsageError: One is in what was run, which no other process can import.
    """
    own = __name__.partition(".")[0]
    names = dict.fromkeys(each.find.__module__ for each in DETECTORS)
    if "__main__" in names:
        hint = "put it into a module of its own where Python finds it, as by PYTHONPATH, and import that"
        raise UsageError("a detector that is defined in the script itself cannot be imported by a worker", hint)
    return [name for name in names if name.partition(".")[0] != own]
