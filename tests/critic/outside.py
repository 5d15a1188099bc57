"""Detectors from outside the package, in one file."""

from rewardgen.critic.probe.probed_reward import finding as probe_finding
from rewardgen.critic.registry import Detector, register
from rewardgen.critic.static.reading import finding


def long_names(reward):
    """Inputs with long names."""
    for argument in reward.entry.args.args:
        if len(argument.arg) > 12:
            yield finding("long-name", argument, f"reads `{argument.arg}`", "prefer short names")


def high_pay(reward):
    """Rewards that pay more than ten in some recorded state."""
    most = float(reward.total.max())
    if most > 10.0:
        yield probe_finding("high-pay", "the reward pays much", "scale it down", {"most": most})


def broken(reward):
    """A detector with a fault of its own."""
    raise KeyError("my bug")
    yield


register(
    Detector("long-name", "static", "warn", "inputs with long names", "prefer short ones", long_names),
    Detector("high-pay", "probe", "warn", "pay of more than ten", "scale it down", high_pay),
    Detector("broken", "probe", "warn", "nothing", "", broken),
)
