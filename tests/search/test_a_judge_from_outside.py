"""A judge is one class. One that never looks at fitness decides alone: parents, stops, leaders, the chosen reward."""

import pytest

from rewardgen.search.judge import JUDGES
from rewardgen.store.history import History
from rewardgen.store.ranking import Rank, Ranking
from rewardgen.store.run_folder import RunFolder
from tests.search.parts import Crew, a_search


class Preferring:
    """Likes candidates the better, the lower the last digit of their id; sees no fitness."""

    by_fitness = False

    def rank(self, records):
        trained = [record.candidate for record in records if record.result and not record.result.failure]
        ids = [candidate.id for candidate in trained if candidate.operator != "baseline"]
        ranks = [Rank(candidate_id=id, estimate=-float(id[-1])) for id in ids]
        return Ranking(ranks=tuple(sorted(ranks, key=lambda each: each.estimate, reverse=True)))


@pytest.fixture
def registered():
    JUDGES.register("preferring", lambda config: Preferring())
    yield
    JUDGES.remove("preferring")


def test_it_chooses_parents_and_the_reward_against_their_fitness(tmp_path, registered):
    search, history = a_search(tmp_path / "run", Crew(), judge="preferring", generations=2)
    summary = search()
    assert summary.chosen == "g00-k0"
    assert history.finalists == ("g00-k0", "human", "sparse")
    assert history.record("g01-k0").candidate.parents == ("g00-k0",)
    assert history.record("g00-k0").fitness < history.record("g00-k1").fitness


def test_what_it_said_is_remembered_so_that_looking_at_the_run_needs_no_judge(tmp_path, registered):
    search, _ = a_search(tmp_path / "run", Crew(), judge="preferring", generations=2)
    search()
    JUDGES.remove("preferring")
    read = History.load(RunFolder(tmp_path / "run"))
    assert read.best().candidate.id == "g00-k0"
    assert [each.best.candidate_id for each in read.generations] == ["g00-k0", "g00-k0"]
    JUDGES.register("preferring", lambda config: Preferring())


def test_its_gains_decide_when_the_search_stops(tmp_path, registered):
    search, history = a_search(tmp_path / "run", Crew(), judge="preferring", generations=9, patience=2)
    assert search().reason == "no gain beyond noise for 2 generations"
    assert len(history.generations) == 3
