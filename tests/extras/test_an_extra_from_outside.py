"""An installed package adds to rewardgen: one module, named by an entry point."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import rewardgen as package
from rewardgen.cli import doctor
from rewardgen.core.extras import install_hint
from rewardgen.training.protocol import EXECUTORS
from tests.e2e.command import POINT, SHORTER, rewardgen

HALVING = '''
"""An executor that trains on this machine and leaves a note."""

from pathlib import Path

from rewardgen.training.protocol import EXECUTORS, TRAINERS, ExecutorKind


def noting(job):
    Path("noted").write_text(job.trainer)
    return TRAINERS.get(job.trainer).make(job.setup)


EXECUTORS.register("noting", ExecutorKind(noting))
'''


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A function that installs modules as packages with an extra each."""

    def install(**sources):
        for name, source in sources.items():
            (tmp_path / "site" / f"{name}-1.dist-info").mkdir(parents=True)
            (tmp_path / "site" / f"{name}.py").write_text(source)
            (tmp_path / "site" / f"{name}-1.dist-info" / "METADATA").write_text(f"Name: {name}\nVersion: 1\n")
            entry = f"[rewardgen.extras]\n{name} = {name}\n"
            (tmp_path / "site" / f"{name}-1.dist-info" / "entry_points.txt").write_text(entry)
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path / "site"), os.environ.get("PYTHONPATH", "")]))

    return install


def test_a_run_trains_where_an_executor_of_an_installed_package_says(installed, tmp_path, monkeypatch):
    installed(noting=HALVING)
    monkeypatch.syspath_prepend(tmp_path / "site")
    monkeypatch.setattr("rewardgen.core.extras._problems", None)  # as in a process that has loaded none
    fewest = [part if part != "2" else "1" for part in SHORTER]
    done = rewardgen("run", POINT, "--executor", "noting", *fewest, cwd=tmp_path)
    EXECUTORS.remove("noting")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "noted").read_text() == "ppo"


def test_a_broken_extra_is_named_and_stops_no_other(installed):
    installed(broken="import nothing_of_that_name", noting=HALVING)
    code = "from rewardgen.training.protocol import EXECUTORS, TRAINERS\nprint(*EXECUTORS.names(), *TRAINERS.names())\n"
    code += "EXECUTORS.get('noted')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert {"processes", "noting", "ray", "ppo", "rsl-rl"} <= set(done.stdout.split())
    warning, *traceback = done.stderr.splitlines()
    assert warning.startswith("the extra `broken` cannot be loaded: No module named")
    assert "unknown executor `noted`" in done.stderr and "extra `broken`: ModuleNotFoundError" in traceback[-1]


def test_hints_name_what_can_be_installed_here(monkeypatch, tmp_path):
    root = Path(package.__file__).parents[1]
    monkeypatch.chdir(root)
    assert install_hint("ray") == "pip install -c constraints.txt -e '.[ray]'"
    assert install_hint(pinned=False) == "pip install -e ."
    monkeypatch.chdir(tmp_path)
    assert install_hint("ray") == shlex.join(["pip", "install", "-c", f"{root}/constraints.txt", "-e", f"{root}[ray]"])
    monkeypatch.setattr("rewardgen.core.extras._CHECKOUT", tmp_path)
    assert install_hint("ray") == "pip install 'rewardgen-rl[ray]'"


def test_doctor_names_the_other_package_called_rewardgen(monkeypatch):
    monkeypatch.setattr(doctor, "version", lambda name: "0.1.1.3")
    (check,) = (check for check in doctor._machine() if check.name == "package")
    assert check.state == "warn" and "0.1.1.3" in check.detail and "pip uninstall rewardgen" in check.hint
