"""Tasks of installed packages: real metadata in a folder on the path, as an installer leaves it."""

import importlib
import sys

import pytest

from rewardgen.api.measuring import is_task
from rewardgen.core.errors import TaskError
from rewardgen.tasks.listing import GROUPS, listed_tasks
from rewardgen.tasks.loading import load_task, registered_tasks, resolve_task, shipped_tasks
from tests.tasks.files import point


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A folder of installed packages."""
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def install(site, name, entries, code="raise RuntimeError('imported')\n"):
    """Install a package with a task file in it, whose own code fails; `entries` are lines of the group."""
    folder, info = site / name.replace("-", "_"), site / f"{name.replace('-', '_')}-1.0.dist-info"
    folder.mkdir()
    info.mkdir()
    (folder / "__init__.py").write_text(code)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[rewardgen.tasks]\n" + "\n".join(entries) + "\n")
    point(folder)


@pytest.mark.parametrize("value", ["my_points.point", "my_points.point:Point"])
def test_a_package_registers_a_task_by_module_or_class_and_none_of_its_code_is_imported(site, value):
    install(site, "my-points", [f"slide = {value}"])
    assert resolve_task("slide") == (site / "my_points" / "point.py").resolve()
    assert load_task("slide").episode_steps == 60
    (found,) = (each for each in listed_tasks() if each.name == "slide")
    assert (found.group, found.problem) == ("my-points", "") and found.about.startswith("Push a point")
    assert is_task("slide") and "my_points" not in sys.modules


BROKEN = {
    "gone = my_points.gone": "no Python file of the module `my_points.gone`",
    "away = not_installed.task": "no Python file of the module `not_installed.task`",
    "built = sys": "no Python file of the module `sys`",
    "two words = my_points.point": "its name is not one word",
    "latest = my_points.point": "or it is the name of a run",
    "Reacher-v5 = my_points.point": "or it is the name of a run or an environment",
    "hopper = my_points.point": "rewardgen has a task of that name",
    "text = my_points.text": "cannot be read",
}


@pytest.mark.parametrize("finder", ["importlib.metadata", "importlib_metadata"])
def test_broken_entries_are_named_and_stop_no_other(site, finder):
    importlib.import_module(finder)  # the second, which libraries load, finds packages instead of Python's own
    install(site, "my-points", ["slide = my_points.point", *BROKEN])
    (site / "my_points" / "text.py").write_text("these are words\n")
    found = {each.name: each.problem for each in listed_tasks() if each.group == "my-points"}
    assert found["slide"] == "" and len(found) == 1 + len(BROKEN)
    for entry, problem in BROKEN.items():
        assert problem in found[entry.split(" = ")[0]]
    assert resolve_task("slide").is_file() and resolve_task("hopper") == shipped_tasks()["hopper"]
    assert resolve_task("Reacher-v5").parent != site / "my_points" and not is_task("latest")
    with pytest.raises(TaskError, match="the task `gone` of the installed package my-points is broken") as caught:
        resolve_task("gone")
    assert "my-points" in caught.value.hint


def test_of_two_packages_with_a_task_of_one_name_the_second_is_named_as_broken(site):
    for name in ("other-points", "my-points"):
        install(site, name, [f"slide = {name.replace('-', '_')}.point"])
    assert {each.package: each.problem for each in registered_tasks()} == {
        "my-points": "",
        "other-points": "my-points has a task of that name",
    }
    assert resolve_task("slide").parent.name == "my_points"


def test_a_misspelt_name_is_told_the_registered_one(site):
    install(site, "my-points", ["sliding_point = my_points.point"])
    with pytest.raises(TaskError, match="unknown task `sliding_pont`") as caught:
        resolve_task("sliding_pont")
    assert "did you mean `sliding_point`?" in caught.value.hint


def test_every_shipped_task_is_listed_in_one_group_and_slow_if_its_class_says_so():
    shipped, listed = shipped_tasks(), listed_tasks()
    assert sorted(each.name for each in listed) == sorted(shipped)
    assert {path.parent.name for path in shipped.values()} == {*GROUPS.names()}
    here = [each for each in listed if not each.problem]
    assert [each.name for each in here if each.slow] == [each.name for each in here if load_task(each.name).slow]


@pytest.mark.parametrize("task", ["hopper", "my/task.py", "Reacher-v5", "gymnasium:MyEnv"])
def test_what_is_trained_may_be_named_as_any_task_is(task):
    assert is_task(task)


@pytest.mark.parametrize("run", ["latest", "latest:human", "20260101-hopper-ab12", "latest:g01-k2"])
def test_a_run_is_not_taken_for_a_task(run):
    assert not is_task(run)
