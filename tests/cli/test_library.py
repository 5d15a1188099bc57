"""`rewardgen library`, and a run's winner added to a library of one's own."""

import json

from tests.search.test_library import a_library, a_run


def listed(done):
    assert done.returncode == 0, done.stderr
    return [entry["name"] for entry in json.loads(done.stdout)["entries"]]


def test_rewards_are_found_by_robot_variables_and_words(rewardgen):
    everything = listed(rewardgen("library", "list", "--json"))
    hoppers = listed(rewardgen("library", "list", "--robot", "hopper", "--json"))
    assert "shipped:pusher" in everything and set(hoppers) < set(everything) and "shipped:hopper" in hoppers
    turning = listed(rewardgen("library", "list", "--variable", "turns", "--variable", "clear", "--json"))
    assert set(turning) == {"shipped:hopper_backflip", "shipped:cheetah_flip"}
    assert listed(rewardgen("library", "list", "push the box", "--json"))[0] == "shipped:push_to_goal"
    none = rewardgen("library", "list", "--robot", "unicycle")
    assert none.returncode == 1 and "no reward in the library matches" in none.stderr


def test_nearness_to_a_task_says_which_reward_is_of_the_very_same_task(rewardgen):
    done = rewardgen("library", "list", "--near", "cartpole")
    assert done.returncode == 0
    first = done.stdout.splitlines()[0]
    assert first.startswith("shipped:cartpole cartpole, nearness") and "the same task: no example" in first


def test_a_reward_is_shown_with_its_evidence_and_its_code_alone_on_stdout(rewardgen):
    done = rewardgen("library", "show", "hopper")
    assert done.returncode == 0 and done.stdout.startswith("def compute_reward(")
    assert "success 81 %; 10 fresh seeds" in done.stderr and "licence: Apache-2.0" in done.stderr
    assert json.loads(rewardgen("library", "show", "shipped:hopper", "--json").stdout)["task"] == "hopper"


def test_an_unknown_reward_is_an_error_with_the_nearest_one(rewardgen):
    for name, hint in (("hoper", "did you mean `hopper`"), ("cheetah", "shipped:half_cheetah_backwards")):
        done = rewardgen("library", "show", name)
        assert done.returncode == 2 and hint in done.stderr


def test_a_run_s_winner_is_exported_into_a_library_and_found_there(rewardgen, tmp_path):
    history = a_run(tmp_path / "runs" / "20260101-000000-point-aaaa")
    done = rewardgen("export", "latest", "mine/fast_point", "--as", "library")
    assert done.returncode == 0, done.stderr
    assert {path.name for path in (tmp_path / "mine" / "fast_point").iterdir()} == {
        "README.md",
        "entry.json",
        "reward.py",
    }
    found = listed(rewardgen("library", "list", "origin", "--library", "mine", "--runs-dir", "none", "--json"))
    assert found[0] == "fast_point"
    winner = history.record(history.summary.chosen).candidate.source
    assert rewardgen("library", "show", "fast_point", "--library", "mine").stdout == winner


def test_only_a_winner_that_solved_its_task_is_exported_into_a_library(rewardgen, tmp_path):
    a_run(tmp_path / "runs" / "20260101-000000-point-aaaa", 0.2)
    done = rewardgen("export", "latest", "mine/slow", "--as", "library")
    assert done.returncode == 2 and "did not solve its task: fitness 0.2" in done.stderr and "20 %" in done.stderr
    other = rewardgen("export", "latest:human", "mine/human", "--as", "library")
    assert other.returncode == 2 and "human is not the winner" in other.stderr
    assert not (tmp_path / "mine").exists()


def test_a_broken_library_ends_a_run_before_it_begins(rewardgen, tmp_path):
    library, _ = a_library(tmp_path)
    (tmp_path / "library" / "mine" / "reward.py").write_text("import os\n")
    done = rewardgen("run", "cartpole", "--model", "mailbox:mail", "--examples", "1", "--library", library)
    assert done.returncode == 2 and "library entry" in done.stderr and "the reward is refused" in done.stderr
    assert not (tmp_path / "runs").exists() or not any((tmp_path / "runs").iterdir())
