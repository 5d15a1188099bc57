"""Rewards are probed in a process of their own, and one that ends it is the only one to be rejected for that."""

import pytest
import torch

from rewardgen.critic.gates import Critic
from rewardgen.errors import WorkerError
from rewardgen.records import Candidate, RewardSpec
from rewardgen.sandbox.prober import SandboxedProber
from rewardgen.sandbox.process import Limits, WorkerCancelled
from rewardgen.simulation.bank_file import save_bank, unrelated
from tests.builders import card


@pytest.fixture
def prober(tmp_path):
    generator = torch.Generator().manual_seed(0)
    values = {name: torch.randn(256, generator=generator) for name in ("position", "speed")}
    values["action"] = 2.0 * torch.rand(256, 1, generator=generator) - 1.0
    save_bank(tmp_path / "bank.npz", unrelated(values | {f"prev_{name}": value for name, value in values.items()}))
    return SandboxedProber(tmp_path / "bank.npz", Limits(wall_s=60.0), tmp_path / "scratch")


def spec(id, value):
    return RewardSpec(candidate_id=id, source=f"def compute_reward(position, speed):\n    return {{'r': {value}}}\n")


def test_a_batch_of_candidates_goes_through_the_gates_and_the_probe(prober):
    bodies = {"good": "-position.abs()", "nan": "position.log()", "typo": "-positon.abs()", "loop": "position.item()"}
    # Repeating a tensor is honest; a hundred gigabytes of it are refused by the worker's limit on memory.
    bodies["greedy"] = "position.unsqueeze(-1).repeat(1, 100000000).sum(-1)"
    drafts = [
        Candidate(id=id, generation=0, operator="draft", source=spec(id, body).source) for id, body in bodies.items()
    ]
    verdicts = Critic(prober).review(drafts, card())
    assert {id: [finding.detector for finding in verdict.rejections] for id, verdict in verdicts.items()} == {
        "good": [],
        "nan": ["non-finite"],
        "typo": ["unknown-name"],
        "loop": ["unknown-method"],
        "greedy": ["probe-exception"],
    }


def test_a_worker_that_dies_is_repeated_reward_by_reward(prober, monkeypatch):
    batches = []

    def dies_of_one(rewards):
        batches.append([reward.candidate_id for reward in rewards])
        if "bad" in batches[-1]:
            raise WorkerError("the probe worker ran past its limit of 45 s", kind="timeout")
        return {reward.candidate_id: () for reward in rewards}

    monkeypatch.setattr(prober, "_run", dies_of_one)
    found = prober.probe([spec("good", "-position.abs()"), spec("bad", "position"), spec("fine", "speed")])
    assert batches == [["good", "bad", "fine"], ["good"], ["bad"], ["fine"]]
    assert found["good"] == found["fine"] == ()
    (finding,) = found["bad"]
    assert (finding.detector, finding.severity) == ("probe-timeout", "reject")
    assert "45 s" in finding.message and finding.hint


def test_a_run_that_is_being_stopped_rejects_nobody(prober, monkeypatch):
    def cancelled(rewards):
        raise WorkerCancelled("the probe worker was cancelled")

    monkeypatch.setattr(prober, "_run", cancelled)
    with pytest.raises(WorkerCancelled):
        prober.probe([spec("good", "-position.abs()")])
