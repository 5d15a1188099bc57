"""A strategy is one class, registered under a name that a run's configuration can give."""

import pytest

from rewardgen.core.errors import UsageError
from rewardgen.search.strategy import STRATEGIES, slot_id
from rewardgen.store.records import Slot
from tests.search.parts import Crew, a_search


class OnlyTheBest:
    """One draft, then edits of the best so far."""

    learns = True

    def __init__(self, config, judge):
        self._judge = judge

    def plan(self, records, generation):
        parents = self._judge.rank(records).ids[:1]
        return (Slot(candidate_id=slot_id(generation, 0), operator="edit" if parents else "draft", parents=parents),)


@pytest.fixture
def registered():
    STRATEGIES.register("only-the-best", OnlyTheBest)
    yield
    STRATEGIES.remove("only-the-best")


def test_it_plans_the_whole_search(tmp_path, registered):
    search, history = a_search(tmp_path / "run", Crew(), strategy="only-the-best", generations=3)
    assert search().chosen == "g02-k0"
    assert [history.record(id).candidate.parents for id in history.ids()] == [(), ("g00-k0",), ("g01-k0",)]


def test_unknown_strategy_is_told_with_the_nearest_one(tmp_path):
    with pytest.raises(UsageError, match="unknown strategy `best-of-m`") as caught:
        a_search(tmp_path / "run", Crew(), strategy="best-of-m")
    assert "`best-of-n`" in caught.value.hint and "docs/python.md" in caught.value.hint


def slots(*each):
    return tuple(Slot(candidate_id=id, operator=operator, parents=parents) for id, operator, parents in each)


@pytest.mark.parametrize(
    ("planned", "told"),
    [
        ((), "plans no candidate"),
        (slots(("g00-k0", "draft", ()), ("g00-k0", "draft", ())), "plans `g00-k0` twice"),
        (slots(("g00-k0", "edit", ("g00-k7",))), "plans `g00-k0` from the unknown `g00-k7`"),
        (slots(("g00-k0", "edit", ())), "plans `g00-k0` by `edit` without a parent"),
    ],
)
def test_what_cannot_be_planned_is_told_and_not_written_down(tmp_path, registered, monkeypatch, planned, told):
    monkeypatch.setattr(OnlyTheBest, "plan", lambda self, records, generation: planned)
    search, history = a_search(tmp_path / "run", Crew(), strategy="only-the-best")
    with pytest.raises(UsageError, match=told):
        search()
    assert not history.generations
