"""Kills runs at random moments and resumes them; each must end with what an undisturbed run ends with.

    python scripts/kill_resume.py --trials 30

A trial is a run with 1, 2 or 3 workers that meets one to three kills: of the whole process group, of the orchestrator
alone, of all its workers, or a Ctrl-C. Then it is resumed until it is finished, and compared with a run that nobody
disturbed: rewards, verdicts, every training's curve and fitness, analyses, rankings, the closing table. Processes that
outlive their orchestrator count as failures too. The exit status is 1 if any trial differs.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rewardgen.store.history import History
from rewardgen.store.run_folder import EVENTS, RunFolder

SEARCH = ["--generations", "2", "--candidates", "3", "--seeds", "2", "--seed", "5"]
SEARCH += ["--final-seeds", "2", "--no-films"]  # nothing compares films
PATIENCE_S = 600.0


def main() -> int:
    """Run the trials, a line each."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--trials", type=int, default=30)
    parser.add_argument("--task", default="cartpole")
    parser.add_argument("--env-steps", type=int, default=8000)
    parser.add_argument("--seed", type=int, default=0, help="of the moments and kinds of the kills")
    asked = parser.parse_args()
    command = ["run", asked.task, *SEARCH, "--env-steps", str(asked.env_steps)]
    draw = random.Random(asked.seed)
    with tempfile.TemporaryDirectory(prefix="kill-resume-") as name:
        undisturbed = Trial(Path(name, "undisturbed"), command, workers=2)
        began = time.monotonic()
        undisturbed.finish()
        lasts_s = time.monotonic() - began
        expected = undisturbed.outcome()
        print(f"undisturbed: {lasts_s:.1f} s, chosen {expected['summary']['chosen']}", flush=True)
        bad = 0
        for number in range(asked.trials):
            trial = Trial(Path(name, str(number)), command, workers=draw.choice((1, 2, 3)))
            kills = [trial.disturb(draw, lasts_s) for _ in range(draw.randint(1, 3))]
            trial.finish()
            differs = [part for part, value in trial.outcome().items() if value != expected[part]]
            bad += bool(differs or trial.orphans)
            told = f"differs in {', '.join(differs)}" if differs else "equal"
            told += f", {len(trial.orphans)} orphans" if trial.orphans else ""
            print(f"{number + 1:3d}: {trial.workers} workers, {'; '.join(kills)}: {told}", flush=True)
    print(f"{asked.trials - bad} of {asked.trials}")
    return 1 if bad else 0


class Trial:
    """One run in a folder of its own.

    Args:
        folder: Holds the run's folder.
        command: The arguments of `rewardgen` that start the run.
        workers: Its training processes.
    """

    def __init__(self, folder: Path, command: list[str], workers: int) -> None:
        self.workers = workers
        self.orphans: list[int] = []
        self._folder = folder
        self._start = [*command, "--workers", str(workers)]
        folder.mkdir()

    def disturb(self, draw: random.Random, lasts_s: float) -> str:
        """Start or resume the run and kill it somewhere, if it has not ended before; what was done, in words.

        Args:
            draw: Draws the moment and the kind.
            lasts_s: How long an undisturbed run takes [s].
        """
        how, after_s = draw.choice(sorted(KILLS)), draw.uniform(0.2, 0.8 * lasts_s)
        process = self._begun()
        try:
            process.wait(after_s)
        except subprocess.TimeoutExpired:
            below = descendants(process.pid)
            KILLS[how](process.pid, below)
            self._end(process, below if how != "workers" else [])
            return f"{how} after {after_s:.1f} s"
        return "ended before a kill"

    def finish(self) -> None:
        """Resume the run until it says that it has finished."""
        for _ in range(5):
            process = self._begun()
            self._end(process, [])
            if process.returncode == 0:
                return
        raise SystemExit(f"the run in {self._folder} does not come to its end: see log.txt there")

    def outcome(self) -> dict[str, Any]:
        """All that a run found out, without when, and by how many workers."""
        (path,) = self._runs()
        history = History.load(RunFolder(path))
        assert history.summary is not None
        return {
            "rewards": {key: each.source for key, each in history.designed.items()},
            "verdicts": history.reviewed,
            "trainings": {key: each.model_dump(exclude={"wall_s"}) for key, each in history.trained.items()},
            "analyses": history.studied,
            "generations": history.generations,
            "ranking": history.ranking,
            "summary": history.summary.model_dump(mode="json"),
        }

    def _runs(self) -> list[Path]:
        return [path for path in (self._folder / "runs").glob("*") if (path / EVENTS).exists()]

    def _begun(self) -> subprocess.Popen[bytes]:
        arguments = ["resume", "latest"] if self._runs() else self._start
        with open(self._folder / "log.txt", "ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "rewardgen", *arguments],
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def _end(self, process: subprocess.Popen[bytes], below: list[int]) -> None:
        process.wait(PATIENCE_S)
        deadline = time.monotonic() + 10.0
        while (left := [pid for pid in below if is_alive(pid)]) and time.monotonic() < deadline:
            time.sleep(0.05)
        self.orphans += left


def kill_workers(_: int, below: list[int]) -> None:
    """Kill the processes that a fork server of the run has forked, and leave the server."""
    for pid in below:
        if any(pid in children(other) for other in below):
            kill(pid, signal.SIGKILL)


KILLS: dict[str, Callable[[int, list[int]], None]] = {
    "group": lambda pid, below: [kill(each, signal.SIGKILL) for each in (pid, *below)] and None,
    "orchestrator": lambda pid, _: kill(pid, signal.SIGKILL),
    "workers": kill_workers,
    "Ctrl-C": lambda pid, _: kill(pid, signal.SIGINT),
}


def kill(pid: int, how: signal.Signals) -> None:
    """Send a signal to a process, if it is still there."""
    try:
        os.kill(pid, how)
    except ProcessLookupError:
        return


def children(pid: int) -> list[int]:
    """The processes that a process has started."""
    try:
        tasks = [*Path(f"/proc/{pid}/task").iterdir()]
        return [int(child) for task in tasks for child in (task / "children").read_text().split()]
    except OSError:
        return []


def descendants(pid: int) -> list[int]:
    """All processes below a process."""
    found = children(pid)
    return found + [each for child in found for each in descendants(child)]


def is_alive(pid: int) -> bool:
    """Whether a process is there and has not ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


if __name__ == "__main__":
    sys.exit(main())
