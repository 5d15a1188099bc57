"""What the search asks of a designer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from rewardgen.store.records import Candidate, DesignRequest, Finding

NO_REPLY, REFUSED = "no reply: ", "request refused: "
"""How the `failure` of a candidate begins for which the model gave no answer at all, or would not."""

IDEA = 100
"""Characters of an idea that is told again when it has failed."""


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
