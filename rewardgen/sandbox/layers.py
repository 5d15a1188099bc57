"""Layer by layer, what keeps a worker in: put in force in the worker itself, and told what is missing and why.

The reward language, which decides what generated code can say at all, is not among these: they hold when it does not.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pydantic import Field

from rewardgen.core.config import SandboxMode
from rewardgen.core.errors import SandboxError
from rewardgen.core.schema import Frozen
from rewardgen.sandbox import landlock, privileges, seccomp
from rewardgen.sandbox.grants import worker_grants
from rewardgen.sandbox.limits import Limits, confine

_KERNEL_LAYERS = ("landlock", "seccomp")
_HINT = (
    "`run --sandbox auto` goes on with the layers that there are: only do so with rewards that you have read;"
    " what a run from elsewhere holds takes every layer, see `rewardgen doctor`"
)


class Policy(Frozen):
    """How one worker is kept in."""

    folder: Path
    """The worker's own folder, which it may change."""
    reads: tuple[Path, ...] = ()
    """Files and folders that it is given to read."""
    writes: tuple[Path, ...] = ()
    """Further folders that it may change."""
    gpu: bool = False
    """Whether it uses a GPU: its device files and what its driver needs are opened to it."""
    limits: Limits = Limits()
    """Its `sandbox` says what to do about a layer that is missing."""


class Layer(Frozen):
    """One layer and whether it is in force."""

    name: str
    active: bool
    detail: str
    """What it does, or why it is missing."""


class LayerReport(Frozen):
    """What keeps a worker in, in the order in which it was put in force."""

    mode: SandboxMode
    layers: tuple[Layer, ...] = Field(min_length=1)

    @property
    def missing(self) -> tuple[Layer, ...]:
        """The layers that are not in force."""
        return tuple(each for each in self.layers if not each.active)

    def in_words(self) -> str:
        """One line for each layer."""
        return "\n".join(f"{each.name}: {'' if each.active else 'NOT in force: '}{each.detail}" for each in self.layers)


_applied: LayerReport | None = None


def apply(policy: Policy) -> LayerReport:
    """Put all layers in force in this process, for good. It must have a single thread.

    Args:
        policy: What the process may still do.

    Raises:
        SandboxError: A layer is missing and the policy is strict. Then nothing has been given up.
    """
    global _applied
    mode = policy.limits.sandbox
    _require(available(mode))
    steps = {"limits": _limits, "privileges": _privileges}
    if mode != "off":
        steps |= {"landlock": _landlock, "memory": _hide_memory, "seccomp": _seccomp}
    layers = [_try(name, step, policy) for name, step in steps.items()]
    _applied = _require(LayerReport(mode=mode, layers=tuple(layers + _switched_off(mode))))
    return _applied


def applied() -> LayerReport | None:
    """What is in force in this process; None before `apply`."""
    return _applied


def available(mode: SandboxMode = "auto") -> LayerReport:
    """What the kernel offers to confine workers with, without doing so.

    Args:
        mode: What was asked for.
    """
    asked = {"landlock": lambda: f"ABI {landlock.abi()}", "seccomp": _filters}
    found = [_found(name, ask) for name, ask in asked.items()] if mode != "off" else _switched_off(mode)
    return LayerReport(mode=mode, layers=tuple(found))


def _require(report: LayerReport) -> LayerReport:
    if report.mode == "strict" and report.missing:
        told = "; ".join(f"{each.name}: {each.detail}" for each in report.missing)
        raise SandboxError(f"the sandbox is not complete on this machine ({told})", _HINT)
    return report


def _switched_off(mode: SandboxMode) -> list[Layer]:
    return [Layer(name=name, active=False, detail="switched off") for name in _KERNEL_LAYERS] if mode == "off" else []


def _found(name: str, ask: Callable[[], str]) -> Layer:
    try:
        return Layer(name=name, active=True, detail=ask())
    except OSError as error:
        return Layer(name=name, active=False, detail=_why(error))


def _try(name: str, step: Callable[[Policy], str], policy: Policy) -> Layer:
    return _found(name, lambda: step(policy))


def _why(error: OSError) -> str:
    return str(error.strerror or error)


def _filters() -> str:
    seccomp.check_available()
    return "the kernel takes filters"


# The layers.


def _limits(policy: Policy) -> str:
    confine(policy.limits)
    return "memory, CPU time, size and number of files, core dumps"


def _privileges(policy: Policy) -> str:
    privileges.gain_none()
    return "none to be gained" + (", those of root given up" if privileges.drop_capabilities() else "")


def _landlock(policy: Policy) -> str:
    try:
        version = landlock.restrict(worker_grants(policy.folder, policy.reads, policy.writes, policy.gpu))
    except RuntimeError as error:
        hint = "only a process with one thread can be confined: start it at its first use, in an episode's first step;"
        hint += ' Mesa, which draws pictures, starts none with `os.environ |= {"LP_NUM_THREADS": "0",'
        hint += ' "MESA_SHADER_CACHE_DISABLE": "true"}` at the top of the task file;'
        hint += " an environment that starts one when it is made or reset needs `--sandbox off`"
        raise SandboxError(f"the task starts a thread before its worker is confined ({error})", hint) from error
    return f"ABI {version}: {landlock.covers(version)}"


def _hide_memory(policy: Policy) -> str:
    privileges.hide_memory()
    return "closed to other processes"


def _seccomp(policy: Policy) -> str:
    return f"{seccomp.install(policy.gpu)} instructions"
