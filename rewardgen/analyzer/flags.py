"""The analyzer's detectors by name: what the numbers of a training say, each one function and one row here.

A detector is given a `TrainingEvidence` and yields a `Flag` for each fault that it sees; nothing for a sound training.

```python
from rewardgen.analyzer.flags import Detector, register
from rewardgen.analyzer.training_evidence import flag

def short_episodes(evidence):
    steps = evidence.curves.curve[-1].episode_steps
    if steps < 10:
        yield flag("short-episodes", f"Episodes last {steps:.0f} steps.", steps=steps)

register(Detector("short-episodes", "episodes of a few steps", short_episodes))
```
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from rewardgen.analyzer.detectors import attractors, components, endings, learning_curves
from rewardgen.analyzer.training_evidence import TrainingEvidence
from rewardgen.core.registry import Registry, is_own
from rewardgen.store.records import Flag


class Detector(NamedTuple):
    """One kind of fault. Several may share one function.

    Attributes:
        name: Stable; what flags call it.
        sees: What it sees, in a few words.
        find: The function.
        explained_by: Names of flags that say more, beside which this one is left out; for the flag of a component only
            those of the same one.
    """

    name: str
    sees: str
    find: Callable[[TrainingEvidence], Iterable[Flag]]
    explained_by: tuple[str, ...] = ()


DETECTORS: Registry[Detector] = Registry("detector")
"""In the order in which their flags are told: what the policy makes of the reward first, then its components."""


def register(detector: Detector) -> Detector:
    """Add a detector and return it.

    Raises:
        UsageError: Another one has this name.
    """
    return DETECTORS.register(detector.name, detector)


_HELD = ("reach-and-hover", "proxy-satisfied")

for _row in (
    Detector("reward-up-fitness-down", "the reward rises while fitness falls", learning_curves.fitness_course),
    Detector("fitness-fell", "fitness falls after its peak", learning_curves.fitness_course),
    Detector("still-rising", "fitness still rises at the end", learning_curves.fitness_course),
    Detector("reach-and-hover", "a component is reached and held, without success", attractors.hovering),
    Detector("proxy-satisfied", "a component is at its best from the start, without success", attractors.hovering),
    Detector("alive-attractor", "doing nothing pays as well as what was learned", attractors.doing_nothing_pays),
    Detector("oscillation-farming", "a component pays for a way back and forth", attractors.oscillation),
    Detector("early-ending-pays", "an early end pays or stops a cost", endings.early_endings),
    Detector("ends-early", "most episodes end early", endings.early_endings),
    Detector("termination-avoidance", "success would end what pays", endings.termination_avoidance),
    Detector("bonus-never-fired", "a component is always 0", components.worst_fault),
    Detector("constant-component", "a component never varies", components.worst_fault),
    Detector("dead-component", "a component is 0 at the end", components.worst_fault),
    Detector("negligible-component", "a component hardly counts", components.worst_fault),
    Detector("saturated-component", "a component no longer varies", components.worst_fault, _HELD),
    Detector("clipped-reward", "the learner cut off much of the reward", learning_curves.clipped_reward),
    Detector("dominant-component", "a component is nearly the whole reward", components.dominance),
    Detector("against-fitness", "fitter episodes have less of a component or reward", components.against_fitness),
    Detector("simulator-error", "fitness is lost in the clean evaluation", learning_curves.lives_on_the_simulator),
    Detector("no-better-than-trivial", "no better than a trivial policy", learning_curves.no_better_than_trivial),
    Detector(
        "seeds-disagree",
        "very different fitness over seeds",
        learning_curves.seeds_disagree,
        explained_by=("no-better-than-trivial",),
    ),
    Detector(
        "settled-without-success",
        "the reward no longer changes, without success",
        attractors.settled,
        explained_by=(*_HELD, "alive-attractor", "oscillation-farming"),
    ),
):
    register(_row)


def _outside(row: Detector, evidence: TrainingEvidence) -> list[Flag]:
    """What somebody else's detector sees. Its own faults cost a run nothing."""
    try:
        found = [*row.find(evidence)]
        if strange := [each for each in found if not isinstance(each, Flag) or each.detector not in DETECTORS]:
            raise TypeError(f"it yields {strange[0]!r}, which is no `Flag` of a registered detector")
        return found
    except Exception as error:
        message = f"The detector `{row.name}` of `{row.find.__module__}` raised {type(error).__name__}: {error}."
        return [Flag(detector=row.name, message=message)]


def flags_of(evidence: TrainingEvidence) -> tuple[Flag, ...]:
    """All flags of a trained candidate."""
    asked: dict[Callable[[TrainingEvidence], Iterable[Flag]], Detector] = {}
    for detector in DETECTORS:
        asked.setdefault(detector.find, detector)
    seen = (find(evidence) if is_own(find) else _outside(row, evidence) for find, row in asked.items())
    found = [each for flags in seen for each in flags]
    raised = {(each.detector, component) for each in found for component in (each.component, None)}
    return tuple(
        each
        for each in found
        if not any((other, each.component) in raised for other in DETECTORS.get(each.detector).explained_by)
    )
