"""Duplicates: a reward that is an earlier one, as a program or in what it pays, is not trained again.

How far two rewards are from each other in what they pay is the distance of `rewardgen.reward.distance`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rewardgen.reward.identity import source_fingerprint
from rewardgen.store.records import CandidateRecord, Finding

SAME = 2e-5
"""Rewards nearer to each other than this pay the same. Those that are equal but for scale, shift and potential shaping
were measured up to 2e-6 apart, by the rounding of float32; those that differ in one constant, 9e-5 and more."""
_NOT_COMPARED = "not-compared"


def find_duplicate(
    source: str, distances: Mapping[str, float | None] | None, accepted: Sequence[CandidateRecord]
) -> Finding | None:
    """A rejection of a candidate that is another one again, or a warning if what it pays could not be compared.

    Args:
        source: The candidate's source.
        distances: From it to others by their ids, those that are missing are unknown; None if it was left out.
        accepted: The candidates that were, or will be, trained.
    """
    fingerprint = source_fingerprint(source)
    for record in accepted:
        if source_fingerprint(record.candidate.source) == fingerprint:
            id = record.candidate.id
            message = f"the same program as {id}, but for names, comments and layout"
            return _finding("duplicate-program", message, f"see {id} for its result")
    if distances is None:
        message = (
            "what it pays could not be compared with what others pay: it fails, or takes too long, on transitions put"
            " together from recorded ones"
        )
        warning = _finding(_NOT_COMPARED, message, "keep every term finite and cheap for any combination of its inputs")
        return warning.model_copy(update={"severity": "warn"})
    near = [
        (distance, record.candidate.id, record)
        for record in accepted
        if (distance := distances.get(record.candidate.id)) is not None and distance < SAME
    ]
    if not near:
        return None
    # The nearest, whatever the order in which they were reviewed: a resumed run must find the same.
    distance, id, record = min(near, key=lambda finding: finding[:2])
    fitness = "" if record.fitness is None else f" (fitness {record.fitness:.4g})"
    message = (
        f"it pays what {id}{fitness} pays, but for scale, shift and potential shaping: "
        f"their canonical distance is {distance:.1g}, within rounding"
    )
    hint = f"change what is paid, not how it is scaled or shaped; see {id} for its result"
    return _finding("behavioural-duplicate", message, hint, {"distance": distance})


def was_compared(record: CandidateRecord) -> bool:
    """Return True if a candidate could be compared; one that could not would spoil every later comparison too."""
    return all(finding.detector != _NOT_COMPARED for finding in record.verdict.findings)


def _finding(detector: str, message: str, hint: str, evidence: Mapping[str, float] = {}) -> Finding:
    return Finding(
        gate="duplicate",
        detector=detector,
        severity="reject",
        message=message,
        hint=hint,
        evidence=dict(evidence),
    )
