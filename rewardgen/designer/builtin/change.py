"""A reward with what was done to get it, in words."""

from __future__ import annotations

from dataclasses import dataclass

from rewardgen.designer.builtin.genome import Genome


@dataclass(frozen=True)
class Change:
    """What an operator made.

    Args:
        genome: The new reward.
        diagnosis: What is wrong with the parent and what was changed, or the idea of a draft. Without numbers that
            differ from seed to seed, so that a failed idea is recognised when it comes up again.
        prediction: What training should show.
    """

    genome: Genome
    diagnosis: str
    prediction: str
