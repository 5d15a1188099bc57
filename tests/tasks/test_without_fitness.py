"""Tasks that say `fitness = None`: what they are measured by, what is refused, and how a model drafts one."""

import pytest
import torch

import rewardgen
from rewardgen.core.errors import UsageError
from rewardgen.llm.prompts import render
from rewardgen.sim.episodes import record_episodes, trivial_policies
from rewardgen.tasks.card import measure_card
from rewardgen.tasks.check import check_task
from rewardgen.tasks.draft.language import Draft, read_draft
from rewardgen.tasks.fitness import measure_episodes
from rewardgen.tasks.loading import load_task
from rewardgen.tasks.members import baseline_sources
from rewardgen.testing.server import Answer, ChatServer
from tests.tasks.drafts import BACKFLIP, draft
from tests.tasks.files import unmeasured_point

METRIC = BACKFLIP[BACKFLIP.index("    @staticmethod") :]
UNMEASURED = draft((METRIC, ""), prose="QUESTIONS: How high?\n")


def test_its_episodes_have_no_fitness_no_success_and_its_own_rewards_are_no_bars(tmp_path):
    task = load_task(unmeasured_point(tmp_path))
    envs = task.make_envs([0], 3)
    measures = measure_episodes(task, record_episodes(envs, trivial_policies(envs)["random"]).episode)
    assert torch.equal(measures.fitness, torch.zeros(3).double()) and not measures.success.any()
    card = measure_card(task)
    assert not (card.has_fitness or task.has_success or card.success) and baseline_sources(task) == {}


def test_a_success_or_a_solved_fitness_beside_it_is_a_problem(tmp_path):
    assert check_task(load_task(unmeasured_point(tmp_path))).problems == []
    (problem,) = check_task(load_task(unmeasured_point(tmp_path, "    solved_fitness = 0.5\n"))).problems
    assert "`solved_fitness`, and `fitness = None`" in problem.what


@pytest.mark.parametrize("judge", ["fitness", "simulated:oracle"])
def test_a_run_that_ranks_by_fitness_is_refused_with_the_judges_that_can(tmp_path, judge):
    file = unmeasured_point(tmp_path)
    with pytest.raises(UsageError, match="has no fitness to rank candidates by") as refused:
        rewardgen.run(file, judge=judge, runs_dir=tmp_path / "runs")
    assert "--judge human" in refused.value.hint


def test_a_draft_without_a_metric_is_a_task_and_one_with_a_metric_is_refused_there():
    found = read_draft(UNMEASURED, measured=False)
    assert isinstance(found, Draft) and found.questions == "How high?"
    assert "    fitness = None\n" in found.file("A hop.", "hopper.xml", 4)
    (finding,) = read_draft(draft(), measured=False)
    assert "defines `metric` 1 times" in finding.message
    (finding,) = read_draft(UNMEASURED)
    assert "defines `metric` 0 times" in finding.message


def test_words_judged_by_a_person_become_a_task_without_a_metric_in_one_call(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-local")
    with ChatServer(lambda _, body: Answer(UNMEASURED)) as chat:
        options = {"file": tmp_path / "hop.py", "api_base": chat.api_base, "judge": "human"}
        made = rewardgen.draft("hop with joy", "hopper", "openai/local", **options)
    assert made.drafted.trial is None and len(chat.bodies) == 1
    assert "a metric" not in chat.bodies[0]["messages"][0]["content"]
    assert not load_task(str(made.file)).has_fitness


def test_the_model_that_reads_the_result_is_told_of_no_fitness():
    words = render("task/verdict_system", judged=True)
    assert "fitness" not in words and "fitness" in render("task/verdict_system", judged=False)
