"""Base of configurations and records: frozen models that reject unknown keys with the nearest valid one."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, ValidationError, model_validator

from rewardgen.core.errors import UsageError, did_you_mean
from rewardgen.core.text import all_visible, visible

Text = Annotated[str, AfterValidator(visible)]
"""Text by somebody else, made safe to show."""

VisibleData = Annotated[dict[str, Any], BeforeValidator(all_visible)]
"""Plain data with every text made safe to show."""


class Frozen(BaseModel):
    """Immutable pydantic model that rejects unknown keys."""

    noun: ClassVar[str] = ""
    """Noun for the model in messages; the class's name if empty."""

    renamed: ClassVar[dict[str, str]] = {}
    """Field names of older run folders to the present ones."""

    retired: ClassVar[frozenset[str]] = frozenset()
    """Field names of older run folders that mean nothing now."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="constants")

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown_keys(cls, data: Any) -> Any:
        if isinstance(data, dict):
            data = {cls.renamed.get(key, key): value for key, value in data.items()}
            # Run folders of earlier versions hold unset fields that no longer exist.
            gone = [key for key, value in data.items() if value is None or key in cls.retired]
            data = {key: value for key, value in data.items() if key in cls.model_fields or key not in gone}
            unknown = [key for key in data if key not in cls.model_fields]
            if unknown:
                message = f"unknown key `{unknown[0]}` for {cls.noun or cls.__name__}"
                raise UsageError(message, did_you_mean(str(unknown[0]), cls.model_fields))
        return data


_MESSAGES = {
    "tuple_type": 'it should be a list, such as `["one", "other"]`',
    "too_short": "it is empty",
}
"""Pydantic's type of an error to a message without Python terms."""

Model = TypeVar("Model", bound=Frozen)


def read_toml(file: Path, hint: str) -> dict[str, Any]:
    """Read a TOML file.

    Raises:
        UsageError: The file cannot be read, or is not TOML.
    """
    try:
        return tomllib.loads(file.read_text())
    except OSError as error:
        raise UsageError(f"cannot read {file}: {error.strerror}", hint) from error
    except ValueError as error:
        raise UsageError(f"{file} is not TOML: {error}", hint) from error


def validated(model: type[Model], fields: dict[str, Any], where: str, hint: str) -> Model:
    """Build a model from plain data; `where` names their source in messages.

    Raises:
        UsageError: A field is unknown or invalid; the message has the first fault.
    """
    try:
        return model.model_validate(fields)
    except ValidationError as error:
        place, message = first_fault(error.errors())
        raise UsageError(f"`{'.'.join(map(str, place))}` of {where}: {message}", hint) from error


def first_fault(errors: Sequence[Any]) -> tuple[list[str | int], str]:
    """Return the place of the first of pydantic's errors and its message, which joins those of a union's members."""
    first, place = errors[0], errors[0]["loc"]
    members = [error for error in errors if error["loc"][:-1] == place[:-1] and error["input"] is first["input"]]
    if len(members) > 1 and len(place) > 1:
        place = place[:-1]
    members = members if place != first["loc"] else [first]
    texts = [str(_MESSAGES.get(error["type"], error["msg"])) for error in members]
    message = " or ".join([texts[0], *(text.removeprefix("Input should be ") for text in texts[1:])])
    names = [part for part in place if isinstance(part, int) or part.isidentifier()]
    return names, f"{message[:1].lower()}{message[1:]}"
