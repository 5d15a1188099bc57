"""Rewards are probed in a process of their own, and one that ends it is the only one to be rejected for that."""

import pytest
import torch

from rewardgen.core.errors import UsageError, WorkerError
from rewardgen.critic import prober as prober_module
from rewardgen.critic.gates import Critic
from rewardgen.critic.prober import SandboxedProber
from rewardgen.sandbox.process import Limits, WorkerCancelled
from rewardgen.sim.transitions import save_transitions, unrelated
from rewardgen.store.records import Candidate, RewardSpec
from tests.builders import card

FINDING = {"gate": "probe", "detector": "dead-component", "severity": "warn", "message": "it is 0"}


@pytest.fixture
def prober(tmp_path):
    generator = torch.Generator().manual_seed(0)
    values = {name: torch.randn(256, generator=generator) for name in ("position", "speed")}
    values["action"] = 2.0 * torch.rand(256, 1, generator=generator) - 1.0
    save_transitions(
        tmp_path / "bank.npz", unrelated(values | {f"prev_{name}": value for name, value in values.items()})
    )
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

    monkeypatch.setattr(prober, "_probed", dies_of_one)
    found = prober.probe([spec("good", "-position.abs()"), spec("bad", "position"), spec("fine", "speed")])
    assert batches == [["good", "bad", "fine"], ["good"], ["bad"], ["fine"]]
    assert found["good"] == found["fine"] == ()
    (finding,) = found["bad"]
    assert (finding.detector, finding.severity) == ("probe-timeout", "reject")
    assert "45 s" in finding.message and finding.hint


LIES = {
    "nothing": {},
    "no findings of it": {"findings": {}},
    "a number": {"findings": {"bad": 5}},
    "an unknown key": {"findings": {"bad": [{"note": 1}]}},
}


@pytest.mark.parametrize("lie", LIES)
def test_findings_that_are_none_are_those_of_a_worker_that_failed(prober, monkeypatch, lie):
    monkeypatch.setattr("rewardgen.critic.prober.run_worker", lambda *_, **__: LIES[lie])
    (finding,) = prober.probe([spec("bad", "position")])["bad"]
    assert (finding.detector, finding.severity) == ("probe-crash", "reject") and "malformed" in finding.message


def test_what_findings_say_is_one_line_each_and_they_are_few(prober, monkeypatch):
    told = [FINDING | {"message": "first\n\x1b[2Jthen", "component": "up\n", "evidence": {"x": float("nan")}}] * 1000
    monkeypatch.setattr("rewardgen.critic.prober.run_worker", lambda *_, **__: {"findings": {"bad": told}})
    found = prober.probe([spec("bad", "position")])["bad"]
    assert len(found) <= 100 and (found[0].message, found[0].component) == ("first [2Jthen", "up")
    assert found[0].evidence == {}


def test_a_worker_that_says_the_bank_is_broken_is_not_believed(prober, monkeypatch):
    honest = prober_module.run_worker

    def lies(job, payload, **options):
        if payload["rewards"]:
            raise UsageError("cannot read the bank", "stop here")
        return honest(job, payload, **options)

    monkeypatch.setattr("rewardgen.critic.prober.run_worker", lies)
    (finding,) = prober.probe([spec("bad", "position")])["bad"]
    assert finding.detector == "probe-crash"


def test_a_bank_that_is_broken_is_told(prober, tmp_path):
    (tmp_path / "bank.npz").write_bytes(b"no bank")
    with pytest.raises(UsageError, match="cannot read the bank"):
        prober.probe([spec("good", "position")])


def test_a_folder_that_the_worker_before_has_spoilt_is_no_hindrance(prober, tmp_path):
    (tmp_path / "scratch" / "probe" / "worker.log").mkdir(parents=True)
    assert prober.probe([spec("good", "-position.abs()")]) == {"good": ()}


def test_a_run_that_is_being_stopped_rejects_nobody(prober, monkeypatch):
    def cancelled(rewards):
        raise WorkerCancelled("the probe worker was cancelled")

    monkeypatch.setattr(prober, "_probed", cancelled)
    with pytest.raises(WorkerCancelled):
        prober.probe([spec("good", "-position.abs()")])
