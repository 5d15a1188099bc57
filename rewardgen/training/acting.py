"""Worker job that lets policies act with the eyes of their reward, and leaves their actions as policy files.

It runs generated code. What policies reach is measured elsewhere, by playing the actions again.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from rewardgen.core.errors import RewardgenError
from rewardgen.core.physics import parse_ranges
from rewardgen.sim.episodes import record_episodes
from rewardgen.sim.vec_env import VecEnv
from rewardgen.store.records import RewardSpec, SliceSpec
from rewardgen.tasks.loading import load_task
from rewardgen.tasks.protocol import Task
from rewardgen.training.policies import Policy, load_policy
from rewardgen.training.replayed_policy import ReplayedPolicy
from rewardgen.training.shared.eyes import Eyes
from rewardgen.training.shared.rewards import Rewards
from rewardgen.training.shared.seeding import derive_seed
from rewardgen.training.shared.slices import input_names


def act_job(payload: dict[str, Any], report: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Play each policy's episodes, and write a file of the kind `replay` under its name to the working folder.

    The payload is that of `measuring.act`. Returns `problems`: name of a file to the reason why its policy cannot act,
    which then has no recording.
    """
    task, problems = load_task(payload["task"]), {}
    for play in payload["plays"]:
        reward, starts = RewardSpec.model_validate(play["reward"]), derive_seed(payload["seed"], play["starts"])
        try:
            policy = load_policy(Path(payload["folder"], play["file"]), payload["kinds"])
            envs = task.make_envs([starts], payload["episodes"])
            if ranges := parse_ranges(payload["physics"]):
                envs.vary(ranges)
            _recorded(task, policy, reward, envs).save(Path(play["file"]))
        except RewardgenError as error:
            problems[play["file"]] = error.message
    return {"problems": problems}


def _recorded(task: Task, policy: Policy, reward: RewardSpec, envs: VecEnv) -> ReplayedPolicy:
    rewards = Rewards([reward], [SliceSpec(candidate_id=reward.candidate_id, seed=0)], input_names(task))
    eyes = Eyes(rewards, envs)
    blind = policy.observation_size == envs.observation_size  # of a trainer without eyes
    actions: list[Tensor] = []
    sums: list[Tensor] = []

    def act(observation: Tensor) -> Tensor:
        sums.append(observation.double().sum(1))
        actions.append(policy.act(observation if blind else eyes.see(observation)))
        return actions[-1]

    watch = None if blind else (lambda step, alive: eyes.follow(step))
    episode = record_episodes(envs, act, anew=True, watch=watch).episode
    if rewards.problems:
        raise rewards.problems[0]
    steps = int(episode.lengths.max())
    return ReplayedPolicy(
        torch.stack(actions[:steps]),
        torch.stack(sums[:steps]),
        episode.lengths,
        envs.observation_size,
        policy.action_low,
        policy.action_high,
    )
