import subprocess
import sys

import pytest

from rewardgen.core.config import RunConfig
from rewardgen.core.errors import RunFolderError
from rewardgen.store.events import EventLog
from rewardgen.store.history import History
from rewardgen.store.records import SliceSpec, Slot
from rewardgen.store.run_folder import TRAINING, RunFolder, create_run, find_run


def a_run(runs_dir, name):
    EventLog(runs_dir / name / "events.jsonl").append("interrupted", 0.0, {})
    return RunFolder(runs_dir / name)


def test_a_log_that_lacks_its_beginning_is_told(tmp_path):
    with pytest.raises(RunFolderError, match="is damaged: it lacks events"):
        History.load(a_run(tmp_path, "interrupted"))


def test_new_run_is_named_after_its_task_file(tmp_path):
    assert "-my-task-" in create_run(tmp_path, "/somewhere/my task.py").id
    assert "-hopper-jump-as-high-as-" in create_run(tmp_path, "hopper_jump_as_high_as_possible_and_land.py").id
    assert len(create_run(tmp_path, f"{'x' * 200}.py").id) == len("20261231-235959--1a2b") + 24


def test_a_run_in_another_folder_is_named_by_its_path_in_commands(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    at_home, elsewhere = a_run(tmp_path / "runs", "one"), a_run(tmp_path / "my runs", "two")
    assert at_home.word == "one" and elsewhere.word == f"'{tmp_path / 'my runs' / 'two'}'"


HOPPER, ANOTHER, ANT = "20260101-000000-hopper-aaaa", "20260102-000000-hopper-bbbb", "20260103-000000-ant-cccc"


@pytest.mark.parametrize(
    ("reference", "runs", "result"),
    [
        ("latest", (HOPPER, ANT), ANT),
        ("hopper", (HOPPER, ANT), HOPPER),
        ("hopper", (HOPPER, ANOTHER), "aaaa"),
        (HOPPER[:-1] + "b", (HOPPER,), f"did you mean `{HOPPER}`"),
    ],
)
def test_a_run_is_found_by_latest_or_a_unique_part_of_its_id_else_the_hint_helps(tmp_path, reference, runs, result):
    for name in runs:
        a_run(tmp_path, name)
    if result in runs:
        assert find_run(reference, tmp_path).id == result
        return
    with pytest.raises(RunFolderError) as caught:
        find_run(reference, tmp_path)
    assert result in caught.value.hint


def test_a_training_is_told_as_that_with_the_way_to_a_run(tmp_path):
    (tmp_path / TRAINING).write_text("{}")
    with pytest.raises(RunFolderError, match="is a training, not a run") as caught:
        find_run(str(tmp_path), tmp_path)
    assert f"--init {tmp_path}/reward.py" in caught.value.hint


def test_second_process_is_kept_out_and_the_lock_goes_with_its_holder(tmp_path):
    run = a_run(tmp_path, "20260101-000000-hopper-aaaa")
    code = (
        "import sys, pathlib; from rewardgen.store.run_folder import RunFolder\n"
        "with RunFolder(pathlib.Path(sys.argv[1])).locked(): print('held', flush=True); sys.stdin.read()"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", code, str(run.path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert holder.stdout and holder.stdout.readline() == b"held\n"
    with pytest.raises(RunFolderError, match="another process"), run.locked():
        pass
    assert run.is_locked()
    holder.kill()
    holder.wait()
    with run.locked():
        assert True
    assert not run.is_locked()


def test_lock_that_cannot_be_written_is_an_error_with_a_hint(tmp_path):
    run = a_run(tmp_path, "20260101-000000-hopper-aaaa")
    (run.path / ".lock").mkdir()
    with pytest.raises(RunFolderError, match="cannot write"), run.locked():
        pass
    assert not run.is_locked()


def test_run_named_as_the_current_folder_has_its_own_name(tmp_path, monkeypatch):
    monkeypatch.chdir(a_run(tmp_path, "20260101-000000-hopper-aaaa").path)
    assert find_run(".", tmp_path).id == "20260101-000000-hopper-aaaa"


def test_records_of_parts_that_are_gone_can_still_be_read():
    """Runs of the strategy `coevolve`, and those that showed designers rewards of other tasks."""
    assert Slot.model_validate({"candidate_id": "g01-k0", "operator": "edit", "inherits": True}).operator == "edit"
    spec = SliceSpec(candidate_id="g01-k0", seed=0)
    assert SliceSpec.model_validate({**spec.model_dump(), "start": ["g00-k0", 0]}) == spec
    config = RunConfig(task="cartpole")
    assert RunConfig.model_validate({**config.model_dump(), "examples": 2, "library": "mine"}) == config
