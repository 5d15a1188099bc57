"""What a user installs: a wheel with the tasks and prompts inside, and constraints that hold together."""

import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    place = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(place)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (built,) = place.glob("*.whl")
    return built


def test_the_wheel_holds_every_task_and_prompt(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    for folder in ("envs", "prompts"):
        files = [path for path in (ROOT / folder).rglob("*") if path.is_file() and "__pycache__" not in path.parts]
        assert files
        assert {f"rewardgen/{path.relative_to(ROOT).as_posix()}" for path in files} <= names


def test_the_wheel_holds_what_pages_are_made_of_with_the_licences_of_the_libraries(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    files = [
        path for path in (ROOT / "rewardgen" / "report").rglob("*") if path.suffix in (".js", ".css", ".j2", ".txt")
    ]
    assert {path.name for path in files} >= {"d3.min.js", "plot.umd.min.js", "LICENSES.txt", "report.html.j2"}
    assert {path.relative_to(ROOT).as_posix() for path in files} <= names


def test_the_wheel_holds_the_licence_and_the_command_and_no_tests(wheel):
    archive = zipfile.ZipFile(wheel)
    names = archive.namelist()
    assert [name for name in names if name.endswith("/licenses/LICENSE")]
    (entry_points,) = [name for name in names if name.endswith("entry_points.txt")]
    assert "rewardgen = rewardgen.cli.app:main" in archive.read(entry_points).decode()
    assert not [name for name in names if name.startswith(("tests/", "benchmarks/", "envs/", "prompts/"))]


def test_a_wheel_without_its_checkout_finds_its_tasks_and_prompts(wheel, tmp_path):
    zipfile.ZipFile(wheel).extractall(tmp_path)
    code = "import rewardgen.tasks.loading, rewardgen.llm.prompts as p; print(rewardgen.__file__); "
    code += "print(*rewardgen.tasks.loading.shipped_tasks()); print(len(p.template_versions()))"
    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    place, tasks, prompts = done.stdout.splitlines()
    assert Path(place).is_relative_to(tmp_path)
    assert {"cartpole", "hopper"} <= set(tasks.split())
    assert int(prompts) > 0


def test_constraints_name_an_exact_version_of_every_requirement():
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
    assert [line for line in lines if not re.fullmatch(r"[a-z0-9-]+==[\w.]+", line)] == []
    pinned = {line.split("==")[0] for line in lines}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    assert {re.split(r"[>=<\[]", each)[0] for each in wanted} <= pinned
