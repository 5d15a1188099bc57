"""Duplicates: a reward with the program or the pay of an earlier one is not trained again.

`rewardgen.reward.distance` measures the distance of two rewards in pay.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rewardgen.reward.identity import source_fingerprint
from rewardgen.store.records import CandidateRecord, Finding

SAME = 2e-5
"""Distance below which rewards pay the same. Measured: up to 2e-6, by rounding of float32, for rewards equal but for
scale, shift and potential shaping; 9e-5 and more for rewards that differ in one constant."""
_NOT_COMPARED = "not-compared"


def find_duplicate(
    source: str, distances: Mapping[str, float | None] | None, accepted: Sequence[CandidateRecord]
) -> Finding | None:
    """Return the rejection of a duplicate, or a warning if its pay could not be compared.

    `distances` in pay are by candidate id, missing where unknown; None if the comparison failed.
    """
    fingerprint = source_fingerprint(source)
    for record in accepted:
        if source_fingerprint(record.candidate.source) == fingerprint:
            id = record.candidate.id
            message, hint = f"the same program as {id}, but for comments and layout", f"see {id} for its result"
            return _rejection("duplicate-program", message, hint)
    if distances is None:
        message = (
            "what it pays could not be compared with what others pay: it fails, or takes too long, on transitions put"
            " together from recorded ones"
        )
        hint = "keep every term finite and cheap for any combination of its inputs"
        return Finding(gate="duplicate", detector=_NOT_COMPARED, severity="warn", message=message, hint=hint)
    near = [
        (distance, record.candidate.id)
        for record in accepted
        if (distance := distances.get(record.candidate.id)) is not None and distance < SAME
    ]
    if not near:
        return None
    # The nearest, independent of the order of reviews: a resumed run must find the same.
    distance, id = min(near)
    message = (
        f"it pays what {id} pays, but for scale, shift and potential shaping: "
        f"their canonical distance is {distance:.1g}, within rounding"
    )
    hint = f"change what is paid, not how it is scaled or shaped; see {id} for its result"
    return _rejection("behavioural-duplicate", message, hint, distance=distance)


def was_compared(record: CandidateRecord) -> bool:
    """Return True if a candidate's pay could be compared; others would fail every later comparison."""
    return all(finding.detector != _NOT_COMPARED for finding in record.verdict.findings)


def _rejection(detector: str, message: str, hint: str, **evidence: float) -> Finding:
    fields = {"detector": detector, "message": message, "hint": hint, "evidence": evidence}
    return Finding(gate="duplicate", severity="reject", **fields)
