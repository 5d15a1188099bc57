"""What is left for a designer when the analyzer is left out: the code, and the fitness that it led to."""

from __future__ import annotations

from rewardgen.store.records import CandidateRecord, SliceResult


def fitness_alone(record: CandidateRecord) -> CandidateRecord:
    """A candidate without what the analyzer found, and without what it looks at.

    Args:
        record: The candidate.
    """
    if record.result is None:
        return record
    slices = tuple(_without_course(each) for each in record.result.slices)
    result = record.result.model_copy(update={"slices": slices})
    return record.model_copy(update={"result": result, "analysis": None})


def _without_course(result: SliceResult) -> SliceResult:
    kept = {"candidate_id", "seed", "failure", "env_steps", "wall_s", "final_fitness", "final_success_rate"}
    return SliceResult.model_validate(result.model_dump(include=kept))
