"""A language model that reads along: what it vetoes is repaired or left out, and it is asked about nothing else."""

import gc
import json

import pytest

from rewardgen.core.errors import BudgetExhausted
from rewardgen.critic.critic import Critic
from rewardgen.critic.llm_review import Reader
from rewardgen.llm.protocol import CallFailed
from rewardgen.store.events import read_events
from rewardgen.testing.scripted import ScriptedLLM
from tests.critic.reviews import FakeReviewer
from tests.search.parts import Crew, Listener, a_search


def objecting(*labels, verdict="veto"):
    """Objects to the calls of these labels, and passes the rest."""

    def answer(request):
        check = {"item": "meaning", "verdict": verdict, "evidence": "rewards the wrong way round"}
        passed = [{"item": item, "verdict": "pass"} for item in ("task", "leak", "loophole", "balance", "gradient")]
        return json.dumps({"checks": [check, *passed] if request.label in labels else []})

    return ScriptedLLM(answer)


def _detectors(record):
    return [each.detector for each in record.verdict.findings]


def asked(llm):
    return [each.label for each in llm.requests]


def test_a_veto_leads_to_a_repair_and_the_repair_is_read_too(tmp_path):
    llm, crew = objecting("g00-k1/critic/reading-0"), Crew(fixable=["g00-k1"])
    search, history = a_search(tmp_path / "run", crew, reader=Reader(llm), generations=1)
    search()
    assert crew.calls.count(("repair", "g00-k1")) == 1
    assert "g00-k1/critic/reading-1" in asked(llm)
    assert history.record("g00-k1").fitness is not None


def test_a_veto_for_good_keeps_the_candidate_from_training(tmp_path):
    llm, crew = objecting("g00-k1/critic/reading-0"), Crew()
    search, history = a_search(tmp_path / "run", crew, reader=Reader(llm), generations=1)
    search()
    assert history.record("g00-k1").fitness is None
    assert history.record("g00-k1").outcome == "rewards the wrong way round"


def test_a_warning_is_kept_and_the_candidate_trained(tmp_path):
    llm, crew = objecting("g00-k1/critic/reading-0", verdict="warn"), Crew()
    search, history = a_search(tmp_path / "run", crew, reader=Reader(llm), generations=1)
    search()
    record = history.record("g00-k1")
    assert record.fitness is not None
    assert [each.detector for each in record.verdict.findings] == ["read-meaning"]


def test_what_other_gates_reject_is_not_read(tmp_path):
    llm, crew = objecting(), Crew(rejected=["g00-k1"])
    search, _ = a_search(tmp_path / "run", crew, reader=Reader(llm), generations=1)
    search()
    assert asked(llm) == [f"g00-k{number}/critic/reading-0" for number in (0, 2, 3)]


def alike(llm):
    """A critic to which all rewards of a generation pay the same."""
    return Critic(FakeReviewer(same=[[f"g00-k{number}" for number in range(4)]]), Reader(llm))


def test_an_interrupted_search_leaves_no_reading_begun(tmp_path, recwarn):
    class Interrupting(Listener):
        def progress(self, message):
            if (message.get("gate"), message["candidate_id"]) == ("model", "g00-k1"):
                raise KeyboardInterrupt

    search, _ = a_search(tmp_path / "run", Crew(), Interrupting(None), reader=Reader(objecting()), generations=1)
    with pytest.raises(KeyboardInterrupt):
        search()
    gc.collect()  # also what earlier tests left behind, which may warn of other things
    assert not [each for each in recwarn.list if "never awaited" in str(each.message)]


def test_a_duplicate_is_not_read(tmp_path):
    llm = objecting()
    search, _ = a_search(tmp_path / "run", Crew(), critic=alike(llm), generations=1)
    search()
    assert asked(llm) == ["g00-k0/critic/reading-0"]


def test_duplicates_of_what_is_vetoed_are_refused_also_after_any_interruption(tmp_path):
    vetoed = ["g00-k0/critic/reading-0", "g00-k0/critic/reading-1"]

    def reviewed(path, stop_after=None):
        critic = alike(objecting(*vetoed))
        search, history = a_search(path, Crew(), Listener(stop_after), critic=critic, generations=1)
        search()
        return history.reviewed

    expected = reviewed(tmp_path / "whole")
    assert [each.rejections[0].gate for each in expected.values()] == ["model", *["duplicate"] * 3]
    kinds = [event.kind for event in read_events(tmp_path / "whole" / "events.jsonl")]
    for cut in range(kinds.index("run-started") + 2, len(kinds)):
        with pytest.raises(KeyboardInterrupt):
            reviewed(tmp_path / f"cut{cut}", cut - 1)
        assert reviewed(tmp_path / f"cut{cut}") == expected


def test_a_spent_budget_trains_what_was_not_read_and_ends_the_search(tmp_path):
    llm, crew = ScriptedLLM(BudgetExhausted("the limit of 1 USD is reached", "raise it")), Crew()
    search, history = a_search(tmp_path / "run", crew, reader=Reader(llm))
    summary = search()
    assert len(history.generations) == 1 and summary.reason == "the limit of 1 USD is reached"
    assert all(history.record(id).fitness is not None for id in history.ids())
    assert all(_detectors(history.record(id)) == ["no-reading"] for id in history.ids())


def test_a_failed_reading_is_recorded_and_the_candidate_trained(tmp_path):
    search, history = a_search(tmp_path / "run", Crew(), reader=Reader(ScriptedLLM(CallFailed("timed out"))))
    search()
    assert all(_detectors(history.record(id)) == ["no-reading"] for id in history.ids())
    assert all(history.record(id).fitness is not None for id in history.ids())


def test_a_budget_spent_on_a_reading_is_not_forgotten_when_the_run_is_killed(tmp_path):
    spent = BudgetExhausted("the limit of 1 USD is reached", "raise it")
    for stop_after in (7, 10):
        path = tmp_path / f"run-{stop_after}"
        search, _ = a_search(path, Crew(), Listener(stop_after), reader=Reader(ScriptedLLM(spent)))
        with pytest.raises(KeyboardInterrupt):
            search()
        search, history = a_search(path, Crew(), reader=Reader(ScriptedLLM(spent)))
        assert search().reason == "the limit of 1 USD is reached"
        assert len(history.generations) == 1
