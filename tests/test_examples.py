"""The examples run as they are."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.command import POINT

EXAMPLES = Path(__file__).parent.parent / "examples"


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    place = tmp_path_factory.mktemp("examples")

    def run(name, *arguments):
        command = [sys.executable, str(EXAMPLES / name), *map(str, arguments)]
        environment = os.environ | {"PYTHONPATH": str(EXAMPLES.parent)}
        done = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, timeout=240)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.mark.slow
def test_a_reward_is_searched_for_and_used_and_a_policy_trained_on_it(example):
    told = example("search.py", POINT, "--quick")
    assert "fresh seed" in told
    assert "def compute_reward" in told
    told = example("train_with_sb3.py", "latest", "--quick")
    assert "fitness" in told
    assert "success" in told


def test_a_reward_is_checked(example):
    told = example("check_a_reward.py")
    assert told.startswith("rejected")
    assert "`pole_upright`" in told


def test_a_training_of_stable_baselines3_on_an_environment_of_gymnasium_is_watched(example):
    told = example("watch_sb3.py", "--quick")
    assert all(name in told for name in ("reward_forward", "reward_ctrl", "reward_survive"))
    assert "residual" not in told  # the three are the whole reward
    assert "fitness, `x_position`: " in told
    assert "[ends-early]" in told


def test_every_example_is_run_here():
    text = Path(__file__).read_text()
    assert [path.name for path in EXAMPLES.glob("*.py") if f'"{path.name}"' not in text] == []
