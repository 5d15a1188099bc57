"""Candidates that were designed from another one."""

from rewardgen.store.records import Analysis, ParentComparison


def behind(one, parent, delta=-1.0, noise=0.5):
    """A candidate that was designed from a parent and did not pass it."""
    candidate = one.candidate.model_copy(update={"parents": (parent,)})
    before = ParentComparison(
        candidate_id=parent, fitness=(one.fitness or 0.0) - delta, noise=noise, component_means={}
    )
    analysis = Analysis(candidate_id=candidate.id, fitness_delta=delta, parent=before)
    return one.model_copy(update={"candidate": candidate, "analysis": analysis})
