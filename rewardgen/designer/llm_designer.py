"""The designer that asks a language model."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from rewardgen.core.config import RunConfig
from rewardgen.designer.protocol import NO_REPLY
from rewardgen.llm.prompts import designer_messages, repair_messages
from rewardgen.llm.protocol import LLM, CallFailed
from rewardgen.reward.extraction import extract_source
from rewardgen.store.messages import LLMRequest, Message
from rewardgen.store.records import Candidate, DesignRequest, Finding

_HEADING = r"^[#>*_\s]*{}[*_\s]*:[*_ \t]*"
_DIAGNOSIS = re.compile(_HEADING.format("DIAGNOSIS"), re.MULTILINE | re.IGNORECASE)
_PREDICTION = re.compile(_HEADING.format("PREDICTION"), re.MULTILINE | re.IGNORECASE)
_CODE = re.compile(r"^[ \t]*(?:`{3,}|~{3,}|def )", re.MULTILINE)


class DesignReply(NamedTuple):
    """The parts of a designer model's reply; each empty if it is missing."""

    diagnosis: str
    prediction: str
    source: str


class LLMDesigner:
    """Designs and repairs rewards with a language model; see `designer.protocol.Designer`.

    Args:
        llm: The model.
        config: The run's configuration, for the temperature.
    """

    def __init__(self, llm: LLM, config: RunConfig) -> None:
        self._llm = llm
        self._temperature = config.temperature

    async def design(self, request: DesignRequest) -> Candidate:
        """One candidate for a brief; its `failure` is set if there was no reply or no code in it."""
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
        """The next version of a rejected candidate; None if there was no reply or no code in it."""
        number = candidate.repairs + 1
        label = f"{candidate.id}/designer/repair-{number}"
        repaired = await self._ask(candidate, label, repair_messages(request, candidate, findings))
        return None if repaired.failure else repaired.model_copy(update={"repairs": number})

    async def _ask(self, candidate: Candidate, label: str, messages: tuple[Message, ...]) -> Candidate:
        request = LLMRequest(label=label, messages=messages, temperature=self._temperature)
        try:
            reply = await self._llm.complete(request)
        except CallFailed as error:
            return candidate.model_copy(update={"failure": f"{NO_REPLY}{error.message}"})
        parts = parse_reply(reply.text)
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
    """Take a reply apart. Without headings, what stands before the code is the diagnosis.

    Args:
        text: A designer model's reply.
    """
    source = extract_source(text)
    code = _CODE.search(text)
    prose = text[: code.start()] if code else text
    diagnosis, prediction = _section(prose, _DIAGNOSIS, _PREDICTION), _section(prose, _PREDICTION, _DIAGNOSIS)
    return DesignReply(diagnosis or ("" if prediction else prose.strip()), prediction, source)


def _section(prose: str, heading: re.Pattern[str], other: re.Pattern[str]) -> str:
    """What follows a heading, up to the other one."""
    found = heading.search(prose)
    if not found:
        return ""
    rest = prose[found.end() :]
    end = other.search(rest)
    return (rest[: end.start()] if end else rest).strip().strip("*").strip()
