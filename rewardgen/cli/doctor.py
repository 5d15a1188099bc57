"""`rewardgen doctor`."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from glob import glob
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Literal, NamedTuple, cast

from cyclopts import Parameter
from rich.table import Table
from rich.text import Text

from rewardgen.cli.output import Json, RunsDir, next_steps, print_json
from rewardgen.core.config import BUILTIN, RunConfig
from rewardgen.core.errors import RewardgenError
from rewardgen.core.extras import DISTRIBUTION, install_hint, load_extras
from rewardgen.core.files import explain_os_error
from rewardgen.core.interpreter import python_command
from rewardgen.core.provenance import provenance, usable_cores
from rewardgen.film.shooting import INSTALL_OPENGL, NO_OPENGL, renderer
from rewardgen.llm.factory import make_llm
from rewardgen.sandbox.folders import scratch_folder
from rewardgen.sandbox.limits import Limits
from rewardgen.sandbox.selftest import escapes, layers_in_force
from rewardgen.store.run_folder import DEFAULT_RUNS_DIR, RunFolder
from rewardgen.ui.console import messages, results

_GIB = 1 << 30
_ROOM = 2 * _GIB
"""Free memory and disk below which a run may fail [bytes]."""

_UNTRUSTED = "the reward language still keeps generated code in; run rewards of unknown origin on a recent Linux"

_ASK_TORCH = """
import torch
if torch.cuda.is_available():
    print("; ".join(torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())))
"""

_CUDA = "torch with CUDA from https://pytorch.org, and a driver for CUDA 13 or newer"

_FIRST_S = 180.0
"""Time limit of the first GPU call, which wakes sleeping GPUs [s]."""

_STYLES = {"ok": "green", "warn": "yellow", "fail": "red"}


class Check(NamedTuple):
    """A row of the table."""

    name: str
    state: Literal["ok", "warn", "fail"]
    detail: str
    hint: str = ""


def doctor(
    *,
    model: Annotated[str | None, Parameter(help="Also check this model string.")] = None,
    api_base: Annotated[str | None, Parameter(help="Address of the model's server.")] = None,
    runs_dir: RunsDir = DEFAULT_RUNS_DIR,
    json: Json = False,
) -> int:
    """Check this machine and its sandbox."""
    checks = [*_machine(), *_disk(runs_dir), *_gpu(), *_sandbox(), _films(), _keys()]
    if model is not None:
        checks.append(_model(model, api_base, runs_dir))
    failed = any(check.state == "fail" for check in checks)
    if json:
        print_json({"healthy": not failed, "checks": [check._asdict() for check in checks]})
        return 1 if failed else 0
    table = Table.grid(padding=(0, 2))
    for check in checks:
        text = Text(check.detail)
        text.append(f"\nhint: {check.hint}" if check.hint else "", "dim")
        table.add_row(Text(check.state, _STYLES[check.state]), Text(check.name, no_wrap=True), text)
    results().print(table)
    if failed:
        messages().print("\nfix what failed, then run `rewardgen doctor` again")
    else:
        next_steps(("run cartpole", "searches for a reward, without a language model"))
    return 1 if failed else 0


def _machine() -> Iterator[Check]:
    packages = cast("dict[str, str | None]", provenance()["packages"])
    if missing := [name for name, installed in packages.items() if not installed]:
        yield Check("packages", "fail", f"not installed: {', '.join(missing)}", f"`{install_hint()}`")
    versions = ", ".join(f"{name} {installed}" for name, installed in packages.items() if installed)
    yield Check("versions", "ok", f"Python {platform.python_version()}, {platform.platform()}, {versions}")
    with suppress(PackageNotFoundError):
        detail = f"another package `rewardgen` {version('rewardgen')} is installed; {DISTRIBUTION} is this one"
        yield Check("package", "warn", detail, f"`pip uninstall rewardgen {DISTRIBUTION}`, then `{install_hint()}`")
    for name, problem in load_extras().items():
        yield Check("extra", "warn", f"`{name}` cannot be loaded: {problem}", "install another version of its package")
    yield Check("cpu", "ok", f"{usable_cores()} cores: as many trainings at once")
    with suppress(ValueError, OSError):
        free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        yield _room("memory", free, "close other programs")


def _disk(runs_dir: Path) -> Iterator[Check]:
    folder = next(path for path in (runs_dir.absolute(), *runs_dir.absolute().parents) if path.exists())
    try:
        with tempfile.TemporaryFile(dir=folder):
            yield Check("runs folder", "ok", f"{runs_dir} can be written")
    except OSError as problem:
        error = explain_os_error(runs_dir, problem, "--runs-dir")
        yield Check("runs folder", "fail", error.message, error.hint)
    yield _room("disk", shutil.disk_usage(folder).free, "free some space, or name another folder with `--runs-dir`")


def _room(name: str, free: int, hint: str) -> Check:
    detail = f"{free / _GIB:.1f} GiB free"
    return Check(name, "ok", detail) if free >= _ROOM else Check(name, "warn", detail, hint)


def _gpu() -> Iterator[Check]:
    done = subprocess.run(python_command("-c", _ASK_TORCH), capture_output=True, text=True)
    if done.returncode:
        yield Check("torch", "fail", done.stderr.strip().rpartition("\n")[2], "install torch again")
        return
    name = done.stdout.strip()
    if not name and glob("/dev/nvidia[0-9]*"):
        yield Check("gpu", "warn", "torch does not see the GPU", f"install {_CUDA}")
    elif not name:
        yield Check("gpu", "ok", "none; none is needed")
    elif not find_spec("mujoco_warp"):
        yield Check("gpu", "ok", f"{name}; not used without MuJoCo Warp", f"`{install_hint('gpu')}`")
    else:
        yield Check("gpu", "ok", f"{name}; `run --device cuda` trains on it")
        with scratch_folder() as scratch:
            try:
                layers_in_force(scratch, Limits(wall_s=_FIRST_S), gpu=True)
                yield Check("sandbox: cuda", "ok", "a confined worker computed on the GPU")
            except RewardgenError as error:
                yield Check("sandbox: cuda", "fail", error.message, f"install {_CUDA}, or train with `--device cpu`")


def _sandbox() -> Iterator[Check]:
    with scratch_folder() as scratch:
        try:
            report = layers_in_force(scratch)
        except RewardgenError as error:
            yield Check("workers", "fail", error.message, error.hint)
            return
        for layer in report.layers:
            if layer.active:
                yield Check(f"sandbox: {layer.name}", "ok", layer.detail)
            else:
                yield Check(f"sandbox: {layer.name}", "warn", f"not in force: {layer.detail}", _UNTRUSTED)
        if reached := escapes(scratch):
            state = "warn" if report.missing else "fail"
            yield Check("sandbox: escapes", state, f"a worker can {', '.join(reached)} outside", _UNTRUSTED)
        else:
            text = "a worker failed to read, write, connect and start a process outside"
            yield Check("sandbox: escapes", "ok", text)


def _films() -> Check:
    if backend := renderer():
        return Check("films", "ok", f"rendered by {backend}")
    return Check("films", "warn", f"{NO_OPENGL}, so there are no films", INSTALL_OPENGL)


def _keys() -> Check:
    names = sorted(name for name, value in os.environ.items() if name.endswith("_API_KEY") and value)
    return Check("api keys", "ok", ", ".join(names) or "none; the built-in designer and local servers need none")


def _model(model: str, api_base: str | None, runs_dir: Path) -> Check:
    """Check that a run with this model could begin, without a call."""
    if model == BUILTIN:
        return Check("model", "ok", "the built-in designer needs no language model")
    try:
        make_llm(RunConfig(task="cartpole", model=model, api_base=api_base), RunFolder(runs_dir / "doctor"))
    except RewardgenError as error:
        return Check("model", "fail", error.message, error.hint)
    return Check("model", "ok", f"{model}: known, and its key is set, or none is needed; no call was made")
