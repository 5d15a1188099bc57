"""Which designers hear what a person said, and which do not."""

import pytest

from rewardgen.search.requests import give_feedback
from rewardgen.store.run_folder import RunFolder
from tests.search.parts import Crew, Listener, a_search


class Hears(Crew):
    def __init__(self, **more):
        super().__init__(**more)
        self.heard = {}

    async def design(self, request):
        self.heard[request.candidate_id] = request.feedback
        return await super().design(request)

    async def repair(self, request, candidate, findings):
        self.heard[f"{candidate.id} repaired"] = request.feedback
        return await super().repair(request, candidate, findings)


@pytest.mark.parametrize("strategy", ["evolve", "best-of-n"])
def test_words_are_for_generations_that_begin_after_them_and_the_one_under_way_stays_as_it_was(tmp_path, strategy):
    crew, path, settings = Hears(repairable=["g00-k1"]), tmp_path / "run", {"generations": 3, "strategy": strategy}
    search, _ = a_search(path, crew, Listener(stop_after=3), **settings)  # a first candidate is designed
    with pytest.raises(KeyboardInterrupt):
        search()
    give_feedback(RunFolder(path), ["slower", "lower"])
    search, history = a_search(path, crew, **settings)
    search()
    assert {id: said for id, said in crew.heard.items() if said and id.startswith("g00")} == {}
    assert "g00-k1 repaired" in crew.heard
    later = [said for id, said in crew.heard.items() if not id.startswith("g00")]
    assert len(later) == 8 and set(later) == {("slower", "lower")}
    assert [each.generation for each in history.feedback] == [1, 1]
