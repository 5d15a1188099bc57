"""All that the numbers of a training say by themselves: the registry of the analyzer's detectors.

To add one, write a function that yields a `Flag` for each fault that it sees in a `TrainingEvidence`, and register it:

```python
DETECTORS.register("short-episodes", Detector(short_episodes))
```
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from rewardgen.analyzer.detectors import attractors, components, endings, learning_curves
from rewardgen.analyzer.training_evidence import TrainingEvidence
from rewardgen.core.registry import Registry
from rewardgen.store.records import Flag


class Detector(NamedTuple):
    """One way to see faults in a training.

    Attributes:
        find: Yields a flag for each fault; nothing for a sound training.
        explained_by: A flag that it may raise to the flags of other detectors that say more, beside which it is left
            out; of a component only those of the same one.
    """

    find: Callable[[TrainingEvidence], Iterator[Flag]]
    explained_by: Mapping[str, tuple[str, ...]] = {}


DETECTORS: Registry[Detector] = Registry("detector")
"""In the order in which their flags are told: what the policy makes of the reward first, then its components."""

_CONTENT = ("reach-and-hover", "proxy-satisfied", "alive-attractor", "oscillation-farming")

for _name, _detector in {
    "fitness-course": Detector(learning_curves.fitness_course),
    "hovering": Detector(attractors.hovering),
    "doing-nothing-pays": Detector(attractors.doing_nothing_pays),
    "oscillation": Detector(attractors.oscillation),
    "early-endings": Detector(endings.early_endings),
    "termination-avoidance": Detector(endings.termination_avoidance),
    "component-faults": Detector(
        components.worst_fault, {"saturated-component": ("reach-and-hover", "proxy-satisfied")}
    ),
    "dominance": Detector(components.dominance),
    "against-fitness": Detector(components.against_fitness),
    "no-better-than-trivial": Detector(learning_curves.no_better_than_trivial),
    "seeds-disagree": Detector(learning_curves.seeds_disagree, {"seeds-disagree": ("no-better-than-trivial",)}),
    "settled": Detector(attractors.settled, {"settled-without-success": _CONTENT}),
}.items():
    DETECTORS.register(_name, _detector)


def flags_of(evidence: TrainingEvidence) -> tuple[Flag, ...]:
    """All flags of a trained candidate."""
    found = [(flag, detector) for detector in DETECTORS for flag in detector.find(evidence)]
    raised = {(flag.detector, component) for flag, _ in found for component in (flag.component, None)}
    return tuple(
        flag
        for flag, detector in found
        if not any((other, flag.component) in raised for other in detector.explained_by.get(flag.detector, ()))
    )
