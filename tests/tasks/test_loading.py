import subprocess
import sys

import pytest

import rewardgen
from rewardgen.core.errors import TaskError
from rewardgen.tasks.fingerprint import made_of
from rewardgen.tasks.loading import load_task, shipped_tasks
from tests.tasks.files import point


def test_all_that_task_files_need_comes_from_the_package_itself():
    names = {each: getattr(rewardgen, each).__name__.removeprefix("rewardgen.") for each in rewardgen.__all__}
    assert names == {each: each for each in rewardgen.__all__}
    with pytest.raises(AttributeError, match="no attribute 'Mujoco'"):
        rewardgen.Mujoco  # noqa: B018


def test_importing_the_package_loads_nothing_heavy():
    code = "import sys, rewardgen\nprint(len({'torch', 'numpy', 'mujoco', 'pydantic'} & {*sys.modules}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0"]


def test_a_missing_module_of_somebody_else_is_told_with_its_line(tmp_path):
    with pytest.raises(TaskError, match=r"point\.py raised ModuleNotFoundError at line 3: No module named 'jaxx'"):
        load_task(point(tmp_path, ("import torch", "import jaxx")))


def test_a_file_without_a_task_class_or_with_two_is_refused(tmp_path):
    with pytest.raises(TaskError, match="holds 0 task classes") as caught:
        load_task(point(tmp_path, ("class Point(MujocoTask)", "class Point")))
    assert "rewardgen.MujocoTask" in caught.value.hint
    two = ("class Point(MujocoTask)", "class Other(MujocoTask):\n    pass\n\n\nclass Point(MujocoTask)")
    with pytest.raises(TaskError, match="holds 2 task classes"):
        load_task(point(tmp_path, two))


def test_a_base_class_in_the_same_file_is_no_second_task(tmp_path):
    base = ("class Point(MujocoTask)", "class Base(MujocoTask):\n    frame_skip = 2\n\n\nclass Point(Base)")
    assert load_task(point(tmp_path, base)).make_envs([0], 1).action_size == 1


def test_a_task_may_build_on_a_shipped_one(tmp_path):
    path = tmp_path / "slow.py"
    path.write_text(
        "from rewardgen import shipped_task\n\n\nclass Slow(shipped_task('hopper')):\n"
        '    """Hop slowly."""\n\n    episode_steps = 7\n'
    )
    cups = tmp_path / "cups.py"
    cups.write_text(path.read_text().replace("hopper", "stack_two"))
    assert load_task(str(cups)).model_file() == shipped_tasks()["stack_two"].with_suffix(".xml")
    task = load_task(str(path))
    assert task.path == path and task.make_envs([0], 1).episode_steps == 7
    assert [each.name for each in made_of(task)][:2] == ["slow.py", "hopper.py"]
    path.write_text(path.read_text().replace("hopper", "hoper"))
    with pytest.raises(TaskError, match="no task `hoper` is shipped") as caught:
        load_task(str(path))
    assert "hopper" in caught.value.hint
