"""Folders that were filled so as to deceive or to last."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from rewardgen.sandbox.folders import discard, folder_use, sweep_scratch


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "own"
    made.mkdir()
    (made / "worker.log").write_text("said")
    (made / "data").mkdir()
    (made / "data" / "block").write_bytes(os.urandom(1 << 16))
    yield made
    discard(made)  # what pytest clears its folders with does not go as deep


def nest(folder, depth, name="deeper"):
    here = os.getcwd()
    os.chdir(folder)
    for _ in range(depth):
        os.mkdir(name)
        os.chdir(name)
    os.chdir(here)


def test_everything_in_a_folder_is_counted(folder):
    size, entries = folder_use(folder, most=100)
    assert entries == 3 and size >= 1 << 16


def test_what_is_too_deep_to_be_seen_counts_as_too_much(folder):
    nest(folder, 30, name=200 * "x")
    assert folder_use(folder, most=10_000)[1] == 10_001


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is closed to root")
def test_what_is_closed_to_reading_counts_as_too_much(folder):
    (folder / "data").chmod(0o300)
    assert folder_use(folder, most=10_000)[1] == 10_001


def test_a_folder_of_any_depth_and_mode_is_removed(folder):
    nest(folder / "data", 1100)
    (folder / "data").chmod(0o300)
    discard(folder)
    assert not folder.exists()


def test_links_are_removed_and_not_followed(folder, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "kept").touch()
    (folder / "link").symlink_to(tmp_path / "elsewhere")
    discard(folder)
    assert not folder.exists() and (tmp_path / "elsewhere" / "kept").exists()


def test_of_a_failure_only_the_log_stays(folder):
    discard(folder, log="worker.log")
    assert [path.name for path in folder.rglob("*")] == ["worker.log"]


HOLDER = """
import os, sys, time
from rewardgen.sandbox.folders import scratch_folder
with scratch_folder() as folder:
    (folder / "left").write_text("something")
    os.utime(folder, (0, 0))
    print(folder, flush=True)
    time.sleep(60.0)
"""


def test_scratch_folders_of_killed_processes_are_swept_and_no_others(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    options = {"stdout": subprocess.PIPE, "text": True}
    killed, living = (subprocess.Popen([sys.executable, "-c", HOLDER], **options) for _ in range(2))
    for name, marker in (
        ("rewardgen-clone", None),
        ("-without-marker", None),
        ("-other", b"\xff"),
        ("-long", b"x" * 99),
    ):
        folder = tmp_path / f"{'' if name[0] == 'r' else '.rewardgen-scratch'}{name}"
        folder.mkdir()
        if marker:
            (folder / ".rewardgen-scratch").write_bytes(marker)
        os.utime(folder, (0, 0))
    (tmp_path / ".rewardgen-scratch-link").symlink_to(tmp_path / "rewardgen-clone")
    try:
        left, used = (Path(each.stdout.readline().strip()) for each in (killed, living))
        killed.kill()
        killed.wait()
        assert sweep_scratch() == [left]
        assert not left.exists() and used.exists() and len(list(tmp_path.iterdir())) == 6
        living.kill()
        living.wait()
        monkeypatch.chdir(tmp_path)  # the temporary folder is the working folder
        os.utime(used, (0, 0))
        assert sweep_scratch() == [] and used.exists()
        (tmp_path / "gone").mkdir()
        monkeypatch.chdir(tmp_path / "gone")
        (tmp_path / "gone").rmdir()
        assert sweep_scratch() == [used]
    finally:
        living.kill()
        for each in (killed, living):
            each.communicate()
