"""What an attack is: the source of a reward, how its effect is seen from outside, and what is expected to stop it."""

from collections.abc import Callable
from typing import Literal, NamedTuple

from tests.security.harness import Seen

Kind = Literal[
    "introspection",
    "imports",
    "files",
    "network",
    "processes",
    "hang",
    "memory and disk",
    "state mutation",
    "global state",
    "leaks",
    "delayed triggers",
    "result forging",
    "malformed output",
]
Gate = Literal["source", "probe", "training", "none"]
Control = Literal["bare", "worker", "limit"]


class Attack(NamedTuple):
    """One attempt."""

    kind: Kind
    source: str
    seen: Callable[[Seen], object]
    """Whether it had an effect, as seen from outside."""
    alone: bool
    """Whether layer 2 stops it when layer 1 is switched off."""
    gate: Gate = "source"
    """What refuses it in the full system at the latest: the gates that only read its source, the probe on recorded
    transitions, the training that it fails in; `none` if it may run, and then without any effect."""
    control: Control = "bare"
    """How it is shown to have its effect: without any layer, in a worker whose sandbox is switched off, or, of what
    would never end, by the limit that had to end it."""
    calls: int = 1


def reward(
    body: str, before: str = "", result: str = '{"upright": pole_upright}', parameters: str = "", top: str = ""
) -> str:
    """A reward with an attack in its body.

    Args:
        body: Its statements.
        before: What stands above the function.
        result: What it returns.
        parameters: Further parameters.
        top: What stands directly above the `def`, such as a decorator.
    """
    indented = "".join(f"    {line}\n" for line in body.strip("\n").split("\n"))
    start = f"{before.strip()}\n\n" if before else ""
    head = f"def compute_reward(pole_upright, cart_velocity, action{parameters}):\n"
    return f"{start}{top}{head}{indented}    return {result}\n"
