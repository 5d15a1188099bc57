"""What is left for a designer when the analyzer is left out: the code, and the fitness that it led to."""

from __future__ import annotations

from rewardgen.records import SliceResult, Study


def fitness_alone(study: Study) -> Study:
    """A candidate without what the analyzer found, and without what it looks at.

    Args:
        study: The candidate.
    """
    if study.result is None:
        return study
    slices = tuple(_without_course(each) for each in study.result.slices)
    result = study.result.model_copy(update={"slices": slices})
    return study.model_copy(update={"result": result, "analysis": None})


def _without_course(result: SliceResult) -> SliceResult:
    kept = {"candidate_id", "seed", "failure", "env_steps", "wall_s", "final_fitness", "final_success_rate"}
    return SliceResult.model_validate(result.model_dump(include=kept))
