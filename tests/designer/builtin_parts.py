"""Builders for the tests of the built-in designer."""

from __future__ import annotations

import asyncio
from functools import cache

from rewardgen.designer.builtin.designer import BuiltinDesigner
from rewardgen.store.measurements import ComponentPoint
from rewardgen.store.records import (
    Candidate,
    CandidateRecord,
    CandidateResult,
    DesignRequest,
    SliceResult,
    TaskCard,
    VariableCard,
    Verdict,
)
from rewardgen.training.cache import get_or_measure
from tests.builders import card as point_card
from tests.golden.requests import OPERATORS as KEPT
from tests.golden.requests import records

SHIPPED = ("cartpole", "hopper", "half_cheetah", "walker2d", "ant", "humanoid")


@cache
def measured(name: str) -> TaskCard:
    """The card of a shipped task, as it was measured for the golden prompts if it has some."""
    return records(name)[0] if name in KEPT else get_or_measure(name).card


def reacher_card(**changes) -> TaskCard:
    """A task with positions of two points and no velocity along an axis."""
    parts = ("x", "y")

    def vector(name: str, unit: str, meaning: str) -> VariableCard:
        return VariableCard(
            name=name,
            unit=unit,
            meaning=meaning,
            shape=(2,),
            parts=parts,
            minimum=(-0.2, -0.2),
            median=(0, 0),
            maximum=(0.2, 0.2),
        )

    variables = (
        vector("fingertip", "m", "position of the fingertip in the plane"),
        vector("target", "m", "position of the target in the plane"),
        vector("joint_velocity", "rad/s", "joint angular velocities of shoulder and elbow"),
    )
    return point_card(
        **{
            "name": "reacher",
            "description": "A planar arm. Reach the target with the fingertip and stay there.",
            "success": "The fingertip is within 1 cm of the target at the end.",
            "termination": "Nothing ends an episode early.",
            "termination_causes": (),
            "variables": variables,
            "action_size": 2,
            "action_parts": ("shoulder", "elbow"),
            "action_low": (-1.0, -1.0),
            "action_high": (1.0, 1.0),
        }
        | changes
    )


def bare_card() -> TaskCard:
    """A task whose words say nothing of what to do, with variables of no known kind."""
    variables = (
        VariableCard(name="level", unit="1", meaning="a number", minimum=(0,), median=(2,), maximum=(5,)),
        VariableCard(name="heat", unit="K", meaning="temperature", minimum=(280,), median=(290,), maximum=(300,)),
    )
    return point_card(name="bare", description="A box.", success="It works.", variables=variables)


CARDS = {
    "point": point_card,
    "reacher": reacher_card,
    "bare": bare_card,
    **{name: (lambda name=name: measured(name)) for name in SHIPPED},
}


def request(card: TaskCard, operator: str = "draft", seed: int = 0, **changes) -> DesignRequest:
    values = {
        "candidate_id": f"g{0 if operator == 'draft' else 1:02d}-k{seed % 6}",
        "generation": 0 if operator == "draft" else 1,
        "operator": operator,
        "card": card,
        "seed": seed,
    }
    return DesignRequest.model_validate(values | changes)


def designed(request: DesignRequest) -> Candidate:
    return asyncio.run(BuiltinDesigner().design(request))


def studied(candidate: Candidate, **points: ComponentPoint) -> CandidateRecord:
    """A candidate after training with two seeds, with the given last points of its components."""
    slices = tuple(
        SliceResult(
            candidate_id=candidate.id,
            seed=seed,
            final_fitness=1.0,
            components={name: (point,) for name, point in points.items()},
        )
        for seed in (0, 1)
    )
    result = CandidateResult(candidate_id=candidate.id, slices=slices)
    return CandidateRecord(candidate=candidate, verdict=Verdict(candidate_id=candidate.id), result=result)


def component(share: float = 0.3, activation: float = 1.0, correlation: float | None = 0.2) -> ComponentPoint:
    return ComponentPoint(
        env_steps=1000, mean=0.1, std=0.1, share=share, activation=activation, fitness_correlation=correlation
    )


def parents(card: TaskCard, seed: int, count: int = 1) -> tuple[CandidateRecord, ...]:
    """Trained drafts under ids of their own, without any plain one."""
    requests = [request(card, seed=100 * seed + index, candidate_id=f"g00-k{index + 1}") for index in range(count)]
    return tuple(studied(designed(request)) for request in requests)
