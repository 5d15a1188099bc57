"""A reward that pays what an earlier one pays is not trained again; one that differs in any way is."""

import pytest

from rewardgen.core.errors import UsageError, WorkerError
from rewardgen.critic.duplicates import SAME, Distance, find_duplicate
from rewardgen.critic.ruler import SandboxedRewardDistance
from rewardgen.sandbox.process import Limits, WorkerCancelled
from rewardgen.sim.transitions import save_transitions
from rewardgen.store.events import read_events
from rewardgen.store.records import RewardSpec, Verdict
from rewardgen.tasks.loading import load_task
from rewardgen.tasks.record_transitions import record_transitions
from tests.builders import card, record
from tests.search.parts import Crew, Listener, a_search

SOURCE = "def compute_reward(position, velocity, action):\n    return {BODY}\n"
BODY = "'near': torch.exp(-4.0 * position.abs()), 'effort': -0.01 * action.square().sum(-1)"
HUGE = {"own": {"b": {"recorded": 10**400, "beyond": float("nan")}}}
LEFT_OUT = "not-compared"
POINT = card(termination_causes=("left the rail",), discount=0.99)


def spec(id, body=BODY):
    return RewardSpec(candidate_id=id, source=SOURCE.replace("BODY", body))


def accepted(id, *fitness):
    return record(id, *fitness, source=spec(id).source)


def found(gaps, *records):
    return find_duplicate(spec("own", BODY.replace("0.01", "0.02")).source, gaps, records)


def test_a_reward_that_pays_what_another_pays_is_rejected_with_its_id_fitness_and_distance():
    finding = found({"g00-k1": Distance(1e-7, 2e-6)}, accepted("g00-k1", 0.5, 0.7))
    assert (finding.gate, finding.detector, finding.severity) == ("duplicate", "behavioural-duplicate", "reject")
    assert "g00-k1 (fitness 0.6)" in finding.message and "2e-06" in finding.message
    assert finding.evidence == {"distance": 2e-6}


def test_without_a_fitness_none_is_told():
    assert "fitness" not in found({"g00-k1": Distance(0.0, 0.0)}, accepted("g00-k1")).message


def test_the_nearest_of_several_is_named_in_whatever_order_they_come():
    gaps = {"g00-k1": Distance(1e-6, 1e-6), "g00-k2": Distance(1e-7, 1e-7), "g00-k3": Distance(0.5, 0.5)}
    records = [accepted(id) for id in gaps]
    for order in (records, records[::-1]):
        assert "g00-k2" in found(gaps, *order).message


@pytest.mark.parametrize(
    "gap",
    [Distance(2 * SAME, 0.0), Distance(0.0, 2 * SAME), Distance(0.0, None), Distance(None, None)],
    ids=["here", "beyond", "?", "??"],
)
def test_what_differs_anywhere_or_cannot_be_told_is_no_duplicate(gap):
    assert found({"g00-k1": gap}, accepted("g00-k1")) is None


def test_what_was_not_accepted_has_no_duplicates():
    assert found({"g00-k1": Distance(0.0, 0.0)}, accepted("g00-k2")) is None


def test_the_same_program_is_told_as_such():
    finding = find_duplicate(spec("own").source + "# again\n", {"g00-k1": Distance(0.0, 0.0)}, [accepted("g00-k1")])
    assert finding is not None and finding.detector == "duplicate-program"


def test_what_to_do_instead_is_told():
    finding = found({"g00-k1": Distance(0.0, 0.0)}, accepted("g00-k1"))
    assert finding.hint.startswith("change what is paid, not how it is scaled or shaped")


def test_equal_pay_with_other_thresholds_is_no_duplicate():
    gaps, own = {"g00-k1": Distance(0.0, 0.0)}, spec("own", "'up': 2.0 * (position > 0.9)").source
    other, same = (
        record("g00-k1", source=spec("g00-k1", body).source)
        for body in ("'up': 2.0 * (position > 0.97)", "'up': 1.0 + 3.0 * (position > 0.9)")
    )
    assert find_duplicate(own, gaps, [other]) is None
    assert find_duplicate(own, gaps, [same]) is not None


def test_a_reward_that_was_left_out_of_the_comparison_is_warned_of():
    finding = found(None, accepted("g00-k1"))
    assert (finding.gate, finding.detector, finding.severity) == ("duplicate", "not-compared", "warn")
    verdict = Verdict(candidate_id="own", findings=(finding,))
    assert verdict.accepted and not verdict.repairable


# In a worker, on recorded transitions.


@pytest.fixture(scope="module")
def bank(tmp_path_factory):
    path = tmp_path_factory.mktemp("bank") / "bank.npz"
    save_transitions(path, record_transitions(load_task("tests/tasks/point.py")))
    return path


@pytest.fixture
def ruler(bank, tmp_path):
    return SandboxedRewardDistance(bank, Limits(wall_s=120.0), tmp_path / "scratch")


def test_rewards_of_a_real_task_are_told_apart(ruler):
    rewards = [
        spec("own"),
        spec("thrice", "'all': 3.0 * torch.exp(-4.0 * position.abs()) - 0.03 * action.square().sum(-1)"),
        spec("tuned", BODY.replace("0.01", "0.011")),
        spec("alive", BODY + ", 'alive': torch.ones_like(position)"),
    ]
    gaps = ruler.gaps(rewards[:1], rewards[1:], POINT)["own"]
    assert gaps["thrice"].widest < SAME / 10
    assert gaps["tuned"].widest > 3 * SAME
    assert gaps["alive"].widest > 0.01


def test_a_reward_that_ends_its_process_is_left_out_and_the_others_are_compared(ruler, monkeypatch):
    run = ruler._run

    def dies_of_one(job, rewards, others, card):
        if any(each.candidate_id == "bad" for each in (*rewards, *others)):
            raise WorkerError("the distance worker ran past its limit")
        return run(job, rewards, others, card)

    monkeypatch.setattr(ruler, "_run", dies_of_one)
    gaps = ruler.gaps([spec("good"), spec("bad"), spec("twin")], [], POINT)
    assert set(gaps) == {"good", "twin"}
    assert gaps["twin"]["good"].widest == 0.0


def test_an_answer_out_of_contract_compares_nothing(ruler, monkeypatch):
    for told in (None, {"a": 1}, {"own": {"b": {"recorded": "0", "beyond": 0}}}, {"own": {"b": {"recorded": 7}}}, HUGE):
        monkeypatch.setattr(ruler, "_run", lambda *_, told=told: {"distances": told, "failed": {}})
        assert ruler.gaps([spec("own")], [spec("b")], POINT) in ({}, {"own": {}})


def test_a_run_that_is_being_stopped_compares_nothing(ruler, monkeypatch):
    def cancelled(*_):
        raise WorkerCancelled("the distance worker was cancelled")

    monkeypatch.setattr(ruler, "_run", cancelled)
    with pytest.raises(WorkerCancelled):
        ruler.gaps([spec("own")], [], POINT)


def test_a_bank_that_cannot_be_read_ends_the_review(tmp_path):
    with pytest.raises(UsageError, match="bank of transitions"):
        SandboxedRewardDistance(tmp_path / "none.npz", Limits(wall_s=60.0), tmp_path).gaps(
            [spec("a"), spec("b")], [], POINT
        )


def test_a_comparison_names_the_reward_that_cannot_be_computed(ruler):
    with pytest.raises(UsageError, match=r"the reward of b cannot be compared.*position"):
        ruler.compare(spec("a"), spec("b", "'x': (position - position).log()"), POINT)


# In the search.


class RewardDistance:
    """Some candidates pay the same; notes what it is asked."""

    def __init__(self, *same):
        self.same = same
        self.asked = []

    def gaps(self, rewards, others, card):
        ids = [each.candidate_id for each in (*rewards, *others)]
        self.asked.append(([each.candidate_id for each in rewards], [each.candidate_id for each in others]))
        return {
            each.candidate_id: {
                other: self._gap(each.candidate_id, other) for other in ids if other != each.candidate_id
            }
            for each in rewards
        }

    def _gap(self, id, other):
        return Distance(0.0, 0.0) if any({id, other} <= set(alike) for alike in self.same) else Distance(0.3, 0.3)


def trained(crew):
    return {what.split("/")[0] for kind, what in crew.calls if kind == "train search"}


def test_of_those_that_pay_the_same_the_first_that_passed_is_trained(tmp_path):
    crew, ruler = Crew(rejected=["g00-k0"]), RewardDistance(("g00-k0", "g00-k1", "g00-k3", "g01-k2"))
    search, history = a_search(tmp_path / "run", crew, ruler=ruler, generations=2)
    search.run()
    assert trained(crew).isdisjoint({"g00-k0", "g00-k3", "g01-k2"}) and "g00-k1" in trained(crew)
    assert "it pays what g00-k1 pays" in history.record("g00-k3").outcome
    assert "it pays what g00-k1 (fitness 0.1" in history.record("g01-k2").outcome
    assert ("repair", "g00-k3") not in crew.calls
    assert ruler.asked[0] == (["g00-k1", "g00-k2", "g00-k3"], [])
    assert ruler.asked[1][1] == ["g00-k1", "g00-k2"]


def test_a_repaired_candidate_is_compared_with_its_generation_too(tmp_path):
    crew, ruler = Crew(repairable=["g00-k0"]), RewardDistance(("g00-k0", "g00-k3"))
    search, history = a_search(tmp_path / "run", crew, ruler=ruler, generations=1)
    search.run()
    assert "it pays what g00-k3 pays" in history.record("g00-k0").outcome


class Dying(RewardDistance):
    """Compares nothing that is asked for together with one of these, which it leaves out."""

    def gaps(self, rewards, others, card):
        assert not {each.candidate_id for each in others} & {"g00-k1"}
        return {id: gaps for id, gaps in super().gaps(rewards, others, card).items() if id != "g00-k1"}


def test_what_could_not_be_compared_is_trained_with_a_warning_and_not_compared_with_again(tmp_path):
    crew = Crew()
    search, history = a_search(tmp_path / "run", crew, ruler=Dying(), generations=2)
    search.run()
    warned = {
        id
        for (id, _), verdict in history.reviewed.items()
        if [each.detector for each in verdict.findings] == [LEFT_OUT]
    }
    assert warned == {"g00-k1"} <= trained(crew)


def test_a_run_stopped_during_a_review_finds_the_same_duplicates(tmp_path):
    same = ("g00-k0", "g00-k1", "g00-k3"), ("g00-k2", "g01-k1"), ("g01-k0", "g01-k3")
    troubles = {"repairable": ["g00-k0"], "rejected": ["g01-k2"]}

    def outcome(path, listener=None):
        search, history = a_search(path, Crew(**troubles), listener, ruler=RewardDistance(*same), generations=2)
        return search.run(), history

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
