"""Settings of RSL-RL's PPO. Loads neither RSL-RL nor torch: task files import it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import AfterValidator

from rewardgen.core.errors import UsageError
from rewardgen.core.text import one_line
from rewardgen.training.artifacts import TrainJob
from rewardgen.training.ppo.settings import DeviceSettings


def _only_of_rsl_rl(options: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Reject names of other modules, which RSL-RL would import: settings may come from somebody else's run."""
    for text in _texts(options):
        if {".", ":"} & {*text}:
            hint = "name a class of RSL-RL's without its module, such as `PPO`"
            raise UsageError(f"`options` name `{one_line(text, 80)}`, which may be of any module", hint)
    return options


def _texts(data: Any) -> Iterator[str]:
    if isinstance(data, str):
        yield data
    elif isinstance(data, dict | list | tuple):
        for part in data.values() if isinstance(data, dict) else data:
            yield from _texts(part)


class RslRlSettings(DeviceSettings):
    """RSL-RL's PPO (Schwarke et al. 2025). Tasks of mjlab bring the configuration of their own runner.

    The discount and the length of a rollout are always those of these settings.
    """

    rollout_steps: int = 24
    """Control steps per env between two updates."""
    options: Annotated[dict[str, dict[str, Any]], AfterValidator(_only_of_rsl_rl)] = {}
    """Changes to the configuration, by its parts: `{"actor": {"hidden_dims": [256, 128]}, "algorithm":
    {"entropy_coef": 0.0}}`. Classes are named without a module."""


RslRlJob = TrainJob[RslRlSettings]
