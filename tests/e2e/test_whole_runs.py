"""Whole runs through the command line, with real training and real processes."""

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time

import pytest

from rewardgen.core.config import RunConfig
from rewardgen.core.errors import RunFolderError, UsageError
from rewardgen.reward.export import reward_in
from rewardgen.search import lifecycle
from rewardgen.search.judge import JUDGES
from rewardgen.store.messages import Usage
from rewardgen.store.run_folder import RunFolder
from rewardgen.testing.server import Answer, ChatServer
from tests.e2e.command import (
    POINT,
    SHORT,
    SHORTER,
    history,
    process,
    rewardgen,
    run_folder,
    start,
    table,
    wait_for_event,
    workers_of,
)
from tests.search.parts import Listener
from tests.tasks.files import point


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The folder of a finished run and what the command said."""
    place = tmp_path_factory.mktemp("finished")
    return place, rewardgen("run", POINT, *SHORT, "--json", cwd=place)


def test_run_ends_with_a_reward_its_policy_and_numbers_from_fresh_seeds(finished):
    place, done = finished
    assert done.returncode == 0 and json.loads(done.stdout), done.stderr
    found, folder = history(place), run_folder(place)
    assert {row.candidate_id for row in found.summary.rows} == {found.summary.chosen, "human", "sparse"}
    assert all(row.seeds == 2 and row.fitness is not None for row in found.summary.rows)
    assert reward_in((folder.best / "reward.py").read_text()) == found.record(found.summary.chosen).candidate.source
    assert (folder.best / "policy.npz").stat().st_size > 1000
    assert found.summary.conclusion in folder.readme.read_text()
    assert found.usage == Usage()


def test_training_learns_the_task(finished):
    place, _ = finished
    human = next(row for row in history(place).summary.rows if row.candidate_id == "human")
    assert human.success_rate > 0.9


def test_run_folder_keeps_where_its_numbers_come_from(finished):
    folder = run_folder(finished[0])
    known = json.loads(folder.provenance.read_text())
    assert known["packages"]["mujoco"] and known["command"]
    assert {layer["name"] for layer in known["sandbox"]["layers"]} >= {"limits", "landlock", "seccomp"}
    assert "task = " in folder.config.read_text()
    assert not folder.scratch.exists()


def test_killed_run_leaves_no_worker_and_resumes_to_the_same_table(finished, tmp_path):
    whole, _ = finished
    running = start("run", POINT, *SHORT, cwd=tmp_path)
    wait_for_event(tmp_path, "trained", count=3)
    time.sleep(0.5)
    os.kill(running.pid, signal.SIGKILL)
    running.communicate()
    trained = dict(history(tmp_path).trained)
    assert history(tmp_path).summary is None
    time.sleep(1.0)
    assert workers_of(run_folder(tmp_path)) == []
    done = rewardgen("resume", "latest", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    resumed = history(tmp_path)
    assert table(resumed) == table(history(whole))
    assert trained.items() <= resumed.trained.items()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_interrupt_and_a_lost_terminal_save_the_run_and_tell_the_line_that_resumes_it(tmp_path, number):
    running = start("run", POINT, *SHORT, cwd=tmp_path)
    wait_for_event(tmp_path, "designed", count=2)
    time.sleep(0.3)
    os.killpg(running.pid, number)
    _, said = running.communicate(timeout=20)
    assert running.returncode == 130
    assert f"rewardgen resume {run_folder(tmp_path).id}" in said
    assert "Traceback" not in said
    assert history(tmp_path).status == "interrupted"
    assert workers_of(run_folder(tmp_path)) == []


def test_changed_task_is_refused_on_resume(tmp_path):
    for name in ("point.py", "point.xml"):
        shutil.copy(POINT.with_name(name), tmp_path)
    with pytest.raises(KeyboardInterrupt):
        lifecycle.start(RunConfig(task=str(tmp_path / "point.py")), tmp_path / "runs", Listener(stop_after=1))
    for changed in (tmp_path / "point.py", tmp_path / "point.xml"):
        before = changed.read_text()
        changed.write_text(f"{before}\n")
        done = rewardgen("resume", "latest", cwd=tmp_path)
        assert done.returncode == 2
        assert "has changed since the run began" in done.stderr and "hint:" in done.stderr
        changed.write_text(before)


def test_full_disk_is_a_clear_error_and_the_run_resumes_once_there_is_room(small_disk, tmp_path):
    filler = small_disk / "filler"
    filler.write_bytes(b"x" * (shutil.disk_usage(small_disk).free - 90_000))
    done = rewardgen("run", POINT, *SHORTER, "--runs-dir", small_disk, cwd=tmp_path)
    assert done.returncode == 2
    assert "disk is full" in done.stderr and "hint:" in done.stderr
    assert "Traceback" not in done.stderr
    filler.unlink()
    again = rewardgen("resume", "latest", "--runs-dir", small_disk, cwd=tmp_path)
    assert again.returncode == 0, again.stderr


def test_finished_run_is_only_read_when_resumed(finished):
    place, _ = finished
    before = run_folder(place).events.read_bytes()
    done = rewardgen("resume", "latest", cwd=place)
    assert done.returncode == 0
    assert run_folder(place).events.read_bytes() == before


def test_a_resume_that_cannot_begin_leaves_a_finished_run_as_it_was(finished, tmp_path, monkeypatch):
    shutil.copytree(finished[0] / "runs", tmp_path / "runs")
    folder = run_folder(tmp_path)
    before = folder.events.read_bytes()
    monkeypatch.setattr(JUDGES, "get", lambda name: JUDGES.__class__("judge").get(name))
    with pytest.raises(UsageError, match="unknown judge"):
        lifecycle.resume(folder, Listener(), lifecycle.Resume(generations=1))
    assert folder.events.read_bytes() == before and history(tmp_path).status == "finished"


def test_a_renamed_copy_of_a_run_cannot_be_continued_into_the_original(finished, tmp_path):
    shutil.copytree(finished[0] / "runs", tmp_path / "runs")
    folder = run_folder(tmp_path)
    copy = folder.path.rename(folder.path.with_name("branch"))
    with pytest.raises(RunFolderError, match="under another name") as refused:
        lifecycle.resume(RunFolder(copy), Listener(), lifecycle.Resume(generations=1))
    assert folder.id in refused.value.hint


@pytest.mark.slow
def test_too_few_open_files_is_a_clear_error(tmp_path):
    limited = f"ulimit -n 20; exec {shlex.quote(sys.executable)} -m rewardgen run {shlex.quote(str(POINT))}"
    # With an empty cache: measuring a task with its transitions takes more files than all that follows.
    env = os.environ | {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    done = subprocess.run(["sh", "-c", limited], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1 and "Too many open files" in done.stderr and "ulimit -n" in done.stderr, done.stderr


def test_a_full_temporary_folder_is_a_clear_error(small_disk, tmp_path):
    (small_disk / "filler").write_bytes(b"x" * (shutil.disk_usage(small_disk).free - 4096))
    done = process("run", POINT, *SHORTER, cwd=tmp_path, TMPDIR=str(small_disk))
    assert done.returncode == 1 and "No space left" in done.stderr and "TMPDIR" in done.stderr, done.stderr


def test_where_no_reply_held_a_reward_the_model_is_pointed_at_and_not_the_task(tmp_path):
    few = ["--no-films", "--generations", "1", "--candidates", "1", "--seeds", "1", "--final-seeds", "1"]
    with ChatServer(Answer("I cannot say.")) as chat:
        asked = ["--model", "openai/local", "--api-base", chat.api_base, "--env-steps", "4096"]
        done = rewardgen("run", POINT, *few, *asked, cwd=tmp_path, OPENAI_API_KEY="sk-local")
    said = " ".join(done.stderr.split())
    assert done.returncode == 1 and "no reply held a reward" in said and "name more in the task" not in said


def test_a_run_begins_with_a_reward_file(tmp_path):
    (tmp_path / "mine.py").write_text(
        "def compute_reward(position):\n    return {'near': torch.exp(-position.abs())}\n"
    )
    done = rewardgen("run", POINT, *SHORTER, "--init", "mine.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    record = history(tmp_path).record("g00-k0")
    assert record and "torch.exp(-position.abs())" in record.candidate.source and record.result
    assert "the built-in designer trains mine.py and cannot change it" in done.stderr
    (tmp_path / "other.py").write_text("def compute_reward(distance):\n    return {'near': -distance}\n")
    other = rewardgen("run", POINT, *SHORTER, "--init", "other.py", cwd=tmp_path)
    assert other.returncode == 3 and "other.py cannot be trained on point: the reward takes `distance`" in other.stderr
    assert len([*(tmp_path / "runs").iterdir()]) == 1
    missing = rewardgen("run", POINT, "--init", "none.py", cwd=tmp_path)
    assert missing.returncode == 2 and "cannot read none.py" in missing.stderr


def test_a_run_refuses_a_task_in_which_a_check_finds_a_problem_and_tells_its_notes(tmp_path):
    here = point(tmp_path, ("    episode_steps = ", "    episode_s = 5\n    episode_steps = "), ('"ppo":', '"ppo2":'))
    done = rewardgen("run", here, *SHORTER, cwd=tmp_path)
    said = " ".join(done.stderr.split())
    assert done.returncode == 2 and "nothing reads `episode_s` of the class" in said
    assert "point.py: `training` has settings for the trainer `ppo2`, which is unknown" in said
    assert f"rewardgen tasks check {here}` lists all problems" in said
    assert not list((tmp_path / "runs").iterdir())
