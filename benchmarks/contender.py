"""A contender: a process of its own, with its threads under control, that measures when told.

Contenders are prepared at the same time and measured one after the other, so none of them disturbs another's time.
The process is `python -m benchmarks.contender KIND`: a request per line in, an answer per line out. Whatever libraries
print goes to stderr, so that stdout holds answers only.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rewardgen.core import errors
from rewardgen.core.errors import RewardgenError, WorkerError
from rewardgen.sandbox.environment import worker_environment

KINDS = {
    "ours": "benchmarks.stepping:Ours",
    "c-loop": "benchmarks.stepping:CLoop",
    "gymnasium": "benchmarks.vector_envs:GymnasiumSync",
    "sb3": "benchmarks.vector_envs:Sb3Dummy",
    "sb3-training": "benchmarks.sb3_training:Sb3Training",
    "memory": "benchmarks.memory:Memory",
}
"""Kind of a contender to the class that does its work."""
ROOT = Path(__file__).parent.parent
_TAIL_BYTES = 2000


class Contender:
    """One contender in its own process, started with one thread for everything that reads such settings.

    Args:
        kind: Its name in `KINDS`.
        scratch: Folder for what it prints and writes.
    """

    def __init__(self, kind: str, scratch: Path) -> None:
        self._kind = kind
        self._log_path = scratch / f"{kind}-{id(self)}.log"
        self._log = self._log_path.open("wb")
        environment = worker_environment(scratch)
        environment["PYTHONPATH"] = f"{ROOT}{os.pathsep}{environment['PYTHONPATH']}"
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "benchmarks.contender", kind],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            cwd=scratch,  # MuJoCo logs warnings to a file in the working folder
            env=environment,
        )

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
            printed = self._log_path.read_bytes()[-_TAIL_BYTES:].decode(errors="replace").strip()
            raise WorkerError(f"the benchmark's {self._kind} process died\n{printed}", "fix what it printed")
        found = json.loads(line)
        if "error" in found:
            kind = getattr(errors, found["error"]["type"], RewardgenError)
            raise kind(found["error"]["message"], found["error"]["hint"])
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


@contextlib.contextmanager
def contenders(kinds: Mapping[str, str]) -> Iterator[dict[str, Contender]]:
    """Processes by name; they end with the block.

    Args:
        kinds: Name of each to its kind, one of `KINDS`.
    """
    with TemporaryDirectory(prefix="rewardgen-bench-") as folder, contextlib.ExitStack() as stack:
        found: dict[str, Contender] = {}
        for name, kind in kinds.items():
            found[name] = Contender(kind, Path(folder).resolve())
            stack.callback(found[name].close)
        yield found


def main(kind: str) -> None:
    """Answer requests until there are no more."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    module, _, name = KINDS[kind].partition(":")
    contender = getattr(importlib.import_module(module), name)()
    for line in sys.stdin:
        print(json.dumps(_answer(contender, json.loads(line))), file=answers)


def _answer(contender: Any, request: dict[str, Any]) -> dict[str, Any]:
    try:
        return {"answer": getattr(contender, request["do"])(**request["arguments"])}
    except RewardgenError as error:
        return {"error": {"type": type(error).__name__, "message": error.message, "hint": error.hint}}


if __name__ == "__main__":
    main(sys.argv[1])
