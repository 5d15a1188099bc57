"""View of any simulator for task code: fields now, before the control step and at the start of the episode."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, Self

from torch import Tensor

from rewardgen.core.errors import TaskError, UnknownName, did_you_mean
from rewardgen.sim.protocol import Simulator
from rewardgen.sim.tensors import Numbers, constant, put_rows, rows_of

Start = tuple[Tensor, Tensor] | tuple[Tensor, Tensor, Mapping[str, Tensor]]
"""Result of a task's `reset`: positions (n, nq), velocities (n, nv), and optionally goals, name to (n,) or (n, k)."""


class StateView:
    """All envs of a simulator as batched tensors, float64, env axis first.

    The tensors are live: clone a value that must outlast the control step. An unknown name raises a `TaskError` with
    the nearest known name, and so does a field that is first read in the middle of an episode.
    """

    def __init__(self, simulator: Simulator) -> None:
        self._simulator = simulator
        self._ids: Tensor | None = None
        self.device, self.control_step_s = simulator.device, simulator.control_step_s
        self._goals: dict[str, Tensor] = {}
        self._has_begun = False
        self._starts: dict[str, Tensor] = {}

    def __getattr__(self, name: str) -> Any:
        raise UnknownName(f"`sim` has no `{name}`", self._hint(name))

    def _hint(self, name: str) -> str:
        return did_you_mean(name, [member for member in (*self.__dict__, *dir(type(self))) if member[0] != "_"])

    def of_envs(self, ids: Tensor) -> Self:
        """Return a view of some envs, (n,) int64."""
        part = copy.copy(self)
        part._ids = ids
        return part

    def field(self, name: str) -> Tensor:
        """Return a field of the simulator, (N, ...), for example `xpos` (N, nbody, 3)."""
        return self._own(self._simulator.field(name))

    def before(self, name: str) -> Tensor:
        """Return a field before the control step, (N, ...); the current value right after a reset."""
        return self._own(self._simulator.before(name))

    def start(self, name: str) -> Tensor:
        """Return a field at the start of the episode, (N, ...)."""
        if name not in self._starts:
            self._simulator.before(name)  # refuses a field that is first read too late
            self._starts[name] = self._simulator.field(name).clone()
        return self._own(self._starts[name])

    def goal(self, name: str) -> Tensor:
        """Return a goal of the episode, as `reset` drew it, (N,) or (N, k)."""
        if name not in self._goals:
            hint = "return it from `reset` after positions and velocities: {" + f'"{name}": tensor' + "}"
            raise TaskError(f"there is no goal `{name}`", did_you_mean(name, self._goals) if self._goals else hint)
        return self._own(self._goals[name])

    @property
    def goals(self) -> tuple[str, ...]:
        """Names of the goals that `reset` draws for each episode."""
        return tuple(self._goals)

    def constant(self, values: Numbers) -> Tensor:
        """Return numbers as a tensor on the simulator's device: float64, int64 if all are whole by type, or bool.

        On a GPU, `torch.tensor` and lists as indices, such as `qpos[:, [1, 3]]`, make the host wait at each call.

        Args:
            values: Numbers, such as `(0.0, -0.4)`, `[1, 3]` or `sim.model.jnt_range`.
        """
        return constant(values, self.device)

    def begin(self, which: Tensor, state: Start) -> None:
        """Begin episodes in some envs, (n,) int64 or (N,) bool, from the result of a task's `reset`, n rows or N.

        Raises:
            TaskError: The names of the goals differ from those of earlier episodes, or a goal does not fit its body.
        """
        goals = {name: value.double() for name, value in (state[2] if len(state) == 3 else {}).items()}
        if self._has_begun and goals.keys() != self._goals.keys():
            here, before = (", ".join(names) or "none" for names in (goals, self._goals))
            raise TaskError(f"`reset` returns the goals {here}, and before {before}", "return the same ones each time")
        self._simulator.reset(which, state[0], state[1], self._mocap(len(which), goals))
        for name, value in goals.items():
            if name not in self._goals:
                self._goals[name] = value.new_zeros((self._simulator.num_envs, *value.shape[1:]))
            put_rows(self._goals[name], which, value)
        self._has_begun = True
        self.keep_start(which)

    def keep_start(self, which: Tensor) -> None:
        """Store the present state of some envs, (n,) int64 or (N,) bool, as the start of their episodes."""
        for name, values in self._starts.items():
            put_rows(values, which, rows_of(self._simulator.field(name), which))

    def _mocap(self, count: int, goals: Mapping[str, Tensor]) -> Tensor | None:
        """Return the poses of bodies that goals move, (n, nmocap, 7); None if the simulator has no such bodies."""
        return None

    def _own(self, values: Tensor) -> Tensor:
        return values if self._ids is None else values[self._ids]
