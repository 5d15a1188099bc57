"""Training on a real Ray cluster of three nodes on this machine, whose processes see no file of the run."""

import os
import signal
import sys
import threading
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

from rewardgen.core.config import RunConfig
from rewardgen.core.errors import MachineError
from rewardgen.core.files import cache_folder
from rewardgen.extras.ray.node import software, train_on_node
from rewardgen.extras.ray.trainer import RayTrainer
from rewardgen.sandbox.process import Limits, WorkerCancelled
from rewardgen.search.lifecycle import start
from rewardgen.store.journal import SilentListener
from rewardgen.store.records import RewardSpec, SliceSpec
from rewardgen.training.protocol import ExecutorSetup, TrainerSetup
from tests.e2e.command import rewardgen, table
from tests.training.builders import TINY, UPRIGHT, leaver

KEYS = ("sk-in-the-environment-of-the-driver", "sk-in-the-environment-of-the-nodes")
needs_ray = pytest.mark.skipif(find_spec("ray") is None, reason="needs the extra ray")


def trainer(folder, address, env_steps=2048, **settings):
    settings = TINY.model_copy(update={"env_steps": env_steps, "evaluation_phases": 8, **settings})
    return RayTrainer(ExecutorSetup("ppo", TrainerSetup("cartpole", settings, 1, folder, Limits()), (), address))


def train(trainer, ids, folder, on_progress=lambda message: None, cancel=None):
    trainer.train(
        [RewardSpec(candidate_id=id, source=UPRIGHT) for id in ids],
        [SliceSpec(candidate_id=id, seed=0) for id in ids],
        folder=folder / "policies",
        on_progress=on_progress,
        on_slice=lambda result: None,
        cancel=cancel,
    )


def test_without_the_extra_its_name_is_told(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    done = rewardgen("run", "cartpole", "--executor", "ray", cwd=tmp_path)
    assert done.returncode == 2 and "[ray]" in done.stderr


@needs_ray
@pytest.mark.parametrize("address", ["127.0.0.1:1", "nonsense", "ray://127.0.0.1:1"])
def test_a_cluster_that_is_not_there_is_told_at_once(tmp_path, address):
    with pytest.raises(MachineError, match="cannot connect") as caught:
        trainer(tmp_path, address)
    assert "--cluster" in caught.value.hint


def test_a_node_with_other_software_says_what_differs():
    (told,) = train_on_node(software() | {"torch": "0.1"}, {}, dict)
    assert told["error"] == "MachineError" and "torch" in told["message"] and "not 0.1" in told["message"]


@pytest.fixture(scope="module")
def cluster():
    """The driver's own node, which trains nothing, and two more with one core each."""
    handler = signal.getsignal(signal.SIGTERM)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("ANTHROPIC_API_KEY", KEYS[1])
        import ray
        from ray.cluster_utils import Cluster

        size = {"object_store_memory": 80 << 20, "include_log_monitor": False}
        made = Cluster(initialize_head=True, head_node_args={**size, "num_cpus": 0, "include_dashboard": False})
        for _ in range(2):
            made.add_node(**size, num_cpus=1, wait=False)
        made.wait_for_nodes()
    signal.signal(signal.SIGTERM, handler)
    yield made
    ray.shutdown()
    made.shutdown()


def below(pid):
    """A process's children and theirs."""
    found = []
    for each in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found += map(int, each.read_text().split())
        except OSError:
            continue
    return [*found, *(deeper for each in found for deeper in below(each))]


def holds(pid, word, file="cmdline"):
    try:
        return word.encode() in Path(f"/proc/{pid}/{file}").read_bytes()
    except OSError:
        return False


def raylet(node):
    (found,) = node.all_processes["raylet"]
    return found.process.pid


def workers(node):
    """Sandboxed processes on a node: those that start workers, and the workers."""
    return [pid for pid in below(raylet(node)) if holds(pid, "rewardgen.sandbox")]


def ended(pids, within_s=5.0):
    """Whether all of them end soon."""
    deadline = time.monotonic() + within_s
    while any(holds(pid, "rewardgen.sandbox") for pid in pids):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


class NodeKiller(SilentListener):
    """At the first word of a training, kills a node on which a candidate trains."""

    def __init__(self, cluster):
        self._cluster, self.trained, self.left = cluster, [], []

    def progress(self, message):
        if message["phase"] == "review":
            return
        self.trained.append((message["phase"], message["candidate_id"], message["env_steps"]))
        for node in [] if self.left else [*self._cluster.worker_nodes]:
            if len(found := workers(node)) > 1:
                self.left = found
                pids = [int(each.name) for each in Path("/proc").glob("[0-9]*")]
                self.holders = [{pid for pid in pids if holds(pid, key, "environ")} for key in KEYS]
                self._cluster.remove_node(node, allow_graceful=False)
                break


def policies(outcome):
    root = outcome.folder.policies
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


@pytest.mark.slow
@needs_ray
def test_a_node_that_dies_in_training_changes_nothing_in_the_table(cluster, tmp_path, monkeypatch, capfd):
    monkeypatch.setenv("OPENAI_API_KEY", KEYS[0])
    leaver(tmp_path, "episode.lengths.float()")
    few = {"generations": 1, "candidates": 3, "seeds": 1, "leaders": 1, "final_seeds": 1, "env_steps": 8192}
    config = RunConfig(task=str(tmp_path / "leaver.py"), films=False, **few)
    on_ray = config.model_copy(update={"executor": "ray", "cluster": cluster.address})
    killer, handler = NodeKiller(cluster), signal.getsignal(signal.SIGTERM)
    there = start(on_ray, tmp_path / "there", killer)
    here = start(config, tmp_path / "here", SilentListener())
    assert table(there.history) == table(here.history) and there.history.summary.chosen
    assert policies(there) == policies(here)

    told_twice = {each[1] for each in killer.trained if killer.trained.count(each) > 1}
    assert killer.left and ended(killer.left) and len(told_twice) <= 1
    drivers, nodes = killer.holders
    assert not drivers and len(nodes) > 3
    assert not [pid for pid in nodes if holds(pid, "rewardgen.sandbox")]
    (travelled,) = cache_folder("tasks").iterdir()
    assert sorted(path.name for path in travelled.iterdir()) == ["leaver.py", "point.xml"]
    assert signal.getsignal(signal.SIGTERM) == handler
    assert capfd.readouterr().out == ""


@needs_ray
@pytest.mark.slow
def test_nothing_is_left_of_a_training_that_is_cancelled(cluster, tmp_path):
    cancel, seen = threading.Event(), []

    def look(message):
        training = [found for node in cluster.list_all_nodes() if len(found := workers(node)) > 1]
        seen.extend(pid for found in training for pid in found)
        cancel.set()

    with pytest.raises(WorkerCancelled):
        train(trainer(tmp_path, cluster.address, 40_000), "abc", tmp_path, look, cancel)
    assert len(seen) >= 2 and ended(seen)


@needs_ray
@pytest.mark.slow
def test_a_candidate_that_is_lost_twice_ends_the_run(cluster, tmp_path):
    killed, ended = set(), threading.Event()

    def kill():
        while not ended.wait(0.02):
            for pid in {pid for node in cluster.list_all_nodes() for pid in below(raylet(node))} - killed:
                if holds(pid, "ray::_on_node"):
                    os.kill(pid, signal.SIGKILL)
                    killed.add(pid)

    killing = threading.Thread(target=kill)
    killing.start()
    try:
        with pytest.raises(MachineError, match="training of a was lost") as caught:
            train(trainer(tmp_path, cluster.address), "a", tmp_path)
    finally:
        ended.set()
        killing.join()
    assert len(killed) == 2 and "resume" in caught.value.hint


@needs_ray
@pytest.mark.slow
def test_a_cluster_without_a_gpu_is_told_where_one_is_asked_for(cluster, tmp_path):
    with pytest.raises(MachineError, match="no node of the Ray cluster has a CPU and a GPU"):
        trainer(tmp_path, cluster.address, device="cuda")
