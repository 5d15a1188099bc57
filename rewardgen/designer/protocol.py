"""Protocol of a designer, and the idea in a diagnosis."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

from rewardgen.core.formatting import shortened
from rewardgen.store.records import Candidate, DesignRequest, Finding

NO_REPLY, REFUSED = "no reply: ", "request refused: "
"""Beginnings of a candidate's `failure` without an answer, or with a refusal, of the model."""

MOST_OF_AN_IDEA = 240
"""Characters of a failed idea that later prompts repeat."""
_SENTENCE = re.compile(rf".{{1,{MOST_OF_AN_IDEA - 1}}}?(?<!\b[a-z])(?<!\be\.g)(?<!\bi\.e)[.!?](?= [^a-z0-9]|$)")


def idea_of(diagnosis: str) -> str:
    """Return the first sentence of a diagnosis, where designers state their idea."""
    text = " ".join(diagnosis.split())
    first = _SENTENCE.match(text)
    return first[0] if first else shortened(text, MOST_OF_AN_IDEA)


class Designer(Protocol):
    """Propose reward programs, and repair those that the critic rejected.

    Both methods raise `CredentialsError`, `ModelError` or `BudgetExhausted` if no further call can succeed. A call
    without a usable reply fails its candidate alone.
    """

    async def design(self, request: DesignRequest) -> Candidate:
        """Return a candidate; without code, its `source` is empty and its `failure` says why."""
        ...

    async def repair(
        self, request: DesignRequest, candidate: Candidate, findings: Sequence[Finding]
    ) -> Candidate | None:
        """Return a repair of the rejected version, or None if this designer cannot repair it."""
        ...
