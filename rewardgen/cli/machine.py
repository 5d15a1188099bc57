"""Looks at the machine: what `rewardgen` needs, what it can use, and what its sandbox can and cannot do here."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Literal, NamedTuple, cast

from rewardgen.core.config import BUILTIN, RunConfig
from rewardgen.core.errors import RewardgenError
from rewardgen.core.files import explain_os_error
from rewardgen.core.provenance import provenance, usable_cores
from rewardgen.llm.factory import make_llm
from rewardgen.sandbox.selftest import check_limits, escapes, layers_in_force, start_seconds
from rewardgen.store.run_folder import RunFolder

_GIB = 1 << 30
_ROOM = 2 * _GIB
"""Memory and disk below which a run is likely to get into trouble [bytes]."""

_UNTRUSTED = "the reward language still keeps generated code in; run rewards of unknown origin on a recent Linux"

_ASK_TORCH = """
import torch
if torch.cuda.is_available():
    print("; ".join(torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())))
"""


class Check(NamedTuple):
    """One thing that was looked at."""

    name: str
    state: Literal["ok", "warn", "fail"]
    detail: str
    hint: str = ""


def examine(runs_dir: Path, model: str | None = None) -> list[Check]:
    """Look at everything; takes some seconds.

    Args:
        runs_dir: Where runs would be kept.
        model: A model string to judge too.
    """
    checks = [_python(), *_packages(), _cores(), _memory(), _runs_dir(runs_dir), _disk(runs_dir), _gpu(), *_sandbox()]
    checks.append(_api_keys())
    return [*checks, _model(model, runs_dir)] if model is not None else checks


def _python() -> Check:
    version = platform.python_version()
    if (3, 11) <= sys.version_info[:2] < (3, 14):
        return Check("python", "ok", f"{version}, {platform.platform()}")
    return Check("python", "fail", version, "use Python 3.11, 3.12 or 3.13")


def _packages() -> list[Check]:
    versions = cast("dict[str, str | None]", provenance()["packages"])
    return [
        Check(name, "ok", version)
        if version
        else Check(name, "fail", "not installed", "`pip install -c constraints.txt -e .`")
        for name, version in versions.items()
    ]


def _cores() -> Check:
    cores = usable_cores()
    if cores > 1:
        return Check("cpu", "ok", f"{cores} cores: as many trainings at once")
    return Check("cpu", "warn", "1 core", "give the process more cores, or expect long trainings")


def _memory() -> Check:
    try:
        free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError):
        return Check("memory", "ok", "cannot be told on this platform")
    text = f"{free / _GIB:.1f} GiB free"
    return Check("memory", "ok", text) if free >= _ROOM else Check("memory", "warn", text, "close other programs")


def _runs_dir(runs_dir: Path) -> Check:
    """Whether a file can be written there, or where the folder would be made."""
    try:
        with tempfile.TemporaryFile(dir=_existing(runs_dir)):
            return Check("runs folder", "ok", f"{runs_dir} can be written")
    except OSError as found:
        error = explain_os_error(runs_dir, found)
        return Check("runs folder", "fail", error.message, error.hint)


def _disk(runs_dir: Path) -> Check:
    free = shutil.disk_usage(_existing(runs_dir)).free
    text = f"{free / _GIB:.1f} GiB free for {runs_dir}"
    if free >= _ROOM:
        return Check("disk", "ok", text)
    return Check("disk", "warn", text, "free some space, or choose another folder with `--runs-dir`")


def _existing(path: Path) -> Path:
    """The path, or its nearest ancestor that exists."""
    return next(each for each in (path.absolute(), *path.absolute().parents) if each.exists())


def _gpu() -> Check:
    done = subprocess.run([sys.executable, "-c", _ASK_TORCH], capture_output=True, text=True)
    if done.returncode:
        return Check("torch", "fail", done.stderr.strip().rpartition("\n")[2], "install torch again")
    name = done.stdout.strip()
    return Check("gpu", "ok", f"{name}; not used yet, training runs on the CPU" if name else "none; none is needed")


def _sandbox() -> list[Check]:
    """How workers start, the limits that are in force, tried on live workers, then what is not in force."""
    with tempfile.TemporaryDirectory(prefix="rewardgen-") as scratch:
        started = _start(Path(scratch))
        if started.state == "fail":
            return [started]
        held = [
            Check(f"sandbox: {each.name}", "ok", f"held when it was tried: {each.detail}")
            if each.held
            else Check(f"sandbox: {each.name}", "fail", each.detail, "do not run rewards that you have not read")
            for each in check_limits(Path(scratch))
        ]
        return [started, *held, *_layers(Path(scratch))]


def _start(scratch: Path) -> Check:
    """Whether a worker starts at all, and how soon once the process that they are forked from is warm."""
    name = "workers"
    try:
        first, again = start_seconds(scratch)
    except RewardgenError as error:
        return Check(name, "fail", error.message, error.hint)
    return Check(name, "ok", f"the first one of a run starts in {first:.1f} s, the next ones in {again:.2f} s each")


def _layers(scratch: Path) -> list[Check]:
    """What keeps a worker in, as one tells it, and what one can do that tries to get out."""
    report = layers_in_force(scratch)
    checks = [
        Check(f"sandbox: {each.name}", "ok", each.detail)
        if each.active
        else Check(f"sandbox: {each.name}", "warn", f"not in force: {each.detail}", _UNTRUSTED)
        for each in report.layers
    ]
    return [*checks, _escapes(scratch, bool(report.missing))]


def _escapes(scratch: Path, expected: bool) -> Check:
    name = "sandbox: escapes"
    if found := escapes(scratch):
        return Check(name, "warn" if expected else "fail", f"a worker can {', '.join(found)} outside", _UNTRUSTED)
    return Check(name, "ok", "a worker that tried to read, write, connect and start a process outside could not")


def _api_keys() -> Check:
    names = sorted(name for name, value in os.environ.items() if name.endswith("_API_KEY") and value)
    return Check("api keys", "ok", ", ".join(names) or "none; the built-in designer and local servers need none")


def _model(model: str, runs_dir: Path) -> Check:
    """Whether a run with this model could begin; no call is made."""
    if model == BUILTIN:
        return Check("model", "ok", "the built-in designer needs no language model")
    try:
        make_llm(RunConfig(task="cartpole", model=model), RunFolder(runs_dir / "doctor"))
    except RewardgenError as error:
        return Check("model", "fail", error.message, error.hint)
    return Check("model", "ok", f"{model}: known, and its key is set; no call was made")
