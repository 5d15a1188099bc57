"""Requests to language models and their replies, as plain data."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from rewardgen.core.schema import Frozen, Text


class Picture(Frozen):
    """A picture in a message."""

    caption: Text
    png: str
    """PNG file in base64."""


class Message(Frozen):
    """One chat message."""

    role: Literal["system", "user", "assistant"]
    content: Text
    pictures: tuple[Picture, ...] = ()
    """Pictures after the text, each after its caption."""

    @model_serializer(mode="wrap")
    def _without_empty(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out no pictures: the names of calls in an archive depend on the fields."""
        fields = serialize(self)
        return fields if self.pictures else {name: value for name, value in fields.items() if name != "pictures"}


VERDICT = "goal/verdict"
"""Label of the request to judge the final policy's episodes."""


def reply_form(model: type[Frozen], in_list: str = "") -> dict[str, Any]:
    """Return the JSON schema of a flat model, or of a named list of them, as strict providers need it."""
    fields = model.model_json_schema()["properties"].items()
    parts = {name: {key: part[key] for key in ("type", "enum", "anyOf") if key in part} for name, part in fields}
    form = {"type": "object", "properties": parts, "required": [*parts], "additionalProperties": False}
    lists = {in_list: {"type": "array", "items": form}}
    return {**form, "properties": lists, "required": [in_list]} if in_list else form


class LLMRequest(Frozen):
    """One call of a language model."""

    label: str
    """Candidate, role and job, such as `g02-k7/designer/edit`. Unique within a run: the key of the archive."""
    messages: tuple[Message, ...]
    temperature: float = 1.0
    max_tokens: int = 8192
    effort: str = ""
    """Reasoning effort; empty for the model's own. Other than empty, the model also has its own temperature."""
    form: dict[str, Any] | None = None
    """JSON schema of the reply, for providers that can hold a model to one. The messages describe the form too."""


class Usage(Frozen):
    """Tokens and cost of calls; only grows."""

    prompt_tokens: int = Field(default=0, ge=0)
    completion_tokens: int = Field(default=0, ge=0)
    cost_usd: float | None = Field(default=0.0, ge=0, allow_inf_nan=False)
    """None if a model has no known price."""
    calls: int = Field(default=0, ge=0)
    cached_tokens: int = Field(default=0, ge=0)
    """Tokens, of those of the prompts, that the provider read from its cache, at a lower price."""
    estimated_tokens: int = Field(default=0, ge=0)
    """Tokens, of all, that were estimated from the length of the texts."""

    def __add__(self, other: Usage) -> Usage:
        costs = [usage.cost_usd for usage in (self, other) if usage.cost_usd is not None]
        counts = {name: value + getattr(other, name) for name, value in self if name != "cost_usd"}
        return Usage(cost_usd=sum(costs) if len(costs) == 2 else None, **counts)

    @property
    def tokens(self) -> int:
        """Prompt and completion tokens together."""
        return self.prompt_tokens + self.completion_tokens


class Reply(Frozen):
    """Reply of a language model."""

    text: Text
    model: Text
    usage: Usage = Usage()
    latency_s: float = 0.0
    cut: bool = False
    """True if the reply ends at the token limit."""
