"""Designer that asks a language model."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from rewardgen.core.config import RunConfig
from rewardgen.core.formatting import shortened
from rewardgen.designer.protocol import NO_REPLY, REFUSED
from rewardgen.llm.prompts import designer_messages, repair_messages
from rewardgen.llm.protocol import LLM, CallFailed, CallRefused
from rewardgen.reward.extraction import extract_source
from rewardgen.store.messages import LLMRequest, Message
from rewardgen.store.records import Candidate, DesignRequest, Finding

_HEADING = r"^[#>*_ \t]*{}[*_ \t]*:[*_ \t]*"
_DIAGNOSIS = re.compile(_HEADING.format("DIAGNOSIS"), re.MULTILINE | re.IGNORECASE)
_PREDICTION = re.compile(_HEADING.format("PREDICTION"), re.MULTILINE | re.IGNORECASE)
_MOST_PROSE = 4_000
"""Longest diagnosis or prediction [characters]; the prompt asks for five sentences."""
_CODE = re.compile(r"^[ \t]*(?:`{3,}|~{3,}|def )", re.MULTILINE)


class DesignReply(NamedTuple):
    """Parts of a reply; empty where missing."""

    diagnosis: str
    prediction: str
    source: str


class LLMDesigner:
    """Design and repair rewards with a language model, at the run's temperature."""

    def __init__(self, llm: LLM, config: RunConfig) -> None:
        self._llm = llm
        self._temperature = config.temperature

    async def design(self, request: DesignRequest) -> Candidate:
        """See `Designer.design`."""
        candidate = Candidate(
            id=request.candidate_id,
            generation=request.generation,
            operator=request.operator,
            parents=tuple(record.candidate.id for record in request.parents),
        )
        label = f"{request.candidate_id}/designer/{request.operator}"
        return await self._ask(candidate, label, designer_messages(request))

    async def repair(
        self, request: DesignRequest, candidate: Candidate, findings: Sequence[Finding]
    ) -> Candidate | None:
        """See `Designer.repair`: None without a reply, or without code in it."""
        number = candidate.repairs + 1
        label = f"{candidate.id}/designer/repair-{number}"
        repaired = await self._ask(candidate, label, repair_messages(request, candidate, findings))
        return None if repaired.failure else repaired.model_copy(update={"repairs": number})

    async def _ask(self, candidate: Candidate, label: str, messages: tuple[Message, ...]) -> Candidate:
        request = LLMRequest(label=label, messages=messages, temperature=self._temperature)
        try:
            reply = await self._llm.complete(request)
        except CallFailed as error:
            kind = REFUSED if isinstance(error, CallRefused) else NO_REPLY
            return candidate.model_copy(update={"failure": f"{kind}{error.message}"})
        parts = parse_reply(reply.text)
        if reply.cut and reply.text.count("```") % 2:
            failure = f"the reply was cut in the middle of its code, at the limit of {request.max_tokens} tokens"
            return candidate.model_copy(update={"failure": failure})
        if not parts.source:
            start = " ".join(reply.text.split())[:80]
            return candidate.model_copy(update={"failure": f"the reply holds no code; it begins: {start}"})
        return candidate.model_copy(
            update={
                "source": parts.source,
                "diagnosis": parts.diagnosis or candidate.diagnosis,
                "prediction": parts.prediction or candidate.prediction,
            }
        )


def parse_reply(text: str) -> DesignReply:
    """Split a reply into its parts. Without headings, the text before the code is the diagnosis.

    A prediction may also stand after the code, or after lines of code that the diagnosis quotes.
    """
    source = extract_source(text)
    code = _CODE.search(text)
    prose = text[: code.start()] if code else text
    diagnosis, prediction = _section(prose, _DIAGNOSIS, _PREDICTION), _section(prose, _PREDICTION, _DIAGNOSIS)
    diagnosis = diagnosis or ("" if prediction else prose.strip())
    if not prediction:
        outside = _section(text.replace(source.strip(), "") if source else text, _PREDICTION, _DIAGNOSIS)
        quoted = _CODE.search(outside)
        prediction = outside[: quoted.start()].strip() if quoted else outside
    return DesignReply(shortened(diagnosis, _MOST_PROSE), shortened(prediction, _MOST_PROSE), source)


def _section(prose: str, heading: re.Pattern[str], other: re.Pattern[str]) -> str:
    """Return the text after a heading, up to the other heading."""
    start = heading.search(prose)
    if not start:
        return ""
    rest = prose[start.end() :]
    end = other.search(rest)
    return (rest[: end.start()] if end else rest).strip().strip("*").strip()
