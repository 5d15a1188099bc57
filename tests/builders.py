"""Small builders of records for tests."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from rewardgen.sim.transitions import TransitionFacts, TransitionSet
from rewardgen.store.measurements import EvaluationPoint
from rewardgen.store.records import (
    Candidate,
    CandidateRecord,
    CandidateResult,
    SliceFailure,
    SliceResult,
    TaskCard,
    VariableCard,
    Verdict,
)


def card(**changes) -> TaskCard:
    values = {
        "reference": "point",
        "name": "point",
        "fingerprint": "0123456789abcdef",
        "description": "Move a point to the origin.",
        "variables": (
            VariableCard(
                name="position",
                unit="m",
                meaning="signed distance from the origin",
                minimum=(-1,),
                median=(0,),
                maximum=(1,),
            ),
            VariableCard(
                name="speed", unit="m/s", meaning="speed toward positive x", minimum=(-2,), median=(0,), maximum=(2,)
            ),
        ),
        "action_size": 1,
        "action_parts": ("force",),
        "action_low": (-1.0,),
        "action_high": (1.0,),
        "observation_size": 2,
        "observation": "Position and speed.",
        "reset": "Anywhere between -1 and 1 m, at rest.",
        "termination": "Leaving the track.",
        "termination_causes": ("left the track",),
        "success_terminates": False,
        "success": "Stays within 1 cm of the origin over the last second.",
        "fitness": "Share of the time spent near the origin.",
        "control_step_s": 0.05,
        "episode_steps": 100,
        "discount": 0.99,
        "learner": "PPO",
    }
    return TaskCard.model_validate(values | changes)


def slice_result(id: str, seed: int = 0, fitness: float | None = 1.0, **changes) -> SliceResult:
    values = {
        "candidate_id": id,
        "seed": seed,
        "env_steps": 1000,
        "final_fitness": fitness,
        "final_success_rate": fitness,
        "curve": (
            EvaluationPoint(
                env_steps=1000, fitness=fitness or 0.0, success_rate=0.0, episode_steps=50, episode_return=1.0
            ),
        ),
    }
    return SliceResult.model_validate(values | changes)


def failed_slice(id: str, seed: int = 0, kind: str = "non-finite") -> SliceResult:
    failure = SliceFailure(kind=kind, message="component `speed` is nan", env_steps=640)  # type: ignore[arg-type]
    return SliceResult(candidate_id=id, seed=seed, failure=failure, env_steps=640)


def record(id: str, *fitness: float, **changes) -> CandidateRecord:
    """A candidate trained with one seed per fitness; none means rejected or not trained."""
    generation = int(id[1:3])
    candidate = Candidate.model_validate(
        {"id": id, "generation": generation, "operator": "draft", "source": f"# {id}\n", "diagnosis": f"idea of {id}"}
        | changes
    )
    slices = tuple(slice_result(id, seed, value) for seed, value in enumerate(fitness))
    result = CandidateResult(candidate_id=id, slices=slices) if fitness else None
    return CandidateRecord(candidate=candidate, verdict=Verdict(candidate_id=id), result=result)


def unrelated(inputs: Mapping[str, Tensor], facts: TransitionFacts | None = None) -> TransitionSet:
    """A bank of rows that have nothing to do with each other: each an episode of its own, from the first source."""
    rows = len(next(iter(inputs.values())))
    return TransitionSet(
        inputs=dict(inputs),
        episode=torch.arange(rows, dtype=torch.int32),
        step=torch.ones(rows, dtype=torch.int32),
        source=torch.zeros(rows, dtype=torch.int8),
        terminated=torch.zeros(rows, dtype=torch.bool),
        facts=facts or TransitionFacts(),
    )
