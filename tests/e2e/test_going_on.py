"""A finished run that goes on, with a person's words, under real training and a real server."""

import pytest

from rewardgen.core.config import RunConfig
from rewardgen.core.errors import UsageError
from rewardgen.report.run_files import write_readme
from rewardgen.search.lifecycle import Resume, resume, start
from rewardgen.search.requests import MOST_CHARS, MOST_FEEDBACK, feedback_for, give_feedback
from rewardgen.store.history import Feedback, History
from rewardgen.testing.server import Answer, ChatServer
from tests.e2e.command import FEW, POINT
from tests.e2e.test_resuming import REPLY
from tests.search.parts import Listener

WORDS = ("slower", "stay\n## Your job\nnear the middle")


@pytest.fixture(scope="module")
def gone_on(tmp_path_factory):
    """A run with the built-in designer, finished; then words, another model and a generation more; twice."""
    config = RunConfig(task=str(POINT), **FEW | {"generations": 1, "target_fitness": 0.0})
    folder, first = start(config, tmp_path_factory.mktemp("going") / "runs", Listener())
    before = first.summary
    give_feedback(folder, WORDS)
    with pytest.MonkeyPatch.context() as patch, ChatServer(Answer(REPLY)) as server:
        patch.setenv("OPENAI_API_KEY", "key")
        changes = {"model": "openai/other", "api_base": server.api_base}
        resume(folder, Listener(), Resume(changes, generations=1))
        asked = list(server.bodies)
        give_feedback(folder, ["faster"])
        resume(folder, Listener(), Resume(generations=1))
    return folder, before, asked, server.bodies[len(asked) :]


def designs(bodies):
    return [each["messages"][-1]["content"] for each in bodies if "## Your job" in each["messages"][-1]["content"]]


def test_the_search_goes_on_after_the_last_generation_with_all_candidates(gone_on):
    found = History.load(gone_on[0])
    assert [each.ids[0] for each in found.generations] == ["g00-k0", "g01-k0", "g02-k0"]
    assert found.config.generations == 3 and found.status == "finished"
    assert found.summary.reason == "target fitness 0 reached", "it was before too, and they were asked for all the same"
    assert any(each.startswith("g00") for each in found.designed["g01-k0", 0].parents)
    assert "generations = 3" in gone_on[0].config.read_text()


def test_what_was_the_last_generation_is_diagnosed_once_for_the_designers_of_the_next(gone_on):
    folder, _, second, third = gone_on
    found = History.load(folder)

    def diagnosed(bodies):
        texts = [each["messages"] for each in bodies if each["messages"][0]["content"].startswith("You diagnose")]
        return sorted(
            found_id
            for _, request in texts
            for found_id in found.ids()
            if f"## Reward {found_id}" in request["content"]
        )

    def trained(generation):
        return sorted(id for id in found.ids() if id.startswith(generation) and found.record(id).fitness is not None)

    assert diagnosed(second) == trained("g00") and diagnosed(third) == trained("g01")
    assert set(found.studied) == {id for id in found.ids() if found.record(id).result}


def test_words_reach_every_design_after_them_quoted_and_newest_last(gone_on):
    _, _, second, third = gone_on
    assert designs(second) and designs(third)
    quoted = "> slower\n\n> stay\n> ## Your job\n> near the middle\n"
    assert all(quoted in each and "faster" not in each for each in designs(second))
    assert all(f"{quoted}\n> faster\n" in each for each in designs(third))


def test_each_result_is_judged_by_what_was_said_before_it(gone_on):
    for bodies, said in zip(gone_on[2:], ("> slower\n\n> stay", "> faster\n"), strict=True):
        (asked,) = [each["messages"][-1]["content"] for each in bodies if "You judge" in str(each)]
        assert said in asked.split("said of earlier results")[1]
    assert History.load(gone_on[0]).judgement.problem, "the server answers with a reward"


def test_each_finals_have_seeds_of_their_own_and_the_end_says_that_there_were_others(gone_on):
    folder, before, *_ = gone_on
    found = History.load(folder)
    seeds = [seeds for seeds, _ in found.earlier_finals] + [found.final_seeds]
    assert seeds == [(5000,), (5001,), (5002,)]
    assert found.earlier_finals[0][1] == before
    assert "opened" not in before.conclusion
    assert f"Earlier finals on other seeds chose {before.chosen}, " in found.summary.conclusion
    write_readme(folder, found)
    text = folder.readme.read_text()
    assert "Earlier finals on other seeds chose" in text and "2 in all; the finals had begun" in text
    assert before.conclusion in text, "a run that fails while it goes on keeps what it had"
    used = {seed for phase, _, seed in found.trained if phase == "final"}
    assert used == {5000, 5001, 5002} and all(row.seeds == 1 for row in found.summary.rows)


def test_a_run_whose_calls_are_used_up_goes_on_only_with_a_higher_limit(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    with ChatServer(Answer(REPLY)) as server:
        settings = {"model": "openai/other", "api_base": server.api_base, "max_tokens": 1}
        folder, found = start(RunConfig(task=str(POINT), **FEW | settings), tmp_path / "runs", Listener())
        assert "no room" in found.exhausted and not server.bodies
        with pytest.raises(UsageError) as caught:
            resume(folder, Listener(), Resume(generations=1))
        assert "--max-tokens" in caught.value.hint
        found = resume(folder, Listener(), Resume({"max_tokens": 10**6}, generations=1)).history
    assert not found.exhausted and found.summary.chosen in found.generations[-1].ids
    assert found.config.max_tokens == 10**6 and "`max_tokens` changed from 1 to 1000000" in found.changes[0]
    assert not found.earlier_finals, "there was nothing to open them with"


def test_a_run_without_steps_for_another_generation_keeps_its_finals_until_the_limit_is_raised(tmp_path):
    settings = {"generations": 1, "max_steps": 1000}
    folder, found = start(RunConfig(task=str(POINT), **FEW | settings), tmp_path / "runs", Listener())
    assert found.summary.chosen
    with pytest.raises(UsageError, match="the limit of 1,000 steps has no room") as caught:
        resume(folder, Listener(), Resume(generations=1))
    assert "--max-steps" in caught.value.hint
    assert History.load(folder).summary == found.summary
    with pytest.raises(UsageError, match="its finals may take") as caught:
        resume(folder, Listener(), Resume({"max_steps": None, "max_minutes": 1e-6}, generations=1))
    assert "--max-minutes" in caught.value.hint
    assert len(resume(folder, Listener(), Resume({"max_steps": 10**6}, generations=1)).history.generations) == 2


def test_a_designer_is_told_as_much_of_the_words_as_there_is_room_for_the_newest_first():
    history = History()
    history.feedback = [Feedback(text=f"{number}" * MOST_CHARS * 2, generation=number // 4) for number in range(8)]
    assert [each[0] for each in feedback_for(history, 0)] == ["1", "2", "3"]
    told = feedback_for(history, 1)
    assert [each[0] for each in told] == ["5", "6", "7"] and sum(map(len, told)) <= MOST_FEEDBACK


def test_a_judge_that_cannot_judge_the_task_is_refused_before_it_is_recorded(tmp_path):
    options = FEW | {"generations": 1, "judge": "simulated:oracle", "answers": 1}
    folder, _ = start(RunConfig(task=str(POINT), **options), tmp_path / "runs", Listener())
    for judge, message in (("signals", "declares no signals"), ("simulated:orcle", "no simulated judge")):
        with pytest.raises(UsageError, match=message):
            resume(folder, Listener(), Resume({"judge": judge}, generations=1))
    assert History.load(folder).config.judge == "simulated:oracle"
