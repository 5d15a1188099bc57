"""The gate `static`: what the text of a reward and its task card tell without running it.

A text may be made to keep its reader busy or to fail it: outside of tests this belongs into a worker. Detectors are
functions of one reading of the reward. They reject only what surely is wrong, and warn of the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from rewardgen.critic.static import (
    batches,
    domains,
    exponentials,
    geometry,
    indices,
    leakage,
    signs,
    structure,
    thresholds,
)
from rewardgen.critic.static.finding import finding
from rewardgen.critic.static.reading import ParsedReward, read_reward
from rewardgen.reward.parsing import parse_source
from rewardgen.store.records import Finding, TaskCard

Detector = Callable[[ParsedReward], Iterator[Finding]]

DETECTORS: tuple[Detector, ...] = (
    batches.tensor_branches,
    indices.missing_places,
    indices.empty_slices,
    structure.augmented_inputs,
    structure.unused_names,
    structure.forgotten_terms,
    structure.constant_components,
    structure.unlisted_terms,
    structure.repeated_components,
    structure.listed_totals,
    batches.misfitting_shapes,
    batches.mixed_worlds,
    exponentials.positive_exponents,
    exponentials.nested_exponentials,
    exponentials.small_temperatures,
    domains.unguarded_divisions,
    domains.unguarded_domains,
    thresholds.distant_thresholds,
    thresholds.squashed_degrees,
    thresholds.float_equalities,
    thresholds.early_clamps,
    thresholds.dead_clamps,
    indices.misnamed_parts,
    indices.misordered_parts,
    indices.magic_indices,
    geometry.quaternion_signs,
    geometry.unwrapped_angles,
    signs.rewarded_costs,
    signs.double_negatives,
    signs.penalised_goals,
    signs.paid_pacing,
    leakage.rederived_success,
)
"""All detectors, the cheapest first."""


def find_suspicions(source: str, card: TaskCard) -> tuple[Finding, ...]:
    """What looks wrong in a reward's text.

    Args:
        source: Any text; the findings of the gates before are not repeated.
        card: The task.

    Returns:
        Rejections and warnings of the gate `static`, in the order of their lines.
    """
    tree = parse_source(source)
    if isinstance(tree, Finding):
        return ()
    reading = read_reward(tree, source, card)
    if reading is None:
        return ()
    found = [each for detector in DETECTORS for each in detector(reading)]
    return tuple(sorted(found, key=lambda each: each.line or 0))


def not_read(why: str) -> Finding:
    """The finding on a reward whose text could not be read to its end.

    Args:
        why: What became of the reading.
    """
    message = f"cannot be read for what looks wrong in it: {why}"
    return finding("not-read", None, message, "use fewer steps and shorter loops, over the whole batch")
