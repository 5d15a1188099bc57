"""Stepping on one process: our environments with a reward, and the C loop on the same physics.

Both walk through the same segments: the same seeds, the same random actions, so the same states.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence

import torch
from torch import Tensor

from benchmarks.replay import Recorder, Replay
from rewardgen.core.errors import UsageError
from rewardgen.sim.mujoco_env import MujocoVecEnv
from rewardgen.sim.vec_env import VecEnv
from rewardgen.store.records import RewardSpec, SliceSpec
from rewardgen.tasks.loading import load_task
from rewardgen.tasks.members import own_program
from rewardgen.tasks.mujoco_task import MujocoTask
from rewardgen.tasks.protocol import Task
from rewardgen.training.shared.rewards import Rewards
from rewardgen.training.shared.slices import input_names

WARM_UP = 32
"""Control steps before the first measurement: by then random actions have brought the environments out of step."""
ROLLOUT = 32
"""Control steps that are priced together, as in training."""
_SEED = 0


class Ours:
    """Our environments under random actions, with the task's human reward priced once per rollout, as in training.

    Counts everything but the policy: physics, variables, observations, terminations, resets, and the reward.
    """

    def prepare(self, task: str, num_envs: int, threads: int) -> dict[str, float]:
        """Set up and warm up.

        Args:
            task: Task reference.
            num_envs: N.
            threads: Physics threads; torch has one, as in training.

        Returns:
            `rate`: control steps per second in the warm-up.
        """
        torch.set_num_threads(1)
        loaded, self._envs = mujoco_envs(task, num_envs, threads)
        self._rewards = human_rewards(loaded)
        self._envs.reset(staggered=True)
        self._segment = 0
        return {"rate": float(self.measure(WARM_UP)["rate"])}

    @torch.no_grad()
    def measure(self, steps: int) -> dict[str, float | str]:
        """Simulate a segment.

        Args:
            steps: Control steps of every environment.

        Returns:
            `rate`: control steps per second; `digest`: of the states at the end.
        """
        actions = random_actions(self._envs, self._segment, steps)
        self._segment += 1
        began = time.perf_counter()
        for start in range(0, steps, ROLLOUT):
            self._rollout(actions[start : start + ROLLOUT])
        seconds = time.perf_counter() - began
        return {"rate": steps * self._envs.num_envs / seconds, "digest": state_digest(self._envs)}

    def _rollout(self, actions: Sequence[Tensor]) -> None:
        taken = [self._envs.step(action) for action in actions]
        inputs = {name: torch.stack([step.inputs[name] for step in taken]) for name in self._rewards.input_names}
        faults = self._rewards.price(inputs, [True]).faults
        if faults:
            raise UsageError(f"the task's human reward failed: {faults[0].message}", "fix it, or leave this task out")


class CLoop:
    """The same physics steps as a plain C loop, and nothing else."""

    def prepare(self, task: str, num_envs: int, threads: int) -> dict[str, float]:
        """Set up and go through the warm-up; `rate` is that of the loop."""
        torch.set_num_threads(1)
        loaded, self._envs = mujoco_envs(task, num_envs, threads)
        self._recorder = Recorder(self._envs)
        self._replay = Replay(self._envs.view.model, loaded.frame_skip, threads)
        self._envs.reset(staggered=True)
        self._segment = 0
        return {"rate": float(self.measure(WARM_UP)["rate"])}

    def measure(self, steps: int) -> dict[str, float | str]:
        """Record the segment that ours did, then time its replay.

        Returns:
            `rate` and `digest` as ours; `error`: the largest difference of the replayed states from the recorded ones.
        """
        recording = self._recorder.record(random_actions(self._envs, self._segment, steps))
        self._segment += 1
        seconds, error = self._replay.run(recording)
        return {"rate": len(recording.state) / seconds, "digest": state_digest(self._envs), "error": error}


def mujoco_envs(task: str, num_envs: int, threads: int) -> tuple[MujocoTask, MujocoVecEnv]:
    """A task and environments of it.

    Raises:
        UsageError: It is not simulated by MuJoCo.
    """
    loaded = load_task(task)
    if not isinstance(loaded, MujocoTask):
        raise UsageError(f"{task} has no MuJoCo model", "leave this task out")
    return loaded, MujocoVecEnv(loaded, loaded.make_simulator(num_envs, threads), [_SEED])


def human_rewards(task: Task) -> Rewards:
    """The task's human reward for one slice.

    Raises:
        UsageError: The task has none.
    """
    program = own_program(task, "human_reward")
    if program is None:
        raise UsageError(f"{task.path.name} has no `human_reward` to step with", "give it one, or leave this task out")
    spec = RewardSpec(candidate_id="human", source=program.source)
    return Rewards([spec], [SliceSpec(candidate_id="human", seed=_SEED)], input_names(task))


def random_actions(envs: VecEnv, segment: int, steps: int) -> list[Tensor]:
    """Uniform actions in the actuators' ranges, one (N, A) per step, the same for the same segment."""
    generator = torch.Generator().manual_seed(segment)
    draws = torch.rand((steps, envs.num_envs, envs.action_size), generator=generator).to(envs.action_low.device)
    return list(envs.action_low + (envs.action_high - envs.action_low) * draws)


def state_digest(envs: MujocoVecEnv) -> str:
    """Hash of all positions and velocities."""
    view = envs.view
    return hashlib.sha256(view.qpos.numpy().tobytes() + view.qvel.numpy().tobytes()).hexdigest()[:16]
