"""A kind of task from outside the package, in one file: no MuJoCo, and no states that could be set."""

import json
from pathlib import Path

from tests.e2e.command import SHORTER, history, rewardgen

WALKS = Path(__file__).parent / "walks.py"
REWARD = """
def compute_reward(place, prev_place, pace):
    return {"home": -place.abs(), "closer": prev_place.abs() - place.abs(), "calm": -0.01 * pace.square()}
"""


def test_it_goes_through_a_whole_run(tmp_path):
    done = rewardgen("run", WALKS, *SHORTER[:-1], "1024", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    summary = history(tmp_path).summary
    assert summary and summary.chosen and {row.candidate_id for row in summary.rows} >= {"human", summary.chosen}


def test_its_rewards_are_checked_and_what_it_gives_too_little_for_is_told(tmp_path):
    (tmp_path / "reward.py").write_text(REWARD)
    done = rewardgen("check", WALKS, "reward.py", "--json", cwd=tmp_path)
    told = json.loads(done.stdout)
    assert done.returncode == 0 and told["passed"], done.stderr
    assert any("declares no invariances" in each for each in told["not_available"])


def test_the_task_itself_is_checked(tmp_path):
    done = rewardgen("tasks", "check", WALKS, cwd=tmp_path)
    assert done.returncode == 0, done.stderr + done.stdout
