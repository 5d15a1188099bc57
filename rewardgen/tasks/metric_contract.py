"""The names that a task's metric uses; see `rewardgen.tasks.metric`. Loads no torch."""

from __future__ import annotations

from collections.abc import Iterable

METRIC = "metric"
FITNESS, SUCCESS = "fitness", "success"
MOST_PARTS = 6
EXTRAS = {
    "lived": "(N, T): 1 up to an episode's end, 0 after it",
    "time": "(N, T): time since the episode's start [s]",
    "terminated": "(N,): 1 if a termination condition ended the episode",
}
"""Inputs of a metric besides the task's variables and `action`."""


def valid_inputs(variables: Iterable[str]) -> tuple[str, ...]:
    """Everything that a metric may read.

    Args:
        variables: Names of the task's variables.
    """
    return (*variables, "action", *EXTRAS)
