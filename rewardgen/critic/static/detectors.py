"""The gate `static`: what the text of a reward and its task card tell without running it.

Its detectors look at syntax only, so their work is bounded by the size of the text, which parsing bounds.
"""

from __future__ import annotations

from rewardgen.critic.registry import Detector, findings, register
from rewardgen.critic.static import names, parts, signs
from rewardgen.critic.static.reading import finding, parse_reward
from rewardgen.sandbox.time_limit import OutOfTimeError, time_limit
from rewardgen.store.records import Finding, TaskCard

TIME_LIMIT_S = 3.0
"""For one reward; our own detectors take a few milliseconds."""

register(
    Detector(
        "unused-input", "static", "warn", "an input that is never read", "the term was forgotten?", names.unused_inputs
    ),
    Detector(
        "unused-tunable", "static", "warn", "a constant that is never read", "use or remove it", names.unused_tunables
    ),
    Detector(
        "unused-helper", "static", "warn", "a function that is never called", "call or remove it", names.unused_helpers
    ),
    Detector(
        "forgotten-term",
        "static",
        "warn",
        "a term that is never read, or overwritten first",
        "return it",
        names.forgotten_terms,
    ),
    Detector(
        "augmented-input",
        "static",
        "warn",
        "`action *= ...`, which elsewhere changes the caller's tensor",
        "use a name of its own",
        names.augmented_inputs,
    ),
    Detector(
        "double-negative",
        "static",
        "warn",
        "a negative weight that is subtracted",
        "keep one minus sign",
        signs.double_negatives,
    ),
    Detector(
        "misordered-parts",
        "static",
        "warn",
        "two vectors with the same parts in different orders, entry by entry",
        "bring them into one order",
        parts.misordered_parts,
    ),
)


def find_suspicions(source: str, card: TaskCard) -> tuple[Finding, ...]:
    """What looks wrong in a reward's text.

    Args:
        source: Any text; the findings of the gates before are not repeated.
        card: The task.

    Returns:
        Findings of the gate `static`, in the order of their lines.
    """
    reward = parse_reward(source, card)
    if reward is None:
        return ()
    return tuple(sorted(findings("static", reward), key=lambda each: each.line or 0))


def read_within_limits(source: str, card: TaskCard) -> tuple[Finding, ...]:
    """What looks wrong in a reward's text, or that it cannot be told: a detector from outside may fail, or never end.

    Args:
        source: Any text.
        card: The task.
    """
    try:
        with time_limit(TIME_LIMIT_S):
            return find_suspicions(source, card)
    except OutOfTimeError:
        return (not_read(f"it takes more than {TIME_LIMIT_S:g} s"),)
    except Exception as error:
        # Whatever a text can bring about here costs the author of the text a warning, and nobody else anything.
        return (not_read(f"it ends in {type(error).__name__}"),)


def not_read(why: str) -> Finding:
    """The finding on a reward whose text could not be read to its end.

    Args:
        why: What became of the reading.
    """
    message = f"cannot be read for what looks wrong in it: {why}"
    return finding("not-read", None, message, "use fewer steps and shorter loops, over the whole batch")
