"""What the simulators of MuJoCo models share: fields that are bound when they are first read, and their last values."""

from __future__ import annotations

from torch import Tensor

from rewardgen.core.errors import TaskError, did_you_mean
from rewardgen.sim.rows import put_rows, rows_of

CONTACT_FORCES = "cfrc_ext"
MOCAP = ("mocap_pos", "mocap_quat")
LARGEST_STATE = 1e10
"""MuJoCo's own limit (mjMAXVAL) beyond which a state counts as bad."""


class LiveFields:
    """Fields of all envs by name, and what they were before the last control step."""

    def __init__(self) -> None:
        self._fields: dict[str, Tensor] = {}
        self._before: dict[str, Tensor] = {}
        self._fresh = True
        """Whether all episodes have just begun."""

    def field(self, name: str) -> Tensor:
        """See `Simulator.field`; `cfrc_ext` is there only with `contact_forces`."""
        if name not in self._fields:
            import mujoco.batch  # missing in older releases

            if name not in mujoco.batch.DATA_FIELDS:
                raise TaskError(f"MuJoCo has no data field `{name}`", did_you_mean(name, mujoco.batch.DATA_FIELDS))
            self._need_fresh(f"field({name!r})")
            self._fields[name] = self._bound(name)
        return self._fields[name]

    def before(self, name: str) -> Tensor:
        """See `Simulator.before`."""
        if name not in self._before:
            self._need_fresh(f"before({name!r})")
            self._before[name] = self.field(name).clone()
        return self._before[name]

    def _bound(self, name: str) -> Tensor:
        """The field, (N, ...) float64, live from now on."""
        raise NotImplementedError

    def _remember(self, which: Tensor | None = None) -> None:
        """The present is what was before, in some envs, (n,) int64 or (N,) bool, or in all."""
        for name, kept in self._before.items():
            if which is None:
                kept.copy_(self._fields[name])
            else:
                put_rows(kept, which, rows_of(self._fields[name], which))

    def _need_fresh(self, what: str) -> None:
        if not self._fresh:
            raise TaskError(
                f"`{what}` was first read in the middle of an episode",
                "read it at every call of the method, whatever the state",
            )


def without_contact_forces() -> TaskError:
    """What a task is told that reads them and did not ask for them."""
    return TaskError("`cfrc_ext` is read but not computed", "set `needs_contact_forces = True` in the task")
