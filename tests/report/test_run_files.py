import subprocess
import sys

import numpy as np
import torch

from rewardgen.report import run_files as report
from rewardgen.store.history import History
from rewardgen.store.run_folder import RunFolder
from tests.search.parts import Crew, a_search
from tests.training.test_policy_file import two_policies


def a_finished_run(tmp_path, generations=1):
    folder = RunFolder(tmp_path / "run")
    search, history = a_search(folder.path, Crew(rejected=["g00-k0"]), generations=generations)
    search()
    for seed in history.final_seeds:
        for id in history.finalists:
            place = folder.policies / "final"
            place.mkdir(parents=True, exist_ok=True)
            (place / f"{id}-s{seed}.npz").write_bytes(f"{id} {seed}".encode())
            key = ("final", id, seed)
            history.trained[key] = history.trained[key].model_copy(update={"policy": f"{id}-s{seed}.npz"})
    return folder, history


def test_best_holds_the_chosen_reward_with_its_policy_of_median_fitness(tmp_path):
    folder, history = a_finished_run(tmp_path)
    report.write_best(folder, history)
    assert history.designed["g00-k3", 0].source in (folder.best / "reward.py").read_text()
    assert (folder.best / "policy.npz").read_text() == "g00-k3 5001"
    assert "beats the sparse reward" not in (folder.best / "card.md").read_text()
    assert "g00-k3" in (folder.best / "card.md").read_text()


def test_best_is_used_as_it_is_by_a_script_without_rewardgen(tmp_path):
    folder, history = a_finished_run(tmp_path)
    observations, policies = 30 * torch.randn(50, 3), two_policies()
    for each in (folder.policies / "final").glob("*.npz"):
        policies.save(0, each)
    report.write_best(folder, history)
    script = """
import sys
sys.modules["rewardgen"] = None
import numpy, torch
from reward import INPUTS, reward_and_components
from policy import load
total, parts = reward_and_components({"speed": torch.ones(4)})
assert INPUTS == ("speed",) and total.tolist() == [1.0] * 4, (INPUTS, total)
numpy.save("actions.npy", load().act(numpy.load("observations.npy")))
"""
    np.save(folder.best / "observations.npy", observations.numpy())
    subprocess.run([sys.executable, "-c", script], cwd=folder.best, check=True)
    expected = policies.act(torch.cat([observations, observations]))[:50]
    np.testing.assert_allclose(np.load(folder.best / "actions.npy"), expected, atol=1e-5)


def test_readme_shows_the_table_the_reasons_of_failures_and_how_to_resume(tmp_path):
    folder, history = a_finished_run(tmp_path)
    report.write_readme(folder, history)
    text = folder.readme.read_text()
    assert "**g00-k3** (chosen)" in text
    assert "| g00-k0 | draft |  |  | `x` is always 0 |" in text
    history.summary = None
    report.write_readme(folder, history)
    assert f"rewardgen resume {history.run_id}" in folder.readme.read_text()


def test_candidate_folder_holds_reward_and_record(tmp_path):
    folder, history = a_finished_run(tmp_path, generations=2)
    for id in ("g00-k0", "g00-k3"):
        report.write_candidate(folder, history, history.record(id))
    assert "dead-component" in (folder.candidate("g00-k0") / "record.json").read_text()
    assert "fine" in (folder.candidate("g00-k3") / "record.json").read_text()
    assert (folder.candidate("g00-k3") / "reward.py").read_text() == history.designed["g00-k3", 0].source


def test_a_history_read_from_the_log_equals_the_one_of_the_run(tmp_path):
    folder = RunFolder(tmp_path / "run")
    search, history = a_search(folder.path, Crew(repairable=["g00-k1"], failing=["g00-k2"]))
    search()
    read = History.load(folder)
    assert [read.record(id) for id in read.ids()] == [history.record(id) for id in history.ids()]
    assert (read.summary, read.generations) == (history.summary, history.generations)
