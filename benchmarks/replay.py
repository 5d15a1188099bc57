"""The machine's limit: a plain C loop over `mj_step`, on exactly the physics that our own environments did.

A recording holds the full state of every environment before every control step, and the control. Replaying it is one
call into `mujoco.rollout`: one `MjData`, which is given each state and stepped `frame_skip` times. It ends in the
same states, bit by bit. One `MjData` stays in the cache of the processor: a C loop over one per environment is slower.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import mujoco
import numpy as np
from mujoco.rollout import Rollout
from numpy.typing import NDArray
from torch import Tensor

from rewardgen.core.errors import UsageError
from rewardgen.sim.mujoco_env import MujocoVecEnv

_CHUNK = 2048
"""States per call, so that what it writes stays in the cache."""


@dataclass(frozen=True)
class Recording:
    """B control steps of single environments, in the order in which they were simulated.

    Attributes:
        state: Time, positions, velocities and activations before the step, (B, K) float64.
        warmstart: The accelerations at which the solver starts, (B, nv).
        control: (B, nu), within the actuators' ranges.
        end: The state after the step, (B, K).
        intact: Whether `end` is what the physics left: not where an episode ended and a reset followed, (B,) bool.
    """

    state: NDArray[np.float64]
    warmstart: NDArray[np.float64]
    control: NDArray[np.float64]
    end: NDArray[np.float64]
    intact: NDArray[np.bool_]


class Recorder:
    """Records what environments do.

    Args:
        envs: Before their first episode.

    Raises:
        UsageError: The model has a kind of state that is not recorded.
    """

    def __init__(self, envs: MujocoVecEnv) -> None:
        self._envs = envs
        model = envs.view.model
        names = ("time", "qpos", "qvel", *(["act"] if model.na else []))
        self._state = [envs.view.field(name) for name in names]
        self._warmstart = envs.view.field("qacc_warmstart")
        if self._read().shape[1] != mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS):
            raise UsageError("the model has delays or plugins, which cannot be replayed", "leave this task out")

    def record(self, actions: Sequence[Tensor]) -> Recording:
        """Step the environments and record it.

        Args:
            actions: One (N, A) per control step.
        """
        rows = [self._step(action) for action in actions]
        state, warmstart, control, end, intact = (np.concatenate(column) for column in zip(*rows, strict=True))
        return Recording(state, warmstart, control, end, intact)

    def _step(self, action: Tensor) -> tuple[NDArray, ...]:
        state, warmstart = self._read(), self._warmstart.numpy().copy()
        step = self._envs.step(action)
        control = step.inputs["action"].double().numpy()
        return state, warmstart, control, self._read(), ~(step.terminated | step.truncated).numpy()

    def _read(self) -> NDArray[np.float64]:
        return np.concatenate([each.numpy().reshape(self._envs.num_envs, -1) for each in self._state], axis=1)


class Replay:
    """The C loop over recordings of one model.

    Args:
        model: The model.
        frame_skip: Physics steps per control step.
        threads: Physics threads.
    """

    def __init__(self, model: mujoco.MjModel, frame_skip: int, threads: int = 1) -> None:
        self._model = model
        self._frame_skip = frame_skip
        self._data = [mujoco.MjData(model) for _ in range(threads)]
        self._rollout = Rollout(nthread=threads if threads > 1 else 0)

    def run(self, recording: Recording) -> tuple[float, float]:
        """Simulate the recorded control steps again.

        Returns:
            Seconds in the C loop, and the largest difference of an end state from the recorded one.
        """
        seconds, worst = 0.0, 0.0
        out = np.zeros((_CHUNK, self._frame_skip, recording.state.shape[1]))
        for start in range(0, len(recording.state), _CHUNK):
            part = slice(start, start + _CHUNK)
            ends, took = self._step(recording.state[part], recording.warmstart[part], recording.control[part], out)
            seconds += took
            intact = recording.intact[part]
            worst = max(worst, float(np.abs(ends - recording.end[part])[intact].max(initial=0.0)))
        return seconds, worst

    def _step(
        self, state: NDArray, warmstart: NDArray, control: NDArray, out: NDArray
    ) -> tuple[NDArray[np.float64], float]:
        """End states of some rows, and the seconds that it took."""
        models = [self._model] * len(state)
        held = np.repeat(control[:, None], self._frame_skip, axis=1)
        out = out[: len(state)]
        began = time.perf_counter()
        self._rollout.rollout(
            models,
            self._data,
            state,
            held,
            skip_checks=True,
            nstep=self._frame_skip,
            initial_warmstart=warmstart,
            state=out,
        )
        return out[:, -1], time.perf_counter() - began
