"""The benchmark's side of a contender: a process of its own, with its threads under control, that measures when told.

Contenders are prepared at the same time and measured one after the other, so none of them disturbs another's time.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any

from rewardgen.core import errors
from rewardgen.core.errors import RewardgenError, WorkerError
from rewardgen.sandbox.environment import worker_environment

_TAIL_BYTES = 2000


class Contender:
    """One contender in its own process, started with one thread for everything that reads such settings.

    Args:
        kind: Its name in `benchmarks.worker.KINDS`.
        scratch: Folder for what it prints and writes.
    """

    def __init__(self, kind: str, scratch: Path) -> None:
        self._kind = kind
        self._log_path = scratch / f"{kind}-{id(self)}.log"
        self._log = self._log_path.open("wb")
        self._process = _spawn(kind, scratch, self._log)

    def begin(self, request: str, /, **arguments: object) -> None:
        """Ask for something without waiting for the answer.

        Args:
            request: What to do: a method of the contender.
            **arguments: Its arguments; JSON.
        """
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # then the answer is missing, and says why
            self._process.stdin.write(json.dumps({"do": request, "arguments": arguments}).encode() + b"\n")
            self._process.stdin.flush()

    def answer(self) -> dict[str, Any]:
        """Wait for the answer to what was asked.

        Raises:
            WorkerError: The process died.
            RewardgenError: What the contender itself raised, of the same class.
        """
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise WorkerError(f"the benchmark's {self._kind} process died\n{self._tail()}", "run it with `--debug`")
        found = json.loads(line)
        if "error" in found:
            raise _raised(found["error"])
        return found["answer"]

    def ask(self, request: str, /, **arguments: object) -> dict[str, Any]:
        """Ask for something and wait for the answer."""
        self.begin(request, **arguments)
        return self.answer()

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._log):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()

    def _tail(self) -> str:
        return self._log_path.read_bytes()[-_TAIL_BYTES:].decode(errors="replace").strip()


def _spawn(kind: str, scratch: Path, log: IO[bytes]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "benchmarks.worker", kind],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=log,
        cwd=scratch,  # MuJoCo logs warnings to a file in the working folder
        env=worker_environment(scratch),
    )


def _raised(error: Mapping[str, str]) -> RewardgenError:
    found = getattr(errors, error["type"], RewardgenError)
    return found(error["message"], error["hint"])


@contextlib.contextmanager
def contenders(kinds: Mapping[str, str]) -> Iterator[dict[str, Contender]]:
    """Processes by name; they end with the block.

    Args:
        kinds: Name of each to its kind, one of `benchmarks.worker.KINDS`.
    """
    with TemporaryDirectory(prefix="rewardgen-bench-") as folder, contextlib.ExitStack() as stack:
        found: dict[str, Contender] = {}
        for name, kind in kinds.items():
            found[name] = Contender(kind, Path(folder).resolve())
            stack.callback(found[name].close)
        yield found
