"""The base of every configuration and record: frozen, and unknown keys are refused with the nearest valid one."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, ValidationError, model_validator

from rewardgen.core.errors import UsageError, did_you_mean
from rewardgen.core.text import all_visible, visible

Text = Annotated[str, AfterValidator(visible)]
"""What somebody else wrote, as it may be shown and told again."""

VisibleData = Annotated[dict[str, Any], BeforeValidator(all_visible)]
"""Plain data, every text in it likewise."""


class Frozen(BaseModel):
    """An immutable pydantic model that refuses unknown keys by name."""

    noun: ClassVar[str] = ""
    """What it is, where a user writes it; the class's name if empty."""

    renamed: ClassVar[dict[str, str]] = {}
    """Field names of older run folders to the present ones."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="constants")

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown_keys(cls, data: Any) -> Any:
        if isinstance(data, dict):
            # An unset field that this version no longer has: run folders of earlier versions hold such.
            data = {cls.renamed.get(key, key): value for key, value in data.items()}
            data = {key: value for key, value in data.items() if key in cls.model_fields or value is not None}
            unknown = [key for key in data if key not in cls.model_fields]
            if unknown:
                raise UsageError(
                    f"unknown key `{unknown[0]}` for {cls.noun or cls.__name__}",
                    did_you_mean(str(unknown[0]), cls.model_fields),
                )
        return data


_MESSAGES = {
    "tuple_type": 'it should be a list, such as `["one", "other"]`',
    "too_short": "it is empty",
}
"""By pydantic's name of a fault, where its own words speak of Python."""

Model = TypeVar("Model", bound=Frozen)


def read_toml(file: Path, hint: str) -> dict[str, Any]:
    """What a file of the user's says, as plain data.

    Args:
        file: The file.
        hint: What is told if it cannot be read.

    Raises:
        UsageError: It cannot be read, or is not TOML.
    """
    try:
        return tomllib.loads(file.read_text())
    except OSError as error:
        raise UsageError(f"cannot read {file}: {error.strerror}", hint) from error
    except ValueError as error:
        raise UsageError(f"{file} is not TOML: {error}", hint) from error


def validated(model: type[Model], told: dict[str, Any], where: str, hint: str) -> Model:
    """A model from plain data, or the first thing that is wrong with it.

    Args:
        model: The model.
        told: Its fields.
        where: Where they come from.
        hint: What is told of a value that it cannot have.

    Raises:
        UsageError: It is no such model.
    """
    try:
        return model.model_validate(told)
    except ValidationError as error:
        found = error.errors()[0]
        name = ".".join(str(each) for each in found["loc"] if isinstance(each, int) or each.isidentifier())
        wrong = _MESSAGES.get(found["type"], found["msg"])
        raise UsageError(f"`{name}` of {where}: {wrong[:1].lower()}{wrong[1:]}", hint) from error
