"""What the critic can see in a reward by itself: one row per detector of the gates `static` and `probe`.

To add one, write a function that yields a `Finding` for each fault that it sees, and register it. One of the probe is
given a `ProbedReward`, one of the text a `ParsedReward`, for whose findings `rewardgen.critic.static.reading` has its
own `finding`:

```python
from rewardgen.critic.probe.probed_reward import finding
from rewardgen.critic.registry import Detector, register

def too_calm(reward):
    for name, values in reward.components.items():  # on the recorded transitions, each (M,)
        std = float(values.std())
        if std < 0.01:
            yield finding("too-calm", f"`{name}` hardly moves", "give it more weight", {"std": std}, component=name)

register(Detector("too-calm", "probe", "warn", "a component that hardly moves", "give it more weight", too_calm))
```

A function that can tell several faults apart may stand in several rows; it is asked once, at the place of the first.
Detectors run in worker processes, where the modules of those from outside this package are imported by their names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from rewardgen.core.errors import RewardgenError, UsageError
from rewardgen.core.registry import Registry, is_own
from rewardgen.sandbox.time_limit import OutOfTimeError
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
    able = [each for each in rows if not (each.need and transitions and not each.need.met(transitions))]
    asked: dict[Callable[[Any], Iterator[Finding]], Detector] = {}
    for each in able:
        asked.setdefault(each.find, each)
    for find, row in asked.items():
        yield from find(reward) if is_own(find) else _from_outside(row, reward)


def _from_outside(row: Detector, reward: Any) -> tuple[Finding, ...]:
    """What somebody else's detector sees. Its own faults are no fault of the reward."""
    try:
        found = tuple(row.find(reward))
        if strange := [each for each in found if not isinstance(each, Finding)]:
            raise TypeError(f"it yields {type(strange[0]).__name__}, and not `Finding`")
        return found
    except (RewardgenError, OutOfTimeError):
        raise
    except Exception as error:
        message = f"this detector, of `{row.find.__module__}`, raised {type(error).__name__}: {error}"
        gate = "static" if row.stage == "static" else "probe"
        hint = "mend it: nothing is known of what it looks for"
        return (Finding(gate=gate, detector=row.name, severity="warn", message=message, hint=hint),)


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
    names = dict.fromkeys(each.find.__module__ for each in DETECTORS if not is_own(each.find))
    if "__main__" in names:
        hint = "put it into a module of its own where Python finds it, as by PYTHONPATH, and import that"
        raise UsageError("a detector that is defined in the script itself cannot be imported by a worker", hint)
    return [*names]
