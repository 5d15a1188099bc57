"""Training as jobs: submitit's local executor runs them as Slurm would, in processes of their own."""

import os
import signal
import sys
import threading
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

from rewardgen.core.config import RunConfig
from rewardgen.core.errors import MachineError, UsageError
from rewardgen.extras.slurm import trainer as slurm
from rewardgen.extras.slurm.trainer import SlurmTrainer
from rewardgen.sandbox.process import Limits, WorkerCancelled
from rewardgen.search.lifecycle import start
from rewardgen.store.journal import SilentListener
from rewardgen.store.records import RewardSpec, SliceSpec
from rewardgen.training.protocol import ExecutorSetup, TrainerSetup
from tests.e2e.command import rewardgen, table
from tests.training.builders import TINY, UPRIGHT, leaver

pytestmark = pytest.mark.skipif(find_spec("submitit") is None, reason="needs the extra slurm")


def trainer(folder, cluster="local", env_steps=2048, **settings):
    settings = TINY.model_copy(update={"env_steps": env_steps, "evaluation_phases": 8, **settings})
    setup = TrainerSetup("cartpole", settings, 1, folder, Limits())
    return SlurmTrainer(ExecutorSetup("ppo", setup, (), cluster, 3))


def train(trainer, ids, folder, on_progress=lambda message: None, cancel=None):
    results = []
    trainer.train(
        [RewardSpec(candidate_id=id, source=UPRIGHT) for id in ids],
        [SliceSpec(candidate_id=id, seed=0) for id in ids],
        folder=folder / "policies",
        on_progress=on_progress,
        on_slice=results.append,
        cancel=cancel,
    )
    return results


def jobs(folder):
    """Processes in which submitit runs a job below a folder."""
    pids = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            line = (place / "cmdline").read_bytes()
            if b"submitit.core._submit" in line and str(folder).encode() in line:
                pids.append(int(place.name))
        except OSError:
            continue
    return pids


def policies(outcome):
    root = outcome.folder.policies
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def test_without_the_extra_its_name_is_told(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "submitit", None)
    done = rewardgen("run", "cartpole", "--executor", "slurm", cwd=tmp_path)
    assert done.returncode == 2 and "[slurm]" in done.stderr


def test_a_machine_without_slurm_is_told_so(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MachineError, match="no Slurm here") as caught:
        trainer(tmp_path, None)
    assert "--cluster local" in caught.value.hint
    with pytest.raises(UsageError, match="no cluster"):
        trainer(tmp_path, "gpu01:6379")


def test_a_job_asks_slurm_for_what_a_training_needs_and_sends_no_key(tmp_path, monkeypatch):
    for name in ("sbatch", "srun"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    executor = trainer(tmp_path, None, device="cuda")._executor(tmp_path, 2)._executor
    script = executor._make_submission_file_text("command", "id")
    hours = 2 * Limits().wall_s / 3600
    for wanted in (
        "--cpus-per-task=1",
        "--gpus-per-node=1",
        "--mem=10GB",
        f"--time={int(60 * hours) + 15}",
        "--export=PATH,",
    ):
        assert f"#SBATCH {wanted}" in script
    assert "KEY" not in script and "ALL" not in script


def test_a_whole_run_on_jobs_has_the_table_and_the_policies_of_one_without(tmp_path, capfd):
    leaver(tmp_path, "episode.lengths.float()")
    few = {"generations": 1, "candidates": 1, "seeds": 1, "leaders": 1, "final_seeds": 1, "env_steps": 1024}
    config = RunConfig(task=str(tmp_path / "leaver.py"), films=False, **few)
    on_jobs = config.model_copy(update={"executor": "slurm", "cluster": "local"})
    there = start(on_jobs, tmp_path / "there", SilentListener())
    here = start(config, tmp_path / "here", SilentListener())
    assert table(there.history) == table(here.history) and there.history.summary.chosen
    assert policies(there) == policies(here)  # and nothing of the jobs is left
    assert capfd.readouterr().out == ""


def test_a_job_that_is_killed_is_submitted_once_more(tmp_path):
    killed = []

    def kill(message):
        for pid in jobs(tmp_path) if not killed else ():
            killed.append(pid)
            os.kill(pid, signal.SIGKILL)

    (result,) = train(trainer(tmp_path, env_steps=8192), "a", tmp_path, kill)
    assert killed and result.final_fitness is not None


def test_a_job_that_is_killed_twice_ends_the_run(tmp_path, monkeypatch):
    monkeypatch.setattr(slurm, "_on_node", lambda place, expected, order: 1 / 0)
    with pytest.raises(MachineError, match=r"job of a ended without results twice: .*division by zero") as caught:
        train(trainer(tmp_path), "a", tmp_path)
    assert "resume" in caught.value.hint
    assert [*(tmp_path / "policies").iterdir()] == []


def test_nothing_is_left_of_jobs_that_are_cancelled(tmp_path):
    cancel = threading.Event()
    with pytest.raises(WorkerCancelled):
        train(trainer(tmp_path, env_steps=100_000), "ab", tmp_path, lambda message: cancel.set(), cancel)
    deadline = time.monotonic() + 20
    while jobs(tmp_path) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert jobs(tmp_path) == []
