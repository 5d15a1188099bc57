"""`rewardgen doctor`: what `rewardgen` needs, what it can use here, and what its sandbox can and cannot do."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
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
from rewardgen.core.provenance import provenance, usable_cores
from rewardgen.film.shooting import renderer
from rewardgen.llm.factory import make_llm
from rewardgen.sandbox.folders import scratch_folder, sweep_scratch
from rewardgen.sandbox.limits import Limits
from rewardgen.sandbox.selftest import escapes, layers_in_force
from rewardgen.store.run_folder import DEFAULT_RUNS_DIR, RunFolder, sweep_runs
from rewardgen.training.cache import sweep_cache
from rewardgen.ui.console import messages, results

_GIB = 1 << 30
_ROOM = 2 * _GIB
"""Memory and disk below which a run is likely to get into trouble [bytes]."""

_UNTRUSTED = "the reward language still keeps generated code in; run rewards of unknown origin on a recent Linux"

_ASK_TORCH = """
import torch
if torch.cuda.is_available():
    print("; ".join(torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())))
"""

_CUDA = "torch with CUDA from https://pytorch.org, and a driver for CUDA 13 or newer"

_FIRST_S = 180.0
"""Until a GPU has answered for the first time: with eight that sleep it may take a minute [s]."""

_STYLES = {"ok": "green", "warn": "yellow", "fail": "red"}


class Check(NamedTuple):
    """One thing that was looked at."""

    name: str
    state: Literal["ok", "warn", "fail"]
    detail: str
    hint: str = ""


def doctor(
    *,
    model: Annotated[str | None, Parameter(help="Also say whether this model string can be used.")] = None,
    api_base: Annotated[str | None, Parameter(help="Address of the server that has it.")] = None,
    clean: Annotated[bool, Parameter(negative="", help="First remove what killed runs have left behind.")] = False,
    runs_dir: RunsDir = DEFAULT_RUNS_DIR,
    json: Json = False,
) -> int:
    """Look at this machine."""
    swept = [*sweep_scratch(), *sweep_runs(runs_dir), *sweep_cache()] if clean else []
    found = [Check("litter", "ok", f"removed {path}") for path in swept]
    found += [*_machine(), *_disk(runs_dir), *_gpu(), *_sandbox(), _films(), _keys()]
    if model is not None:
        found.append(_model(model, api_base, runs_dir))
    failed = any(each.state == "fail" for each in found)
    if json:
        print_json({"healthy": not failed, "checks": [each._asdict() for each in found]})
        return 1 if failed else 0
    table = Table.grid(padding=(0, 2))
    for each in found:
        text = Text(each.detail)
        text.append(f"\nhint: {each.hint}" if each.hint else "", "dim")
        table.add_row(Text(each.state, _STYLES[each.state]), Text(each.name, no_wrap=True), text)
    results().print(table)
    if failed:
        messages().print("\nfix what failed, then run `rewardgen doctor` again")
    else:
        next_steps(("run cartpole", "searches for a reward, without a language model"))
    return 1 if failed else 0


def _machine() -> Iterator[Check]:
    """Python and its packages, processor and memory."""
    python = platform.python_version()
    if (3, 11) <= sys.version_info[:2] < (3, 14):
        yield Check("python", "ok", f"{python}, {platform.platform()}")
    else:
        yield Check("python", "fail", python, "use Python 3.11, 3.12 or 3.13")
    for name, installed in cast("dict[str, str | None]", provenance()["packages"]).items():
        if installed:
            yield Check(name, "ok", installed)
        else:
            yield Check(name, "fail", "not installed", f"`{install_hint()}`")
    yield from _packages()
    if (cores := usable_cores()) > 1:
        yield Check("cpu", "ok", f"{cores} cores: as many trainings at once")
    else:
        yield Check("cpu", "warn", "1 core", "give the process more cores, or expect long trainings")
    try:
        free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError):
        yield Check("memory", "ok", "cannot be told on this platform")
    else:
        yield _room("memory", free, f"{free / _GIB:.1f} GiB free", "close other programs")


def _packages() -> Iterator[Check]:
    """The other package called `rewardgen`, which replaces files of this one, and extras that cannot be loaded."""
    with suppress(PackageNotFoundError):
        detail = f"the package `rewardgen` {version('rewardgen')} is installed; {DISTRIBUTION} is this one"
        yield Check("package", "warn", detail, f"`pip uninstall rewardgen {DISTRIBUTION}`, then `{install_hint()}`")
    for name, problem in load_extras().items():
        yield Check("extra", "warn", f"`{name}` cannot be loaded: {problem}", "install another version of its package")


def _disk(runs_dir: Path) -> Iterator[Check]:
    """Whether a file can be written where runs are kept or would be, and how much room there is."""
    place = next(each for each in (runs_dir.absolute(), *runs_dir.absolute().parents) if each.exists())
    try:
        with tempfile.TemporaryFile(dir=place):
            yield Check("runs folder", "ok", f"{runs_dir} can be written")
    except OSError as found:
        error = explain_os_error(runs_dir, found)
        yield Check("runs folder", "fail", error.message, error.hint)
    free, hint = shutil.disk_usage(place).free, "free some space, or choose another folder with `--runs-dir`"
    yield _room("disk", free, f"{free / _GIB:.1f} GiB free for {runs_dir}", hint)


def _room(name: str, free: int, text: str, hint: str) -> Check:
    return Check(name, "ok", text) if free >= _ROOM else Check(name, "warn", text, hint)


def _gpu() -> Iterator[Check]:
    """Whether torch sees one, and whether a confined worker can compute there."""
    done = subprocess.run([sys.executable, "-c", _ASK_TORCH], capture_output=True, text=True)
    if done.returncode:
        yield Check("torch", "fail", done.stderr.strip().rpartition("\n")[2], "install torch again")
        return
    name = done.stdout.strip()
    if not name and glob("/dev/nvidia[0-9]*"):
        yield Check("gpu", "warn", "there is one, and torch does not see it", f"install {_CUDA}")
    elif not name:
        yield Check("gpu", "ok", "none; none is needed")
    elif not find_spec("mujoco_warp"):
        yield Check("gpu", "ok", f"{name}; not used without MuJoCo Warp", f"`{install_hint('gpu')}`")
    else:
        yield Check("gpu", "ok", f"{name}; MuJoCo Warp is installed, `run --device cuda` trains on it")
        with scratch_folder() as scratch:
            yield _on_gpu(scratch)


def _on_gpu(scratch: Path) -> Check:
    try:
        report = layers_in_force(scratch, Limits(wall_s=_FIRST_S), gpu=True)
    except RewardgenError as error:
        try:
            layers_in_force(scratch, Limits(wall_s=_FIRST_S, sandbox="off"), gpu=True)
        except RewardgenError:
            return Check("sandbox: cuda", "fail", error.message, f"install {_CUDA}")
        what = f"the sandbox is in the way, without it a worker computes there: {error.message}"
        return Check(
            "sandbox: cuda", "fail", what, "`run --sandbox off --device cuda`, with rewards that you have read"
        )
    there = ", ".join(each.name for each in report.layers if each.active)
    return Check("sandbox: cuda", "ok", f"a worker computed on the GPU behind {there}")


def _sandbox() -> Iterator[Check]:
    """The layers in force in a worker, and the attempts of one to break out."""
    with scratch_folder() as scratch:
        try:
            report = layers_in_force(scratch)
        except RewardgenError as error:
            yield Check("workers", "fail", error.message, error.hint)
            return
        for each in report.layers:
            if each.active:
                yield Check(f"sandbox: {each.name}", "ok", each.detail)
            else:
                yield Check(f"sandbox: {each.name}", "warn", f"not in force: {each.detail}", _UNTRUSTED)
        if found := escapes(scratch):
            state = "warn" if report.missing else "fail"
            yield Check("sandbox: escapes", state, f"a worker can {', '.join(found)} outside", _UNTRUSTED)
        else:
            text = "a worker that tried to read, write, connect and start a process outside could not"
            yield Check("sandbox: escapes", "ok", text)


def _films() -> Check:
    """Whether films are rendered or drawn."""
    if found := renderer():
        return Check("films", "ok", f"rendered by {found}")
    hint = "on Debian or Ubuntu: `apt install libegl1 libgl1-mesa-dri`, or `libosmesa6`; no display or GPU is needed"
    return Check("films", "warn", "OpenGL does not render without a display here, so robots are drawn", hint)


def _keys() -> Check:
    names = sorted(name for name, value in os.environ.items() if name.endswith("_API_KEY") and value)
    return Check("api keys", "ok", ", ".join(names) or "none; the built-in designer and local servers need none")


def _model(model: str, api_base: str | None, runs_dir: Path) -> Check:
    """Whether a run with this model could begin; no call is made."""
    if model == BUILTIN:
        return Check("model", "ok", "the built-in designer needs no language model")
    try:
        make_llm(RunConfig(task="cartpole", model=model, api_base=api_base), RunFolder(runs_dir / "doctor"))
    except RewardgenError as error:
        return Check("model", "fail", error.message, error.hint)
    return Check("model", "ok", f"{model}: known, and its key is set, or none is needed; no call was made")
