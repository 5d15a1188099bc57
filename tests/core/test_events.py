import threading

import pytest

from rewardgen.core.errors import RunFolderError
from rewardgen.store.events import EventLog, read_events
from rewardgen.store.history import History
from rewardgen.store.journal import Journal, SilentListener


def test_what_was_appended_is_read_back_in_order(tmp_path):
    log = EventLog(tmp_path / "events.jsonl")
    log.append("generation-started", 1.0, {"generation": 0, "ids": ["g00-k0"]})
    log.append("interrupted", 2.5, {})
    events = read_events(tmp_path / "events.jsonl")
    assert [(each.kind, each.elapsed_s) for each in events] == [("generation-started", 1.0), ("interrupted", 2.5)]
    assert events[0].data["ids"] == ["g00-k0"]


def test_torn_last_line_is_left_out_and_overwritten_by_the_next_event(tmp_path):
    path = tmp_path / "events.jsonl"
    EventLog(path).append("interrupted", 1.0, {})
    with open(path, "ab") as file:
        file.write(b'{"kind": "run-resu')
    assert len(read_events(path)) == 1
    EventLog(path).append("run-resumed", 2.0, {})
    assert [each.kind for each in read_events(path)] == ["interrupted", "run-resumed"]


def test_damage_before_the_last_line_is_an_error_that_names_the_line(tmp_path):
    path = tmp_path / "events.jsonl"
    EventLog(path).append("interrupted", 1.0, {})
    path.write_bytes(path.read_bytes() + b"garbage\n")
    EventLog(path).append("run-resumed", 2.0, {})
    with pytest.raises(RunFolderError, match="line 2"):
        read_events(path)


def test_numbers_that_json_lacks_survive(tmp_path):
    EventLog(tmp_path / "e.jsonl").append("failed", 0.0, {"message": "x", "hint": "", "value": float("inf")})
    assert read_events(tmp_path / "e.jsonl")[0].data["value"] == float("inf")


def test_missing_log_is_an_error_with_a_hint(tmp_path):
    with pytest.raises(RunFolderError) as caught:
        read_events(tmp_path / "none.jsonl")
    assert "runs list" in caught.value.hint


def test_a_line_that_does_not_fit_on_the_disk_is_removed_again(tmp_path, small_disk):
    log = EventLog(small_disk / "events.jsonl")
    log.append("interrupted", 1.0, {})
    with pytest.raises(RunFolderError, match="disk is full"):
        log.append("failed", 2.0, {"message": "x" * 4_000_000, "hint": ""})
    assert [each.kind for each in read_events(small_disk / "events.jsonl")] == ["interrupted"]
    assert (small_disk / "events.jsonl").read_bytes().endswith(b"\n")


def test_events_from_several_threads_stay_whole_lines(tmp_path):
    journal = Journal(EventLog(tmp_path / "e.jsonl"), History(), SilentListener())
    threads = [threading.Thread(target=lambda: [journal.record("interrupted") for _ in range(25)]) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(read_events(tmp_path / "e.jsonl")) == 100
