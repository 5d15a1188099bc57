"""A run folder that another version made is refused with a sentence, wherever it lies in the way."""

import json
import shutil
from pathlib import Path

import pytest

from rewardgen.core.errors import RunFormatError
from rewardgen.store.events import FORMAT
from rewardgen.store.history import History
from rewardgen.store.run_folder import RunFolder

RECORDED = Path(__file__).parent.parent / "recorded" / "format1"
OLD = "20261122-013053-cartpole-ced5"


@pytest.fixture
def old_run(tmp_path):
    return shutil.copytree(RECORDED / OLD, tmp_path / "runs" / OLD)


def test_the_sentence_names_both_formats_and_what_to_do(old_run):
    with pytest.raises(RunFormatError) as caught:
        History.load(RunFolder(old_run))
    assert caught.value.message == f"the events of run {OLD} are in format 1, this version reads format {FORMAT}"
    assert caught.value.hint == "look at it with the version in its `provenance.json`, or start a new run"


def test_a_run_of_a_later_version_is_refused_too(old_run):
    log = old_run / "events.jsonl"
    first, *rest = log.read_text().splitlines()
    told = json.loads(first)
    told["data"]["format"] = FORMAT + 1
    log.write_text("\n".join([json.dumps(told), '{"kind": "not known yet"}', *rest]) + "\n")
    with pytest.raises(RunFormatError, match=f"are in format {FORMAT + 1}"):
        History.load(RunFolder(old_run))


@pytest.mark.parametrize("command", [("resume",), ("runs", "show"), ("runs", "compare", OLD)])
def test_it_is_neither_resumed_nor_shown_nor_compared(rewardgen, old_run, finished_run, command):
    before = {path: path.read_bytes() for path in old_run.rglob("*") if path.is_file()}
    done = rewardgen(*command, finished_run.name if "compare" in command else OLD)
    assert done.returncode == 2 and done.stdout == ""
    assert "format 1" in done.stderr and "hint: look at it with the version in" in done.stderr
    left = {path: path.read_bytes() for path in old_run.rglob("*") if path.is_file() and path.name != ".lock"}
    assert left == before


def test_the_list_of_runs_goes_on_working(rewardgen, old_run, finished_run):
    listed = {each["id"]: each["status"] for each in json.loads(rewardgen("runs", "list", "--json").stdout)["runs"]}
    assert listed == {OLD: "other version", finished_run.name: "finished"}
    assert OLD in rewardgen("runs", "list").stdout
