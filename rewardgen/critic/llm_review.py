"""A language model's reading of a reward: a fixed checklist with evidence. It may veto, and never adds points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BeforeValidator, ValidationError

from rewardgen.core.errors import RewardgenError
from rewardgen.core.schema import Frozen
from rewardgen.core.text import visible
from rewardgen.llm.prompts import critic_messages
from rewardgen.llm.protocol import LLM, CallFailed
from rewardgen.reward.extraction import json_object
from rewardgen.store.messages import LLMRequest, reply_form
from rewardgen.store.records import Candidate, Finding, TaskCard

MAX_TOKENS = 4096
"""Limit on a reply: a checklist is short, and reasoning models think first."""

MAY_VETO = ("task", "meaning", "leak")
"""Items that no training can fix; all others only warn."""

_READ_THE_REPLY = "read the reply in the candidate's folder; if it happens often, choose another `--critic-model`"
_MOST_CHARS = 300
"""Longest reason [characters]; a provider's error may be a whole page."""
_MOST_EVIDENCE = 600
"""Longest evidence or fix [characters]."""
_LONGEST_NAME = 48
_MOST_ENTRIES = 32
"""Most entries that are read; the checklist has six."""

_Item = Literal["task", "meaning", "leak", "loophole", "balance", "gradient"]


def _name_or_none(text: Any) -> Any:
    """Return None for text that cannot be a component's name; the objection counts without it."""
    return None if isinstance(text, str) and not (len(text) <= _LONGEST_NAME and text.isprintable()) else text


def _lowered(text: Any) -> Any:
    return text.lower() if isinstance(text, str) else text


def _number_or_none(line: Any) -> Any:
    """Return None for several lines, or none that can be read; the objection counts without them."""
    return line if isinstance(line, int) or (isinstance(line, str) and line.isdecimal()) else None


_Text = Annotated[str, AfterValidator(lambda text: visible(text)[:_MOST_EVIDENCE])]


class _Check(Frozen):
    """The answer to one item of the checklist."""

    item: _Item
    verdict: Annotated[Literal["pass", "warn", "veto"], BeforeValidator(_lowered)]
    line: Annotated[int | None, BeforeValidator(_number_or_none)] = None
    component: Annotated[str | None, BeforeValidator(_name_or_none)] = None
    evidence: _Text = ""
    fix: _Text = ""


class Reader:
    """Read candidates that passed all other gates."""

    def __init__(self, llm: LLM) -> None:
        self._llm = llm

    async def read(
        self, candidate: Candidate, card: TaskCard, goal: str, findings: Sequence[Finding]
    ) -> tuple[Finding, ...]:
        """Return the model's objections, or a warning for a failed call, which must not pass for approval.

        Any other error of `LLM.complete` is raised.
        """
        request = LLMRequest(
            label=f"{candidate.id}/critic/reading-{candidate.repairs}",
            messages=critic_messages(candidate, card, goal, findings),
            temperature=0.0,
            max_tokens=MAX_TOKENS,
            form=reply_form(_Check, in_list="checks"),
        )
        try:
            reply = await self._llm.complete(request)
        except CallFailed as error:
            return (no_reading(f"the call failed: {error.message}", error.hint or "see that the model can be reached"),)
        return parse_reading(reply.text)


def parse_reading(text: str) -> tuple[Finding, ...]:
    """Return the objections in a reply, and warnings for unreadable or unfounded entries."""
    reply = json_object(text)
    if reply is None:
        return (no_reading("the reply holds no JSON object", _READ_THE_REPLY),)
    entries = reply.get("checks")
    if not isinstance(entries, list) or not entries:
        return (no_reading("the JSON of the reply has no list `checks` with entries", _READ_THE_REPLY),)
    checks = [check for entry in entries[:_MOST_ENTRIES] if (check := _check(entry))]
    objections = [check for check in checks if check.verdict != "pass"]
    answered = {check.item for check in checks}
    missing = [f"`{item}`" for item in get_args(_Item) if item not in answered]
    lacks = [f"it has no answer on {', '.join(missing)}"] if missing else []
    if wrong := len(entries) - len(checks):
        lacks.append(f"{wrong} of the {len(entries)} entries in the reply are out of form and do not count")
    unfounded = [
        f"its {check.verdict} on `{check.item}` comes without evidence and does not count"
        for check in objections
        if not check.evidence
    ]
    return (
        *(_finding(check) for check in objections if check.evidence),
        *(no_reading(why, _READ_THE_REPLY) for why in (*filter(None, ["; ".join(lacks)]), *unfounded)),
    )


def no_reading(why: str, hint: str) -> Finding:
    """Warn that a reading is missing or incomplete."""
    message = f"the model's reading is missing or incomplete: {' '.join(why.split())[:_MOST_CHARS]}"
    return Finding(gate="model", detector="no-reading", severity="warn", message=message, hint=hint)


def _check(entry: object) -> _Check | None:
    if not isinstance(entry, dict):
        return None
    try:
        # Models add keys of their own.
        return _Check.model_validate({name: entry[name] for name in _Check.model_fields if name in entry})
    except (ValidationError, RewardgenError):
        return None


def _finding(check: _Check) -> Finding:
    vetoed = check.verdict == "veto" and check.item in MAY_VETO
    return Finding(
        gate="model",
        detector=f"read-{check.item}",
        severity="reject" if vetoed else "warn",
        message=" ".join(check.evidence.split()),
        hint=" ".join(check.fix.split()),
        line=check.line,
        component=check.component,
    )
