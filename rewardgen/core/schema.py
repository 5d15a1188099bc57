"""The base of every configuration and record: frozen, and unknown keys are refused with the nearest valid one."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, model_validator

from rewardgen.core.errors import UsageError, did_you_mean
from rewardgen.core.text import all_visible, visible

Text = Annotated[str, AfterValidator(visible)]
"""What somebody else wrote, as it may be shown and told again."""

VisibleData = Annotated[dict[str, Any], BeforeValidator(all_visible)]
"""Plain data, every text in it likewise."""


class Frozen(BaseModel):
    """An immutable pydantic model that refuses unknown keys by name."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="constants")

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown_keys(cls, data: Any) -> Any:
        if isinstance(data, dict):
            unknown = [key for key in data if key not in cls.model_fields]
            if unknown:
                raise UsageError(
                    f"unknown key `{unknown[0]}` for {cls.__name__}",
                    did_you_mean(str(unknown[0]), cls.model_fields),
                )
        return data
