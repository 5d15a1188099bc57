"""Protocol of a designer, and the first sentence of its diagnosis."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

from rewardgen.core.formatting import shortened
from rewardgen.store.records import Candidate, DesignRequest, Finding

NO_REPLY, REFUSED = "no reply: ", "request refused: "
"""Beginnings of the `failure` of a candidate for which the model gave no answer, or refused to."""

MOST_OF_AN_IDEA = 240
"""Characters of a failed idea that later prompts repeat."""
_SENTENCE = re.compile(rf".{{1,{MOST_OF_AN_IDEA - 1}}}?(?<!\b[a-z])(?<!\be\.g)(?<!\bi\.e)[.!?](?= [^a-z0-9]|$)")


def idea_of(diagnosis: str) -> str:
    """The first sentence of a diagnosis, where designers state their idea."""
    text = " ".join(diagnosis.split())
    first = _SENTENCE.match(text)
    return first[0] if first else shortened(text, MOST_OF_AN_IDEA)


class Designer(Protocol):
    """Proposes reward programs, and repairs those that the critic rejected.

    Both methods raise `CredentialsError`, `ModelError` or `BudgetExhausted` if no further call can succeed. A call
    without a usable reply fails its candidate alone.
    """

    async def design(self, request: DesignRequest) -> Candidate:
        """One candidate; without code its `failure` says why and its `source` is empty."""
        ...

    async def repair(
        self, request: DesignRequest, candidate: Candidate, findings: Sequence[Finding]
    ) -> Candidate | None:
        """The repaired candidate, or None if this designer cannot repair it.

        Args:
            request: The request that the candidate was designed from.
            candidate: The rejected version.
            findings: The reasons.
        """
        ...
