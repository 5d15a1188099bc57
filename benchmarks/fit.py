"""`python -m benchmarks fit`: do fitted weights rank the episodes of a run's held-out candidates better?

Nothing is trained. The best candidates' components are summed over the episodes that the run recorded, and fitted as
`run --fit` does.
"""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.figures import Figure, Report, Say
from rewardgen.api.runs import open_run
from rewardgen.core.errors import UsageError
from rewardgen.critic.sandboxed import SandboxedReviewer
from rewardgen.sandbox.folders import scratch_folder
from rewardgen.search.fitting import fit_reward
from rewardgen.tasks.measure import MEASURING


def bench_fit(runs: Sequence[str], best: int, say: Say) -> Report:
    """Compare the own and fitted weights of each run's best candidates on held-out episodes.

    Args:
        runs: Folders of runs, with their recorded episodes.
        best: Candidates of each run at most, best first.
        say: Told what goes on.

    Raises:
        UsageError: No run is named, or a run has too few recorded episodes.
        RewardgenError: A folder is no run, or an episode cannot be read.
    """
    if not runs:
        raise UsageError("there is no run whose weights could be fitted", "name folders of runs")
    figures: list[Figure] = []
    for ref in runs:
        run = open_run(ref)
        history, sparse = run.history, run.history.baselines.get("sparse", "")
        records = [record for id in history.ids() if (record := history.record(id))]
        say(f"{run.id}: {len(records)} candidates")
        measured: dict[str, tuple[float, ...]] = {}
        with scratch_folder() as scratch:
            limits = MEASURING.model_copy(update={"sandbox": history.sandbox})
            reviewer = SandboxedReviewer(run.folder.transitions, limits, scratch, run.folder.policies / "search")
            for id in history.ranking.ids[:best]:
                assert history.card is not None
                candidate = history.designed.get((id, 1)) or history.designed[id, 0]
                if fit := fit_reward(candidate, records, history.card, sparse, reviewer.returns):
                    measured["episodes"] = (fit.episodes,)
                    measured[f"{id}, own weights"], measured[f"{id}, fitted"] = (fit.before,), (fit.after,)
        if not measured:
            hint = "name runs with at least four trained candidates and their `policies/search`"
            raise UsageError(f"{ref} has too few recorded episodes for a fit", hint)
        figures += [Figure(name=name, subject=run.id, unit="", values=values) for name, values in measured.items()]
    note = "Share of pairs of held-out candidates' episodes that returns rank as fitness does; the ridge that is chosen"
    return Report(
        bench="fit",
        settings={"best": best},
        figures=tuple(figures),
        notes=(f"{note} by the same pairs makes the fitted share a little too high.",),
    )
