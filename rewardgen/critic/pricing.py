"""The worker job `price`: what rewards would have paid for recorded episodes, before any training is spent on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from rewardgen.reward.program import RewardError, compile_reward
from rewardgen.sim.kept_episodes import KeptInputs, load_episodes
from rewardgen.store.records import RewardSpec


def price_job(payload: dict[str, Any], report: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Sum up each component over each episode.

    Args:
        payload: `folder`, `files` of episodes in it, and `rewards`.
        report: Not used.

    Returns:
        `sums`: candidate id to component to its sum over each episode, the files' episodes in a row; `failed`:
        candidate id to why its reward could not be computed there.

    Raises:
        RunFolderError: A file of episodes cannot be read.
    """
    torch.set_num_threads(1)
    kept = _joined([load_episodes(Path(payload["folder"]) / name) for name in payload["files"]])
    sums: dict[str, dict[str, list[float]]] = {}
    failed: dict[str, str] = {}
    for each in payload["rewards"]:
        reward = RewardSpec.model_validate(each)
        try:
            sums[reward.candidate_id] = episode_sums(reward, kept)
        except RewardError as error:
            failed[reward.candidate_id] = error.message
    return {"sums": sums, "failed": failed}


@torch.no_grad()
def episode_sums(reward: RewardSpec, kept: KeptInputs) -> dict[str, list[float]]:
    """Component name to its sum over each episode.

    Raises:
        RewardError: The reward does not compile, or fails in one of the episodes' states.
    """
    program = compile_reward(reward.source)
    components = program({name: kept.inputs[name].clone() for name in program.inputs}, reward.tunables)
    return {name: _sums(value, kept.lengths) for name, value in components.items()}


def _sums(values: Tensor, lengths: Sequence[int]) -> list[float]:
    return [float(part.double().sum()) for part in values.split(list(lengths))]


def _joined(files: Sequence[KeptInputs]) -> KeptInputs:
    inputs = {name: torch.cat([each.inputs[name] for each in files]) for name in files[0].inputs}
    return KeptInputs(inputs, tuple(length for each in files for length in each.lengths))
