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
    assert "`best-of-n`" in caught.value.hint
