"""Registry of the critic's detectors: each finds one fault in a reward that runs.

To add a detector, register a function that yields a `Finding` per fault of a `ProbedReward`:

```python
from rewardgen.core.detectors import Detector
from rewardgen.critic.detectors import DETECTORS
from rewardgen.critic.probe.probed_reward import finding

def too_calm(reward):
    for name, values in reward.components.items():  # on the recorded transitions, each (M,)
        std = float(values.std())
        if std < 0.01:
            yield finding("too-calm", f"`{name}` hardly moves", "give it more weight", {"std": std}, component=name)

DETECTORS.add(Detector("too-calm", "a component that hardly moves", too_calm, "give it more weight"))
```

Detectors run in worker processes. These import the modules that registered detectors outside this package. The
package's own detectors are registered in `rewardgen.critic.probe.probe`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rewardgen.core.detectors import Detector, DetectorRegistry
from rewardgen.store.records import Finding

if TYPE_CHECKING:
    from rewardgen.sim.transitions import TransitionSet


def _broken(detector: Detector, message: str) -> Finding:
    hint = "fix the detector: this reward was not checked for its fault"
    return Finding(gate="probe", detector=detector.name, severity="warn", message=message, hint=hint)


DETECTORS: DetectorRegistry[Finding] = DetectorRegistry(_broken)


def not_available(transitions: TransitionSet) -> tuple[str, ...]:
    """Return the checks without data, with the reason: `pair-reversed (the task declares no pairs)`."""
    missing = list(DETECTORS.missing(transitions))
    if not bool(transitions.of("perturbed").any()):
        missing.append("perturbed starts (states of its environment cannot be set)")
    return tuple(missing)
