"""A trained candidate built from a few series, with a sound course of training unless told otherwise."""

from __future__ import annotations

from rewardgen.store.measurements import ComponentPoint, EpisodeDigest, EvaluationPoint
from rewardgen.store.records import Candidate, CandidateRecord, CandidateResult, SliceResult, Verdict

SOUND = {"progress": {"mean": (0.1, 0.4, 0.6, 0.7, 0.72, 0.75)}, "effort": {"mean": (-0.05,) * 6, "std": 0.02}}


def points(mean=(0.1, 0.4, 0.6, 0.7, 0.72, 0.75), std=0.3, share=0.5, activation=0.9, r=0.4, saturation=0.3):
    """One component; single values hold for every evaluation."""
    series = (mean, std, share, activation, r, saturation)
    spread = [each if isinstance(each, tuple) else (each,) * len(mean) for each in series]
    rows = zip(*spread, strict=True)
    return tuple(
        ComponentPoint(
            env_steps=10_000 * (i + 1), mean=m, std=s, share=p, activation=a, fitness_correlation=c, saturation=b
        )
        for i, (m, s, p, a, c, b) in enumerate(rows)
    )


def curve(
    fitness=(0.0, 0.5, 0.8, 0.9, 0.95, 0.93), steps=100.0, ret=(5.0, 30.0, 50.0, 60.0, 70.0, 80.0), success=0.5, **more
):
    series = [each if isinstance(each, tuple) else (each,) * len(fitness) for each in (fitness, steps, ret, success)]
    return tuple(
        EvaluationPoint(
            env_steps=10_000 * (i + 1), fitness=f, episode_steps=n, episode_return=r, success_rate=s, **more
        )
        for i, (f, n, r, s) in enumerate(zip(*series, strict=True))
    )


def digest(rank="best", fitness=1.0, ending="time limit", **changes):
    values = {
        "rank": rank,
        "fitness": fitness,
        "success": fitness > 0.5,
        "steps": 100,
        "ending": ending,
        "times_s": (0.05, 1.0, 2.0, 3.0, 4.0, 5.0),
        "variables": {"position": (1.0, 0.5, 0.2, 0.1, 0.0, 0.0), "unused": (0.0,) * 6},
        "components": {"progress": (0.1, 0.4, 0.6, 0.7, 0.7, 0.7)},
    }
    return EpisodeDigest.model_validate(values | changes)


def trained(
    id="g01-k0",
    fitness=(0.93, 0.95),
    curves=None,
    components=None,
    terminations=None,
    episodes=None,
    path_efficiencies=(),
    idle=None,
    prediction="",
    parts=None,
    success_rate=0.5,
):
    """A study of a candidate; `curves` is one curve for every seed, or a list with one each."""
    per_seed = curves if isinstance(curves, list) else [curves or curve()] * len(fitness)
    made = {name: points(**changes) for name, changes in (components or SOUND).items()}
    slices = tuple(
        SliceResult(
            candidate_id=id,
            seed=seed,
            curve=per_seed[seed],
            components=made,
            terminations=terminations or {"time limit": 1.0},
            episodes=episodes or (digest(), digest("median", 0.9), digest("worst", 0.2, "left the track")),
            path_efficiencies=path_efficiencies,
            idle=idle,
            final_fitness=value,
            final_success_rate=success_rate,
            final_parts=parts[seed] if parts else {},
        )
        for seed, value in enumerate(fitness)
    )
    candidate = Candidate(id=id, generation=1, operator="edit", source="# code\n", prediction=prediction)
    result = CandidateResult(candidate_id=id, slices=slices)
    return CandidateRecord(candidate=candidate, verdict=Verdict(candidate_id=id), result=result)
