"""How far trainings are, through a file: whole, bounded, and harmless whoever wrote it."""

import os

import pytest

from rewardgen.store.events import Event
from rewardgen.store.progress import LiveProgress, ProgressFile, ProgressReader


def told(steps, id="g00-k1", seed=0, **more):
    message = {"phase": "search", "candidate_id": id, "seed": seed, "env_steps": steps, "fitness": steps / 1000}
    return message | {"success_rate": 0.5} | more


REVIEW = {"phase": "review", "candidate_id": "g00-k1", "gate": "probe"}


def test_a_reader_gets_what_was_told_and_nothing_twice(tmp_path):
    file, reader = ProgressFile(tmp_path / "progress.jsonl"), ProgressReader(tmp_path / "progress.jsonl")
    assert reader.new() == []
    file.progress(REVIEW)
    file.progress(told(1000))
    assert reader.new() == [REVIEW, told(1000)]
    file.progress(told(2000))
    assert reader.new() == [told(2000)] and reader.new() == []
    file.remove()
    file.progress(told(1000, "g01-k1"))
    assert reader.new() == [told(1000, "g01-k1")]


def test_the_file_never_grows_beyond_its_limit(tmp_path):
    path = tmp_path / "progress.jsonl"
    file, reader, live = ProgressFile(path), ProgressReader(path), LiveProgress()
    largest = 0
    for number in range(1, 4000):
        file.progress(told(number))
        largest = max(largest, path.stat().st_size)
        if number % 500 == 0:
            for message in reader.new():
                live.progress(message)
    assert largest <= 1 << 18
    (message,) = live.messages.values()
    assert message["env_steps"] == 3500 and len(message["course"]) == 64


def test_the_file_begins_anew_with_other_trainings_and_what_is_past_is_forgotten(tmp_path):
    file, live = ProgressFile(tmp_path / "progress.jsonl"), LiveProgress()
    for each in (file, live):
        each.progress(told(1000))
        each.event(Event(kind="generation-started", at="", elapsed_s=0.0))
    assert not live.messages and not (tmp_path / "progress.jsonl").exists()


def test_a_training_that_is_begun_anew_has_the_course_of_its_new_beginning():
    live = LiveProgress()
    for steps in (1000, 2000, 3000, 1000, 2000):
        live.progress(told(steps))
    assert [point[0] for point in live.messages["search", "g00-k1", 0]["course"]] == [1000, 2000]


@pytest.mark.parametrize("more", [{"fitness": float("nan")}, {"fitness": None}, {"lap": 3}, {"env_steps": "many"}])
def test_what_a_trainer_from_elsewhere_tells_of_itself_ends_nothing(tmp_path, more):
    file, live = ProgressFile(tmp_path / "progress.jsonl"), LiveProgress()
    file.progress(told(1000, **more))
    assert ProgressReader(tmp_path / "progress.jsonl").new() == []
    if "env_steps" not in more:
        live.progress(told(1000, **more))
        assert len(live.messages["search", "g00-k1", 0].get("course", ())) == ("lap" in more)


def test_a_file_that_cannot_be_written_ends_nothing(tmp_path):
    (tmp_path / "elsewhere").touch()
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    for path in (tmp_path / "missing" / "progress.jsonl", tmp_path, tmp_path / "link"):
        ProgressFile(path).progress(told(1000))
    assert not (tmp_path / "elsewhere").read_bytes()


LINES = [
    b"[" * 100_000,
    b"\xff\xfe",
    b'{"training": {"phase": "search", "candidate_id": "a", "seed": 0, "env_steps": 1e999, "fitness": NaN}}',
    b'{"review": {"phase": "review", "candidate_id": "a", "gate": "\\u001b[2J"}}',
    b'{"unknown": 1}',
]


@pytest.mark.parametrize("line", LINES, ids=range(len(LINES)))
def test_a_malformed_line_is_passed_over(tmp_path, line):
    path = tmp_path / "progress.jsonl"
    ProgressFile(path).progress(REVIEW)
    path.write_bytes(line + b"\n" + path.read_bytes() + b'{"training": {"phase"')
    assert ProgressReader(path).new() == [REVIEW]


@pytest.mark.parametrize("kind", ["link", "pipe", "folder", "large"])
def test_what_is_no_plain_small_file_is_not_read(tmp_path, kind):
    path = tmp_path / "progress.jsonl"
    ProgressFile(tmp_path / "real").progress(REVIEW)
    match kind:
        case "link":
            path.symlink_to(tmp_path / "real")
        case "pipe":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
        case "large":
            path.write_bytes((tmp_path / "real").read_bytes() * 5000)
    assert ProgressReader(path).new() == []
