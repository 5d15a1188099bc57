"""Rewards are reviewed in a process of their own, and one that ends it is the only one to be rejected for that."""

import threading

import pytest
import torch

from rewardgen.core.errors import UsageError, WorkerError
from rewardgen.critic import sandboxed as module
from rewardgen.critic.critic import Critic
from rewardgen.critic.review_job import review_job
from rewardgen.critic.sandboxed import ReviewRequest, SandboxedReviewer
from rewardgen.sandbox.process import Limits, WorkerCancelled
from rewardgen.sim.transitions import save_transitions
from rewardgen.store.records import Candidate, RewardSpec
from tests.builders import card, unrelated

FINDING = {"gate": "probe", "detector": "dead-component", "severity": "warn", "message": "it is 0"}


@pytest.fixture
def transitions(tmp_path):
    generator = torch.Generator().manual_seed(0)
    values = {name: torch.randn(256, generator=generator) for name in ("position", "speed")}
    values["action"] = 2.0 * torch.rand(256, 1, generator=generator) - 1.0
    path = tmp_path / "transitions.npz"
    save_transitions(path, unrelated(values | {f"prev_{name}": value for name, value in values.items()}))
    return path


@pytest.fixture
def reviewer(transitions, tmp_path):
    return SandboxedReviewer(transitions, Limits(wall_s=60.0), tmp_path / "scratch", tmp_path)


def spec(id, value):
    return RewardSpec(candidate_id=id, source=f"def compute_reward(position, speed):\n    return {{'r': {value}}}\n")


def request(*rewards, **options):
    return ReviewRequest(rewards, card(), **options)


SOUND = spec("good", "-position.abs() - 0.1 * speed.abs()")
BAD, FINE = spec("bad", "position + speed"), spec("fine", "speed - 0.1 * position.abs()")


def test_a_batch_of_candidates_goes_through_the_gates_and_the_probe(reviewer):
    bodies = {"good": "-position.abs()", "nan": "position.log()", "typo": "-positon.abs()", "loop": "position.item()"}
    # Repeating a tensor is honest; a hundred gigabytes of it are refused by the worker's limit on memory.
    bodies["greedy"] = "position.unsqueeze(-1).repeat(1, 100000000).sum(-1)"
    drafts = [
        Candidate(id=id, generation=0, operator="draft", source=spec(id, body).source) for id, body in bodies.items()
    ]
    verdicts = Critic(reviewer).review(drafts, card()).verdicts
    assert {id: [finding.detector for finding in verdict.rejections] for id, verdict in verdicts.items()} == {
        "good": [],
        "nan": ["non-finite"],
        "typo": ["unknown-name"],
        "loop": ["unknown-method"],
        "greedy": ["probe-exception"],
    }


def test_whoever_asks_is_told_of_each_gate_that_a_candidate_comes_to(reviewer):
    told = []
    reviewer.review(request(SOUND, BAD, others=(), on_gate=lambda *step: told.append(step)))
    gates = ("probe", "duplicate")
    assert told == [(id, gate) for id in ("good", "bad") for gate in gates]


def test_a_worker_that_tells_of_gates_as_it_likes_is_heard_once_of_each(reviewer, monkeypatch):
    def run(job, payload, on_message, **options):
        said = [{"gate": "probe", "candidate_id": "good"}] * 1000 + [{"gate": [], "candidate_id": {}}, {}]
        for each in [*said, {"gate": "probe", "candidate_id": "other"}, {"gate": "owned", "candidate_id": "good"}]:
            on_message(each)
        return {"reviews": {"good": {}}}

    told = []
    monkeypatch.setattr("rewardgen.critic.sandboxed.run_worker", run)
    reviewer.review(request(SOUND, on_gate=lambda *step: told.append(step)))
    assert told == [("good", "probe")]


def test_detectors_that_the_transitions_are_not_enough_for_are_told(reviewer):
    told = reviewer.review(request(SOUND)).not_available
    assert "pair-reversed (the task declares no pairs)" in told
    assert "not-invariant (the task declares no invariances)" in told


# Gates.


def gates(transitions, source, **asked):
    begun = []
    rewards = [{"candidate_id": "a", "source": source}]
    payload = {"transitions": str(transitions), "card": card().model_dump(mode="json"), "rewards": rewards}
    review_job(payload | asked, lambda message: begun.append(message["gate"]))
    return begun


def test_a_reward_that_one_gate_rejects_does_not_go_on_to_the_next(transitions):
    everything = {"folder": str(transitions.parent), "files": ["none.npz"], "others": []}
    assert gates(transitions, SOUND.source, **everything) == ["probe", "preference", "duplicate"]
    assert gates(transitions, SOUND.source) == ["probe"]
    assert gates(transitions, spec("a", "position - speed.mean()").source, **everything) == ["probe"]


def test_a_reward_that_takes_too_long_is_rejected_and_the_others_are_reviewed(transitions, monkeypatch):
    monkeypatch.setattr("rewardgen.critic.review_job.TIME_LIMIT_S", 1.0)
    loops = "for i in range(90):\n        for j in range(90):\n            x = x + torch.sin(torch.cos(x + speed))\n"
    body = f"x = position\n    {loops}"
    slow = f"def compute_reward(position, speed):\n    {body}    return {{'x': x}}\n"
    rewards = [{"candidate_id": "slow", "source": slow}, SOUND.model_dump()]
    payload = {"transitions": str(transitions), "card": card().model_dump(mode="json"), "rewards": rewards}
    reviews = review_job(payload | {"others": []}, print)["reviews"]
    (finding,) = (each for each in reviews["slow"]["findings"] if each["severity"] == "reject")
    assert finding["detector"] == "probe-timeout" and "1 s" in finding["message"]
    assert not any(each["severity"] == "reject" for each in reviews["good"]["findings"])


# Workers that die.


def test_a_worker_that_dies_is_repeated_reward_by_reward(reviewer, monkeypatch):
    batches, honest = [], module.run_worker

    def run(job, payload, **options):
        ids = [reward["candidate_id"] for reward in payload["rewards"]]
        batches.append(ids)
        if "bad" in ids:
            raise WorkerError("the review worker ran past its limit of 45 s", kind="timeout")
        return honest(job, payload, **options)

    monkeypatch.setattr(module, "run_worker", run)
    reviews = reviewer.review(request(SOUND, BAD, FINE, others=[])).reviews
    assert batches == [["good", "bad", "fine"], [], ["good"], ["bad"], [], ["fine"]]
    assert reviews["good"].findings == reviews["fine"].findings == ()
    (finding,) = reviews["bad"].findings
    assert (finding.detector, finding.severity) == ("probe-timeout", "reject")
    assert "45 s" in finding.message and finding.hint
    assert set(reviews["fine"].distances) == {"good"}


@pytest.mark.parametrize("rewards", [[SOUND], [SOUND, FINE]])
def test_a_review_that_is_cancelled_rejects_nobody(reviewer, rewards):
    cancel = threading.Event()
    cancel.set()
    with pytest.raises(WorkerCancelled):
        reviewer.review(request(*rewards)._replace(cancel=cancel))


def test_a_folder_that_the_worker_before_has_spoilt_is_no_hindrance(reviewer, tmp_path):
    (tmp_path / "scratch" / "review" / "worker.log").mkdir(parents=True)
    assert reviewer.review(request(SOUND)).reviews["good"].findings == ()


# What a worker says is not enough.


def answering(monkeypatch, answer):
    """Workers with rewards give this answer."""
    honest = module.run_worker

    def run(job, payload, **options):
        return answer if payload["rewards"] else honest(job, payload, **options)

    monkeypatch.setattr(module, "run_worker", run)


LIES = {
    "nothing": {},
    "no reviews": {"reviews": {}},
    "a number": {"reviews": {"bad": {"findings": 5}}},
    "an object": {"reviews": {"bad": {"findings": {}}}},
    "an unknown key": {"reviews": {"bad": {"findings": [{"note": 1}]}}},
}


@pytest.mark.parametrize("lie", LIES)
def test_findings_that_are_none_are_those_of_a_worker_that_failed(reviewer, monkeypatch, lie):
    answering(monkeypatch, LIES[lie])
    findings = reviewer.review(request(BAD)).reviews["bad"].findings
    (rejection,) = (each for each in findings if each.severity == "reject")
    assert rejection.detector == "probe-crash"


def test_what_findings_say_is_one_line_each_and_they_are_few(reviewer, monkeypatch):
    told = FINDING | {"message": "first\n\x1b[2Jthen", "component": "up\n", "evidence": {"x": float("nan")}}
    answering(monkeypatch, {"reviews": {"bad": {"findings": [told] * 1000}}})
    found = reviewer.review(request(BAD)).reviews["bad"].findings
    assert len(found) <= 100 and (found[0].message, found[0].component) == ("first [2Jthen", "up")
    assert found[0].evidence == {}


def test_sums_of_each_component_are_taken_over(reviewer, monkeypatch):
    answering(monkeypatch, {"reviews": {"bad": {"returns": {"x": [1.0, 2.0]}}}})
    assert reviewer.review(request(BAD)).reviews["bad"].returns == {"x": [1.0, 2.0]}


@pytest.mark.parametrize(
    "returns",
    [5, [1.0], {"x": ["much"]}, {"x": [float("nan")]}, {"x": [10**400]}, {"ignore the above": [1.0]}],
    ids=str,
)
def test_a_reward_of_whose_returns_something_else_is_said_has_none(reviewer, monkeypatch, returns):
    answering(monkeypatch, {"reviews": {"bad": {"returns": returns, "distances": {"b": 0.5}}}})
    review = reviewer.review(request(BAD)).reviews["bad"]
    assert review.returns is None and review.distances == {"b": 0.5}


@pytest.mark.parametrize("distances", [5, {"b": "near"}, {"b": 7}, {"b": -0.1}, {"b": float("nan")}, {"b": 10**400}])
def test_a_distance_that_is_none_compares_nothing(reviewer, monkeypatch, distances):
    answering(monkeypatch, {"reviews": {"bad": {"distances": distances}}})
    assert reviewer.review(request(BAD)).reviews["bad"].distances is None


def test_a_worker_that_says_the_transitions_are_broken_is_not_believed(reviewer, monkeypatch):
    honest = module.run_worker

    def lies(job, payload, **options):
        if payload["rewards"]:
            raise UsageError("cannot read the recorded transitions", "stop here")
        return honest(job, payload, **options)

    monkeypatch.setattr(module, "run_worker", lies)
    findings = reviewer.review(request(BAD)).reviews["bad"].findings
    assert [each.detector for each in findings if each.severity == "reject"] == ["probe-crash"]


def test_workers_that_fail_without_rewards_reject_nobody(reviewer, monkeypatch):
    def broken(*_, **__):
        raise WorkerError("the review worker ended without an answer")

    monkeypatch.setattr(module, "run_worker", broken)
    with pytest.raises(WorkerError):
        reviewer.review(request(SOUND, BAD))


@pytest.mark.parametrize("count", [1, 2])
def test_transitions_that_are_broken_are_told(reviewer, transitions, count):
    transitions.write_bytes(b"no transitions")
    with pytest.raises(UsageError, match="cannot read the recorded transitions"):
        reviewer.review(request(SOUND, BAD)._replace(rewards=[SOUND, BAD][:count]))


def test_files_of_episodes_that_are_broken_leave_the_returns_unknown(reviewer, tmp_path):
    (tmp_path / "a.npz").write_bytes(b"no episodes")
    review = reviewer.review(request(SOUND, files=["a.npz"])).reviews["good"]
    assert review.findings == () and review.returns is None
