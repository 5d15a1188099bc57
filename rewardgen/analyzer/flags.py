"""Registry of the analyzer's detectors, which see faults in the numbers of a training.

To add one, register a function that yields a `Flag` per fault of a `TrainingEvidence`:

```python
from rewardgen.analyzer.flags import DETECTORS
from rewardgen.analyzer.training_evidence import flag
from rewardgen.core.detectors import Detector

def short_episodes(evidence):
    steps = evidence.curves.curve[-1].episode_steps
    if steps < 10:
        yield flag("short-episodes", f"Episodes last {steps:.0f} steps.", steps=steps)

DETECTORS.add(Detector("short-episodes", "episodes of a few steps", short_episodes))
```
"""

from __future__ import annotations

from rewardgen.analyzer.detectors import attractors, components, learning_curves
from rewardgen.analyzer.training_evidence import TrainingEvidence
from rewardgen.core.detectors import Detector, DetectorRegistry
from rewardgen.store.records import Flag


def _broken(detector: Detector, message: str) -> Flag:
    return Flag(detector=detector.name, message=f"The {message}.")


DETECTORS: DetectorRegistry[Flag] = DetectorRegistry(_broken)
"""In the order of their flags: behaviour of the policy first, then components."""

BY_FITNESS = (
    "reward-up-fitness-down",
    "fitness-fell",
    "still-rising",
    "reach-and-hover",
    "proxy-satisfied",
    "against-fitness",
    "no-better-than-trivial",
    "seeds-disagree",
)
"""Detectors whose flags tell of the fitness or the success; not for designers where others judge."""
_HELD = ("reach-and-hover", "proxy-satisfied")

DETECTORS.add(
    Detector("reward-up-fitness-down", "the reward rises while fitness falls", learning_curves.fitness_course),
    Detector("fitness-fell", "fitness falls after its peak", learning_curves.fitness_course),
    Detector("still-rising", "fitness still rises at the end", learning_curves.fitness_course),
    Detector("reach-and-hover", "a component is reached and held, without success", attractors.hovering),
    Detector("proxy-satisfied", "a component is at its best from the start, without success", attractors.hovering),
    Detector("alive-attractor", "doing nothing pays as well as the learned policy", attractors.doing_nothing_pays),
    Detector("oscillation-farming", "a component pays for moving back and forth", attractors.oscillation),
    Detector("early-ending-pays", "an early end pays or stops a cost", attractors.early_endings),
    Detector("ends-early", "most episodes end early", attractors.early_endings),
    Detector("bonus-never-fired", "a component is always 0", components.worst_fault),
    Detector("constant-component", "a component never varies", components.worst_fault),
    Detector("dead-component", "a component is 0 at the end", components.worst_fault),
    Detector("negligible-component", "a component hardly counts", components.worst_fault),
    Detector("saturated-component", "a component no longer varies", components.worst_fault, explained_by=_HELD),
    Detector("dominant-component", "a component is nearly the whole reward", components.dominance),
    Detector("against-fitness", "fitter episodes have less of a component or reward", components.against_fitness),
    Detector("no-better-than-trivial", "no better than a trivial policy", learning_curves.no_better_than_trivial),
    Detector(
        "seeds-disagree",
        "very different fitness over seeds",
        learning_curves.seeds_disagree,
        explained_by=("no-better-than-trivial",),
    ),
)


def flags_of(evidence: TrainingEvidence) -> tuple[Flag, ...]:
    """Return the flags of a trained candidate, without those that another one explains, or that no fitness tells."""
    hidden = () if evidence.card.has_fitness else BY_FITNESS
    flags = [flag for flag in DETECTORS.reports(evidence) if flag.detector not in hidden]
    raised = {(flag.detector, component) for flag in flags for component in (flag.component, None)}
    return tuple(flag for flag in flags if not any((name, flag.component) in raised for name in _explained_by(flag)))


def _explained_by(flag: Flag) -> tuple[str, ...]:
    return DETECTORS.get(flag.detector).explained_by if flag.detector in DETECTORS else ()
