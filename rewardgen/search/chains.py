"""Chains: the policy that each training of a chain begins from.

A chain is the rewards that train one policy, one after another. In the search a candidate begins from its parent's
policy, in the finals the winner's chain is trained whole on each fresh seed.
"""

from __future__ import annotations

from rewardgen.core.config import MOST_LINKS
from rewardgen.core.errors import RunFolderError
from rewardgen.core.files import read_plain, write_atomic
from rewardgen.reward.observation import seen_besides
from rewardgen.search.context import Context
from rewardgen.store.history import History, Phase
from rewardgen.store.records import SliceSpec
from rewardgen.store.run_folder import MOST_POLICY_BYTES
from rewardgen.training.artifacts import policy_names, start_name


def start_of(run: Context, phase: Phase, id: str) -> str:
    """Return the candidate from whose policies a candidate's are trained; empty if from random ones."""
    history = run.history
    if phase != "search":  # as in the search
        return (history.chain(id) or ("",))[-1]
    record, slot = history.record(id), history.slot(id)
    if not (record and slot and slot.inherits and record.candidate.parents):
        return ""
    start = continued(history, record.candidate.parents[0])
    before = history.record(start)
    alike = before and seen_besides(before.candidate.source) == seen_besides(record.candidate.source)
    return start if alike else ""


def continued(history: History, parent: str) -> str:
    """Return the candidate from whose policies a child is trained: its parent, or before it where the chain is full."""
    return (*history.chain(parent), parent)[: MOST_LINKS - 1][-1]  # the last link of a full chain is replaced


def begun(run: Context, phase: Phase, spec: SliceSpec) -> SliceSpec:
    """Return a slice with its start, whose policy is copied beside its own; the same slice if it has none.

    The start has the slice's seed. In the search it is the best seed if the parent has not trained that one.
    """
    start, of = start_of(run, phase, spec.candidate_id), "search" if phase == "search" else "chain"
    results = [result for (known, id, _), result in run.history.trained.items() if (known, id) == (of, start)]
    policies = [result for result in results if result.policy]
    if not policies:
        return spec
    best = max(policies, key=lambda one: (one.seed == spec.seed, one.final_fitness or 0.0, -one.seed)).spec
    source = run.parts.policies / of / policy_names(best)[0]
    try:
        content = read_plain(source, MOST_POLICY_BYTES)
    except OSError as error:
        message = f"{spec.candidate_id} is trained from the policy {source}, which cannot be read: {error.strerror}"
        raise RunFolderError(message, "restore the file") from error
    write_atomic(run.parts.policies / phase / start_name(spec), content)
    return spec.model_copy(update={"start": (start, best.seed)})
