"""What the search asks of a designer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

from rewardgen.core.formatting import shortened
from rewardgen.store.records import Candidate, DesignRequest, Finding

NO_REPLY, REFUSED = "no reply: ", "request refused: "
"""How the `failure` of a candidate begins for which the model gave no answer at all, or would not."""


MOST_OF_AN_IDEA = 240
"""Characters of an idea that is told again when it has failed."""
_SENTENCE = re.compile(rf".{{1,{MOST_OF_AN_IDEA - 1}}}?(?<!\b[a-z])(?<!\be\.g)(?<!\bi\.e)[.!?](?= [^a-z0-9]|$)")


def idea_of(diagnosis: str) -> str:
    """The first sentence of a diagnosis, which is to hold the idea.

    Args:
        diagnosis: As its designer wrote it.
    """
    text = " ".join(diagnosis.split())
    first = _SENTENCE.match(text)
    return first[0] if first else shortened(text, MOST_OF_AN_IDEA)


class Designer(Protocol):
    """Proposes reward programs, and repairs those that the critic rejected."""

    async def design(self, request: DesignRequest) -> Candidate:
        """One candidate for a brief.

        A reply without code, or no reply at all, is a candidate too: its `failure` says why and its `source` is empty.

        Args:
            request: The task card, the operator, the parents and what failed before.

        Raises:
            CredentialsError: The API key is missing or was refused, or the account is empty.
            ModelError: There is no such model or address.
            BudgetExhausted: The limit on cost or tokens leaves no room for the call.
        """
        ...

    async def repair(
        self, request: DesignRequest, candidate: Candidate, findings: Sequence[Finding]
    ) -> Candidate | None:
        """The repaired candidate, or None if this designer cannot repair.

        Args:
            request: What the candidate was designed from.
            candidate: The rejected version.
            findings: Why it was rejected.

        Raises:
            CredentialsError: The API key is missing or was refused, or the account is empty.
            ModelError: There is no such model or address.
            BudgetExhausted: The limit on cost or tokens leaves no room for the call.
        """
        ...
