"""A language model's reading of a reward: a fixed checklist with evidence. It may veto, and it can never add points."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Literal

from pydantic import Field, ValidationError

from rewardgen.errors import RewardgenError
from rewardgen.llm.protocol import LLM, CallFailed
from rewardgen.messages import LLMRequest
from rewardgen.prompts import critic_messages
from rewardgen.records import Candidate, Finding, TaskCard
from rewardgen.schema import Frozen

MAX_TOKENS = 4096
"""Of a reading; models that think first need more than the checklist takes."""

MAY_VETO = ("task", "meaning", "leak")
"""What no training can mend. The rest of the checklist only warns."""


class _Check(Frozen):
    """The answer to one item of the checklist."""

    item: Literal["task", "meaning", "leak", "loophole", "balance", "gradient"]
    verdict: Literal["pass", "warn", "veto"]
    line: int | None = None
    component: str | None = Field(default=None, max_length=48)
    evidence: str = Field(default="", max_length=600)
    mend: str = Field(default="", max_length=600)


class Reader:
    """Reads candidates that passed the gates before.

    Args:
        llm: The model that reads.
    """

    def __init__(self, llm: LLM) -> None:
        self._llm = llm

    async def read(
        self, candidate: Candidate, card: TaskCard, goal: str, findings: Sequence[Finding]
    ) -> tuple[Finding, ...]:
        """What the model objects to. No usable reply is no objection.

        Args:
            candidate: The candidate.
            card: Its task.
            goal: The user's own words for what the robot should do.
            findings: What the other gates have noticed.

        Raises:
            CredentialsError: The API key is missing or was refused.
            ModelError: The model does not exist or refuses every request.
            BudgetExhausted: The limit on cost or tokens leaves no room for the call.
        """
        request = LLMRequest(
            label=f"{candidate.id}/critic/reading-{candidate.repairs}",
            messages=critic_messages(candidate, card, goal, findings),
            temperature=0.0,
            max_tokens=MAX_TOKENS,
        )
        try:
            reply = await self._llm.complete(request)
        except CallFailed:
            return ()
        return parse_reading(reply.text)


def parse_reading(text: str) -> tuple[Finding, ...]:
    """The objections in a reply; entries without evidence, or out of form, are no objections.

    Args:
        text: The model's reply.
    """
    try:
        entries = json.loads(text[text.find("{") : text.rfind("}") + 1])["checks"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return ()
    checks = [check for entry in entries if (check := _check(entry))] if isinstance(entries, list) else []
    return tuple(_finding(each) for each in checks if each.verdict != "pass" and each.evidence)


def _check(entry: object) -> _Check | None:
    try:
        return _Check.model_validate(entry)
    except (ValidationError, RewardgenError):
        return None


def _finding(check: _Check) -> Finding:
    vetoed = check.verdict == "veto" and check.item in MAY_VETO
    return Finding(
        gate="model",
        detector=f"read-{check.item}",
        severity="reject" if vetoed else "warn",
        message=" ".join(check.evidence.split()),
        hint=" ".join(check.mend.split()),
        line=check.line,
        component=check.component,
    )
