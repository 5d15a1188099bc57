"""A whole run on a game of several agents: one policy for all, and what a reward pays each is told."""

import shutil
from pathlib import Path

import pytest

from rewardgen.llm.analysis_text import analysis_text
from tests.e2e.command import SHORTER, history, rewardgen

HUNT = Path(__file__).with_name("parallel.py")


@pytest.mark.parametrize("trainer", ["ppo", pytest.param("sb3-ppo", marks=pytest.mark.slow)])
def test_a_run_tells_what_each_agent_is_paid(tmp_path, trainer):
    shutil.copy(HUNT, tmp_path / "hunt.py")
    done = rewardgen("run", "hunt.py", "--trainer", trainer, *SHORTER, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = history(tmp_path)
    records = [record for id in found.ids() if (record := found.record(id)) and record.fitness is not None]
    assert records
    for record in records:
        (trained,) = record.result.slices
        assert [*trained.credits] == ["hunter_0", "hare_0", "hare_1"]
        paid = [sum(own.values()) for own in trained.credits.values()]
        assert sum(paid) / 3 == pytest.approx(trained.curve[-1].episode_return, rel=1e-4, abs=1e-4)
        assert "reward per episode of hare_1" in analysis_text(record)
        assert len(trained.outcomes) in (16, 32)
