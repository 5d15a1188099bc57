"""Detectors from outside the package, in one file."""

from rewardgen.core.detectors import Detector
from rewardgen.critic.detectors import DETECTORS
from rewardgen.critic.probe.probed_reward import finding


def high_pay(reward):
    """Find rewards that pay more than ten in some recorded state."""
    most = float(reward.total.max())
    if most > 10.0:
        yield finding("high-pay", "the reward pays much", "scale it down", {"most": most})


def broken(reward):
    """Raise, as a detector with a fault of its own."""
    raise KeyError("my bug")
    yield


DETECTORS.add(
    Detector("high-pay", "pay of more than ten", high_pay, "scale it down"),
    Detector("broken", "nothing", broken),
)
