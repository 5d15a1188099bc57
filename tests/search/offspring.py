"""Candidates that were designed from another one."""

from rewardgen.store.records import Analysis


def behind(one, parent, delta=-1.0):
    """A candidate that was designed from a parent and did not pass it."""
    candidate = one.candidate.model_copy(update={"parents": (parent,)})
    analysis = Analysis(candidate_id=candidate.id, fitness_delta=delta)
    return one.model_copy(update={"candidate": candidate, "analysis": analysis})
