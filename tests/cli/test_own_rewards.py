"""`rewardgen tasks baselines` and `rewardgen suite --rewards` on a task that trains in a second."""

import json
import re
from types import SimpleNamespace

import pytest

from rewardgen.cli.baselines import OwnRewards, own_rewards
from rewardgen.core.errors import RunFolderError
from rewardgen.store.records import CandidateResult
from rewardgen.ui.baselines import BaselineRow, baselines_markdown
from tests.builders import failed_slice, slice_result
from tests.tasks.files import point

SOLVED = ("    episode_steps = 60\n", "    episode_steps = 60\n    solved_fitness = 0.0\n")
SHORT = ("--env-steps", "4096", "--seeds", "2")


def test_an_author_sees_whether_the_own_rewards_solve_the_task_and_trains_nothing_twice(rewardgen, tmp_path):
    task = point(tmp_path, SOLVED)
    done = rewardgen("tasks", "baselines", task, *SHORT, "--json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["rows"]
    assert [(row["reward"], row["solved_at"], row["solved"], row["steps"]) for row in rows] == [
        ("human", 0.0, True, 4096),
        ("sparse", 0.0, True, 4096),
    ]
    assert "seed 1: fitness" in done.stderr
    again = rewardgen("tasks", "baselines", task, *SHORT)
    assert "seed 1: fitness" not in again.stderr
    assert re.search(r"human +\S+ .* yes \(2 of 2\) +4k", again.stdout)


def test_a_page_of_several_tasks_names_its_command_and_what_was_left_out(rewardgen, tmp_path):
    for name in ("broken", "dying", "other"):
        (tmp_path / name).mkdir()
    broken = point(tmp_path / "broken", ("frame_skip = 2", "frame_skip = gone"))
    dying = point(tmp_path / "dying", ("frame_skip = 2", "frame_skip = __import__('os')._exit(3)"))
    sparse_only = ("def human_reward(", "def _human_reward(")
    task, other = point(tmp_path, sparse_only), point(tmp_path / "other", sparse_only)
    named = (dying, task, broken, other)
    done = rewardgen(
        "suite", *named, "--rewards", "human,sparse", *SHORT, "--markdown", "page.md", "--runs-dir", "kept"
    )
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "page.md").read_text()
    assert f"`rewardgen suite {' '.join(named)} --rewards human,sparse --seeds 2 --env-steps 4096" in page
    rows = re.findall(r"^\| `.*", page, re.MULTILINE)
    assert len(rows) == 2 and all(row.startswith("| `point` | sparse | ppo | ") and "| none |" in row for row in rows)
    assert len(list((tmp_path / "kept").iterdir())) == 2  # each has its own, though their names are the same
    assert f"Left out: {broken}: `Point` of point.py raised NameError" in page
    assert re.search(f"Left out: {dying}: .* ended without an answer", page)
    assert "--markdown page.md --runs-dir kept`" in page  # by which it goes on there
    assert "Not trained yet" not in page


def test_what_one_reward_reached_is_told_though_the_next_could_not_be_trained(tmp_path, monkeypatch):
    def train(reference, reward, **_):
        if reward == "sparse":
            raise RunFolderError("the disk is full", "make room")
        return SimpleNamespace(result=CandidateResult(candidate_id=reward, slices=(slice_result(reward),)))

    monkeypatch.setattr("rewardgen.cli.baselines.train", train)
    own_rewards((point(tmp_path), "cartpole"), "human,sparse", OwnRewards(), markdown=tmp_path / "page.md")
    page = (tmp_path / "page.md").read_text()
    assert page.count("| human |") == 2 and page.count("the disk is full. make room") == 2


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (["cartpole", "--rewards", "humn"], "`humn` is no reward that tasks have", "did you mean `human`?"),
        (["cartpol", "--rewards", "human"], "unknown task `cartpol`", "did you mean `cartpole`?"),
        (["suite.toml", "--seeds", "2"], "a suite is one TOML file", "--rewards human,sparse"),
        ([], "a suite is one TOML file", "--rewards human,sparse"),
        (["cartpole", "--rewards", "human", "--trainer", "pop"], "pop", "ppo"),
    ],
)
def test_what_cannot_be_trained_is_told_before_anything_is(rewardgen, arguments, message, hint):
    done = rewardgen("suite", *arguments)
    assert done.returncode == 2
    assert message in done.stderr.split("hint:")[0] and hint in done.stderr.split("hint:")[1]


def test_a_success_that_nothing_reaches_is_told(rewardgen, tmp_path):
    never = ("(episode.last(episode", "(self.fitness(episode) > 1.5) & (episode.last(episode")
    done = rewardgen("tasks", "baselines", point(tmp_path, never), "--env-steps", "2048", "--seeds", "1")
    assert "no policy ever succeeds. `success` may ask for what nothing reaches" in " ".join(done.stdout.split())


def row(*fitness, solved_at=0.5, reward="human"):
    slices = [
        slice_result(reward, seed, value) if value is not None else failed_slice(reward, seed)
        for seed, value in enumerate(fitness)
    ]
    return BaselineRow("hopper", reward, "ppo", CandidateResult(candidate_id=reward, slices=tuple(slices)), solved_at)


@pytest.mark.parametrize(
    ("found", "solved", "told"),
    [
        (row(0.6, 0.7, 0.8), True, "yes (3 of 3)"),
        (row(0.1, 0.2, 0.8), False, "no (1 of 3)"),
        (row(0.6, 0.7, solved_at=None), None, "| none |"),
        (row(0.6, None), None, "failed"),
    ],
)
def test_a_task_is_solved_where_the_mean_over_the_seeds_says_so(found, solved, told):
    assert found.solved is solved
    assert told in baselines_markdown([found], (), 3, "rewardgen suite")


def test_tasks_that_are_slow_or_not_here_are_left_out_unless_named(rewardgen, tmp_path, monkeypatch):
    from rewardgen.cli import baselines
    from rewardgen.tasks.listing import GROUPS, Listed

    listed = [
        Listed("cartpole", GROUPS.get("own").title, "", tmp_path),
        Listed("humanoid", GROUPS.get("own").title, "", tmp_path, slow=True),
        Listed("window_open", GROUPS.get("own").title, "", tmp_path, problem="needs metaworld", hint="pip install it"),
        Listed("slide", "my-points", "", tmp_path),
    ]
    monkeypatch.setattr(baselines, "listed_tasks", lambda: listed)
    tasks, notes = baselines._chosen(())
    assert tasks == ["cartpole"]
    assert notes == [
        "Not here: window_open: needs metaworld; pip install it.",
        "Left out, for they are too slow for two cores unless they are named: humanoid.",
    ]
    assert baselines._chosen(("humanoid",)) == (["humanoid"], ["Not asked for: cartpole, window_open."])
