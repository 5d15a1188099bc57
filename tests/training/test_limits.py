"""A candidate whose training passes a limit of its worker has failed by that limit; nothing else is harmed or left."""

import sys

import pytest

from rewardgen.sandbox.process import Limits
from tests.training.hostile import train, workers_in

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc, and limits on memory")
MISBEHAVE = "misdeeds.MISDEEDS[{!r}](lambda message: None)"
HIDE = """
for number in range(30):
    os.mkdir("deeper")
    os.chdir("deeper")
    os.mkdir("x" * 200)
    os.chdir("x" * 200)
time.sleep(3600)
"""

CASES = {
    "memory": ("allocate", {"memory_bytes": 600 << 20}, "memory", ""),
    "CPU time": ("spin", {"cpu_s": 2.0}, "timeout", "2 s of CPU time"),
    "size of a file": ("fill", {"file_bytes": 8 << 20}, "crash", "File too large"),
    "size of its answer": ("flood", {"answer_bytes": 1 << 18}, "crash", "sent more than 262144 bytes"),
}
"""One for each way in which a limit shows; `tests/sandbox` has them all."""


def check_alone(heard, kind, said):
    assert heard.failure and heard.failure.kind == kind and said in heard.failure.message
    assert heard.failure.message.startswith("the train worker")
    assert heard.results["good", 0].failure is None and heard.results["good", 0].final_fitness is not None
    assert workers_in(heard.scratch) == []
    assert {path.name for path in heard.left()} == {"worker.log"}
    assert sum(path.stat().st_size for path in heard.left()) <= 1 << 20


@pytest.mark.parametrize("limit", CASES)
def test_passing_a_limit_is_that_candidates_failure_and_nothing_is_left(tmp_path, limit):
    misdeed, limits, kind, said = CASES[limit]
    if misdeed == "flood":
        misdeed = "while True: self._slices._report({'noise': 'x' * (1 << 18)})"
    else:
        misdeed = MISBEHAVE.format(misdeed)
    # In processes of their own: together they would have the time of both.
    heard = train(tmp_path, misdeed, limits=Limits(**{"wall_s": 60.0, **limits}), isolate=True)
    check_alone(heard, kind, said)


def test_files_nested_deeper_than_paths_can_be_are_not_overlooked(tmp_path):
    heard = train(tmp_path, HIDE, limits=Limits(wall_s=60.0), isolate=True)
    check_alone(heard, "crash", "or hid some")


def test_one_that_passes_a_limit_among_others_fails_alone(tmp_path):
    heard = train(tmp_path, MISBEHAVE.format("litter"), limits=Limits(wall_s=60.0, folder_entries=500))
    check_alone(heard, "crash", "more than 500 files")
