"""Tries environments of other packages as a user would, without a line of code, and prints what came of it as a table.

    python scripts/third_party.py                        # installs each package, over what is installed here
    python scripts/third_party.py --python VENV/bin/python --only minigrid    # in an environment that has them

Each is checked (`rewardgen tasks check`), then a tiny search is run on it with the built-in designer and the trainer
`sb3-ppo`. What does not work must say which line is missing. The exit status is 1 if anything ends otherwise: with a
traceback, with an error without a hint, or after ten minutes.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import NamedTuple

PACKAGES = {
    "minigrid": "minigrid:MiniGrid-Empty-5x5-v0",
    "flappy-bird-gymnasium": "flappy_bird_gymnasium:FlappyBird-v0",
    "panda-gym": "panda_gym:PandaReach-v3",
    "gym-anytrading": "gym_anytrading:stocks-v0",
    "gymnasium-robotics": "gymnasium_robotics:PointMaze_UMaze-v3",
    "gym-pusht": "gym_pusht:gym_pusht/PushT-v0",
    "gym-xarm": "gym_xarm:gym_xarm/XarmLift-v0",
    "mo-gymnasium": "mo_gymnasium:mo-mountaincar-v0",
    "safety-gymnasium": "safety_gymnasium:SafetyPointGoal1-v0",
    "miniworld": "miniworld:MiniWorld-Hallway-v0",
    "ale-py": "ale_py:ALE/Pong-v5",
    "highway-env": "highway_env:highway-fast-v0",
}
"""Name on PyPI to an environment."""
TINY = ["--generations", "1", "--candidates", "2", "--seeds", "1", "--leaders", "1", "--final-seeds", "1"]
TINY += ["--env-steps", "1024", "--workers", "1", "--trainer", "sb3-ppo", "--no-films"]
_PATIENCE_S = 600.0


class Ended(NamedTuple):
    """How a command ended: in a word or two, with what it says of an error, and whether that is as it should be."""

    word: str
    says: str = ""
    sound: bool = True


def main() -> int:
    """Try them, a row each."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--python", help="of an environment that has rewardgen and the packages; else one is made")
    parser.add_argument("--only", nargs="+", choices=PACKAGES, default=list(PACKAGES), metavar="PACKAGE")
    asked = parser.parse_args()
    sound = True
    with tempfile.TemporaryDirectory(prefix="third-party-") as name:
        folder = Path(name)
        python = asked.python or _environment(folder / "venv")
        print(
            "| package | environment | `tasks check` | tiny `run` | what it says |\n|---|---|---|---|---|", flush=True
        )
        for package in asked.only:
            id = PACKAGES[package]
            installed = None if asked.python else _installed(python, package)
            ends = [installed] * 2 if installed else _tried(python, id, folder / package)
            sound &= all(each.sound for each in ends)
            says = next((each.says for each in ends if each.says), "")
            print(
                f"| {package} {_version(python, package)} | `{id}` | {ends[0].word} | {ends[1].word} | {says} |",
                flush=True,
            )
    return 0 if sound else 1


def _tried(python: str, id: str, folder: Path) -> list[Ended]:
    checked = _ended([python, "-m", "rewardgen", "tasks", "check", id], folder)
    return [checked, _ended([python, "-m", "rewardgen", "run", id, *TINY, "--yes"], folder)]


def _environment(place: Path) -> str:
    """A virtual environment that sees what is installed here; its Python."""
    subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
    python = str(place / "bin" / "python")
    own = subprocess.check_output(
        [python, "-c", "import sysconfig; print(sysconfig.get_paths()['purelib'])"], text=True
    )
    Path(own.strip(), "base.pth").write_text(f"import site; site.addsitedir({sysconfig.get_paths()['purelib']!r})\n")
    return python


def _installed(python: str, package: str) -> Ended | None:
    """What went wrong; None if nothing did. What rewardgen is pinned to stays as it is."""
    pip = [python, "-m", "pip", "install", "-q", "-c", str(Path(__file__).resolve().parents[1] / "constraints.txt")]
    for how in ([], ["--no-deps"]):  # of one that wants other releases, what is said then is of interest
        done = subprocess.run([*pip, *how, package], capture_output=True, text=True)
        if done.returncode == 0:
            return None
    return Ended("not installed", (done.stderr.strip().splitlines() or [""])[-1][:150])


def _version(python: str, package: str) -> str:
    command = f"from importlib.metadata import version; print(version({package!r}))"
    return subprocess.run([python, "-c", command], capture_output=True, text=True).stdout.strip()


def _ended(command: list[str], folder: Path) -> Ended:
    folder.mkdir(exist_ok=True)
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=_PATIENCE_S)
    except subprocess.TimeoutExpired:
        return Ended("no end", f"not in {_PATIENCE_S:g} s", sound=False)
    told = done.stdout + done.stderr
    if done.returncode == 0:
        return Ended("works")
    error, _, hint = (told.partition("error:")[2] or told[-1500:]).partition("hint:")
    said = " ".join(f"{error} hint: {hint}".split())[:400]
    return Ended("error", said.replace("|", "\\|"), sound=bool(error and hint) and "Traceback" not in told)


if __name__ == "__main__":
    sys.exit(main())
