"""What a worker says is taken in as one short line, and its errors by a list of classes."""

import pytest

from rewardgen.core import errors
from rewardgen.core.errors import RewardgenError, WorkerError
from rewardgen.sandbox.answers import MESSAGE_CHARS, raised

TAKEN = {"UsageError", "TaskError", "RunFolderError", "SandboxError"}
ALL = {name for name, each in vars(errors).items() if isinstance(each, type) and issubclass(each, RewardgenError)}


def answered(**value):
    return raised("train", value, "runs/scratch/worker.log")


@pytest.mark.parametrize("name", sorted(ALL | {"KeyboardInterrupt", "Exception", "WorkerCancelled", "did_you_mean"}))
def test_only_what_jobs_raise_for_the_user_keeps_its_class(name):
    error = answered(type=name, message="broken", hint="fix it")
    assert type(error) is (getattr(errors, name) if name in TAKEN else WorkerError)
    assert "broken" in error.message and error.hint == "fix it"


@pytest.mark.parametrize(
    "value", [{}, {"type": None}, {"type": ["TaskError"], "message": {"a": 1}, "hint": 5}], ids=str
)
def test_any_error_at_all_can_be_told(value):
    error = answered(**value)
    assert type(error) is WorkerError and error.hint


def test_texts_of_a_worker_are_one_printable_line_of_bounded_length():
    error = answered(type="TaskError", message="one\n\x1b[2J two\u202e" + 10**6 * "!", hint="\x00")
    assert error.message.startswith("one [2J two !!!") and len(error.message) == MESSAGE_CHARS
    assert error.message.isprintable() and error.hint == ""
