"""A reward that pays what an earlier one pays is not trained again; one that differs in any way is."""

import pytest

from rewardgen.core.errors import UsageError
from rewardgen.critic.critic import Critic
from rewardgen.critic.duplicates import SAME, find_duplicate
from rewardgen.critic.sandboxed import ReviewRequest, SandboxedReviewer
from rewardgen.sandbox.process import Limits
from rewardgen.sim.transitions import save_transitions
from rewardgen.store.events import read_events
from rewardgen.store.records import RewardSpec, Verdict
from rewardgen.tasks.loading import load_task
from rewardgen.tasks.record_transitions import record_transitions
from tests.builders import card, record
from tests.critic.reviews import FakeReviewer
from tests.search.parts import Crew, Listener, a_search

SOURCE = "def compute_reward(position, velocity, action):\n    return {BODY}\n"
BODY = "'near': torch.exp(-4.0 * position.abs()), 'effort': -0.01 * action.square().sum(-1)"
LEFT_OUT = "not-compared"
POINT = card(termination_causes=("left the rail",), discount=0.99)


def spec(id, body=BODY):
    return RewardSpec(candidate_id=id, source=SOURCE.replace("BODY", body))


def accepted(id, *fitness):
    return record(id, *fitness, source=spec(id).source)


def found(distances, *records):
    return find_duplicate(spec("own", BODY.replace("0.01", "0.02")).source, distances, records)


def test_a_reward_that_pays_what_another_pays_is_rejected_with_its_id_and_distance():
    finding = found({"g00-k1": 2e-6}, accepted("g00-k1", 0.5, 0.7))
    assert (finding.gate, finding.detector, finding.severity) == ("duplicate", "behavioural-duplicate", "reject")
    assert "pays what g00-k1 pays" in finding.message and "2e-06" in finding.message
    assert finding.evidence == {"distance": 2e-6}


def test_the_nearest_of_several_is_named_in_whatever_order_they_come():
    distances = {"g00-k1": 1e-6, "g00-k2": 1e-7, "g00-k3": 0.5}
    records = [accepted(id) for id in distances]
    for order in (records, records[::-1]):
        assert "g00-k2" in found(distances, *order).message


@pytest.mark.parametrize("distance", [2 * SAME, None])
def test_what_differs_or_cannot_be_told_is_no_duplicate(distance):
    assert found({"g00-k1": distance}, accepted("g00-k1")) is None


def test_the_same_program_is_told_as_such():
    finding = find_duplicate(spec("own").source + "# again\n", {"g00-k1": 0.0}, [accepted("g00-k1")])
    assert finding is not None and finding.detector == "duplicate-program"


def test_a_reward_that_was_left_out_of_the_comparison_is_warned_of():
    finding = found(None, accepted("g00-k1"))
    assert (finding.gate, finding.detector, finding.severity) == ("duplicate", "not-compared", "warn")
    verdict = Verdict(candidate_id="own", findings=(finding,))
    assert verdict.accepted and not verdict.repairable


# In a worker, on recorded transitions.


@pytest.fixture(scope="module")
def transitions(tmp_path_factory):
    path = tmp_path_factory.mktemp("transitions") / "transitions.npz"
    save_transitions(path, record_transitions(load_task("tests/tasks/point.py")))
    return path


@pytest.fixture
def reviewer(transitions, tmp_path):
    return SandboxedReviewer(transitions, Limits(wall_s=120.0), tmp_path / "scratch")


def test_rewards_of_a_real_task_are_told_apart(reviewer):
    others = [
        spec("thrice", "'all': 3.0 * torch.exp(-4.0 * position.abs()) - 0.03 * action.square().sum(-1)"),
        spec("tuned", BODY.replace("0.01", "0.011")),
        spec("alive", BODY + ", 'alive': torch.ones_like(position)"),
    ]
    request = ReviewRequest([spec("own")], POINT, others=others)
    distances = reviewer.review(request).reviews["own"].distances
    assert distances["thrice"] < SAME / 10
    assert distances["tuned"] > 3 * SAME
    assert distances["alive"] > 0.01


def test_equal_pay_with_other_limits_is_not_comparable(reviewer):
    up = "'up': 2.0 * position.clamp(max=3.0) + 0.1 * velocity"
    others = [spec("higher", up.replace("3.0", "4.0")), spec("scaled", f"'up': 4.0 * ({up[6:]})")]
    request = ReviewRequest([spec("own", up)], POINT, others=others)
    distances = reviewer.review(request).reviews["own"].distances
    assert distances["higher"] is None and distances["scaled"] < SAME


def test_two_rewards_are_compared_by_their_components(reviewer):
    found = reviewer.compare(spec("a"), spec("b", BODY.replace("4.0", "9.0")), POINT)
    assert found.distance > 1e-3 and found.same_name["effort"] == 0.0 and found.same_name["near"] > 1e-3
    for shares in found.shares:
        assert sum(shares.values()) == pytest.approx(1.0) and set(shares) == {"near", "effort"}


def test_a_comparison_names_the_reward_that_cannot_be_computed(reviewer):
    with pytest.raises(UsageError, match=r"the reward of b cannot be compared.*position"):
        reviewer.compare(spec("a"), spec("b", "'x': (position - position).log()"), POINT)


# In the search.


def critic(crew, *same, left_out=()):
    """Rejects what the crew's critic rejects, and takes some rewards for the same; notes what it is asked."""
    rejected = (*crew.rejected, *crew.repairable)
    reviewer = FakeReviewer(
        lambda each: each.candidate_id in rejected and "2 *" not in each.source, same=same, left_out=left_out
    )
    return Critic(reviewer), reviewer


def trained(crew):
    return {what.split("/")[0] for kind, what in crew.calls if kind == "train search"}


def test_of_those_that_pay_the_same_the_first_that_passed_is_trained(tmp_path):
    crew = Crew(rejected=["g00-k0"])
    own, reviewer = critic(crew, ("g00-k0", "g00-k1", "g00-k3", "g01-k2"))
    search, history = a_search(tmp_path / "run", crew, critic=own, generations=2)
    search()
    assert trained(crew).isdisjoint({"g00-k0", "g00-k3", "g01-k2"}) and "g00-k1" in trained(crew)
    assert "it pays what g00-k1 pays" in history.record("g00-k3").outcome
    assert "it pays what g00-k1 pays" in history.record("g01-k2").outcome
    assert ("repair", "g00-k3") not in crew.calls
    others = [[each.candidate_id for each in request.others] for request in reviewer.requests]
    assert others == [[], ["g00-k1", "g00-k2"]]


def test_a_repaired_candidate_is_compared_with_its_generation_too(tmp_path):
    crew = Crew(repairable=["g00-k0"])
    search, history = a_search(tmp_path / "run", crew, critic=critic(crew, ("g00-k0", "g00-k3"))[0], generations=1)
    search()
    assert "it pays what g00-k3 pays" in history.record("g00-k0").outcome


def test_what_could_not_be_compared_is_trained_with_a_warning_and_not_compared_with_again(tmp_path):
    crew = Crew()
    own, reviewer = critic(crew, left_out=["g00-k1"])
    search, history = a_search(tmp_path / "run", crew, critic=own, generations=2)
    search()
    warned = {
        id
        for (id, _), verdict in history.reviewed.items()
        if [each.detector for each in verdict.findings] == [LEFT_OUT]
    }
    assert warned == {"g00-k1"} <= trained(crew)
    assert [each.candidate_id for each in reviewer.requests[1].others] == ["g00-k0", "g00-k2", "g00-k3"]


def test_a_run_stopped_during_a_review_finds_the_same_duplicates(tmp_path):
    same = ("g00-k0", "g00-k1", "g00-k3"), ("g00-k2", "g01-k1"), ("g01-k0", "g01-k3")
    troubles = {"repairable": ["g00-k0"], "rejected": ["g01-k2"]}

    def outcome(path, listener=None):
        crew = Crew(**troubles)
        search, history = a_search(path, crew, listener, critic=critic(crew, *same)[0], generations=2)
        return search(), history

    whole, expected = outcome(tmp_path / "whole")
    events = read_events(tmp_path / "whole" / "events.jsonl")
    reviews = [number for number, event in enumerate(events, 1) if event.kind == "reviewed"]
    assert len(reviews) == 9
    for cut in reviews:
        with pytest.raises(KeyboardInterrupt):
            outcome(tmp_path / f"cut{cut}", Listener(stop_after=cut))
        summary, history = outcome(tmp_path / f"cut{cut}")
        assert summary == whole
        assert history.reviewed == expected.reviewed
