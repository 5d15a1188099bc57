"""A contender's process: `python -m benchmarks.worker KIND`, a request per line in, an answer per line out.

Whatever libraries print goes to stderr, so that stdout holds answers only.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from typing import Any

from rewardgen.core.errors import RewardgenError

KINDS = {
    "ours": "benchmarks.stepping:Ours",
    "c-loop": "benchmarks.stepping:CLoop",
    "gymnasium": "benchmarks.gymnasium_stepping:GymnasiumSync",
    "sb3": "benchmarks.sb3_stepping:Sb3Dummy",
    "sb3-training": "benchmarks.sb3_training:Sb3Training",
    "memory": "benchmarks.memory:Memory",
    "reward-calls": "benchmarks.reward_calls:RewardCalls",
}
"""Kind of a contender to the class that does its work."""


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
