"""Layers that confine a worker, applied by the worker, with a report of missing layers and reasons.

The layers hold when the reward language fails.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from pydantic import Field

from rewardgen.core.config import SandboxMode
from rewardgen.core.errors import SandboxError
from rewardgen.core.schema import Frozen
from rewardgen.sandbox import landlock, privileges, seccomp
from rewardgen.sandbox.grants import worker_grants
from rewardgen.sandbox.limits import Limits, confine

_HINT = (
    "`run --sandbox auto` uses the layers available, with rewards that you have read;"
    " a run from elsewhere needs every layer, see `rewardgen doctor`"
)


class Confinement(Frozen):
    """Confinement of one worker to its folder, further files and folders, and a GPU's devices and driver.

    The `sandbox` of the limits decides on a missing layer.
    """

    folder: Path
    reads: tuple[Path, ...] = ()
    writes: tuple[Path, ...] = ()
    gpu: bool = False
    limits: Limits = Limits()


class Layer(Frozen):
    """One layer; `detail` says what it does, or why it is missing."""

    name: str
    active: bool
    detail: str


class LayerReport(Frozen):
    """The layers of a worker, in the order of their application."""

    mode: SandboxMode
    layers: tuple[Layer, ...] = Field(min_length=1)

    @property
    def missing(self) -> tuple[Layer, ...]:
        """Layers that are not in force."""
        return tuple(layer for layer in self.layers if not layer.active)

    def in_words(self) -> str:
        """Describe each layer in a line."""
        return "\n".join(f"{part.name}: {'' if part.active else 'NOT in force: '}{part.detail}" for part in self.layers)


_applied: LayerReport | None = None


def apply(policy: Confinement) -> LayerReport:
    """Apply all layers to this process for good. The process must have a single thread.

    Raises:
        SandboxError: A layer is missing and the policy is strict; nothing has been given up.
    """
    global _applied
    mode = policy.limits.sandbox
    if mode == "strict":
        offers = {"landlock": lambda: f"ABI {landlock.abi()}", "seccomp": _filters}
        _require(LayerReport(mode=mode, layers=tuple(_layer(name, ask) for name, ask in offers.items())))
    steps = {"limits": _limits, "privileges": _privileges}
    if mode != "off":
        steps |= {"landlock": _landlock, "memory": _hide_memory, "seccomp": _seccomp}
    layers = [_layer(name, partial(step, policy)) for name, step in steps.items()]
    if mode == "off":
        layers += [Layer(name=name, active=False, detail="switched off") for name in ("landlock", "seccomp")]
    _applied = _require(LayerReport(mode=mode, layers=tuple(layers)))
    return _applied


def applied() -> LayerReport | None:
    """Return the layers in force in this process; None before `apply`."""
    return _applied


def _require(report: LayerReport) -> LayerReport:
    if report.mode == "strict" and report.missing:
        missing = "; ".join(f"{layer.name}: {layer.detail}" for layer in report.missing)
        raise SandboxError(f"the sandbox is not complete on this machine ({missing})", _HINT)
    return report


def _layer(name: str, step: Callable[[], str]) -> Layer:
    try:
        return Layer(name=name, active=True, detail=step())
    except OSError as error:
        return Layer(name=name, active=False, detail=str(error.strerror or error))


def _filters() -> str:
    seccomp.check_available()
    return "the kernel takes filters"


# The layers.


def _limits(policy: Confinement) -> str:
    confine(policy.limits)
    return "memory, CPU time, size and number of files, core dumps"


def _privileges(policy: Confinement) -> str:
    privileges.gain_none()
    return "none to be gained" + (", those of root given up" if privileges.drop_capabilities() else "")


def _landlock(policy: Confinement) -> str:
    try:
        version = landlock.restrict(worker_grants(policy.folder, policy.reads, policy.writes, policy.gpu))
    except RuntimeError as error:
        hint = "start threads in an episode's first step; for Mesa, which draws pictures, put `os.environ |= "
        hint += '{"LP_NUM_THREADS": "0", "MESA_SHADER_CACHE_DISABLE": "true"}` at the top of the task file;'
        hint += " an environment that starts one when made or reset needs `--sandbox off`, of `run` or `tasks check`"
        raise SandboxError(f"the task starts a thread before its worker is confined ({error})", hint) from error
    return f"ABI {version}: {landlock.covers(version)}"


def _hide_memory(policy: Confinement) -> str:
    privileges.hide_memory()
    return "closed to other processes"


def _seccomp(policy: Confinement) -> str:
    return f"{seccomp.install(policy.gpu)} instructions"
