"""A detector from outside the package is one function and one row in one file, and runs in the workers."""

import importlib
import sys

import pytest
import torch

from rewardgen.core.errors import UsageError
from rewardgen.critic.registry import DETECTORS, Detector, outside_modules, register
from rewardgen.critic.review import ReviewRequest, SandboxedReviewer
from rewardgen.sandbox.process import Limits
from rewardgen.sim.transitions import save_transitions
from rewardgen.store.records import RewardSpec
from tests.builders import unrelated
from tests.critic.walker import findings, walker_card

OUTSIDE = "tests.critic.outside"
SOURCE = (
    "def compute_reward(joint_velocity, height):\n    return {'h': 100.0 * height - joint_velocity.abs().sum(-1)}\n"
)


@pytest.fixture
def outside():
    importlib.import_module(OUTSIDE)
    yield
    for name in ("long-name", "high-pay", "broken"):
        DETECTORS.remove(name)
    del sys.modules[OUTSIDE]


@pytest.mark.usefixtures("outside")
def test_a_detector_from_outside_speaks_with_ours():
    assert "long-name" in [each.detector for each in findings(SOURCE)]
    assert outside_modules() == [OUTSIDE]


def test_it_is_gone_with_its_row():
    assert "long-name" not in [each.detector for each in findings(SOURCE)]
    assert outside_modules() == []


def test_a_detector_that_no_worker_could_import_is_refused():
    def find(reward):
        yield from ()

    find.__module__ = "__main__"
    register(Detector("mine", "static", "warn", "what I see", "", find))
    try:
        with pytest.raises(UsageError, match="in the script itself"):
            outside_modules()
    finally:
        DETECTORS.remove("mine")


def test_a_name_is_given_once():
    with pytest.raises(UsageError, match="there is a detector `unused-input` already"):
        register(Detector("unused-input", "static", "warn", "", "", lambda reward: iter(())))


@pytest.mark.usefixtures("outside")
def test_workers_run_it(tmp_path):
    values = {"joint_velocity": torch.randn(256, 3), "height": torch.randn(256)}
    save_transitions(tmp_path / "bank.npz", unrelated(values))
    reviewer = SandboxedReviewer(tmp_path / "bank.npz", Limits(wall_s=60.0), tmp_path / "scratch")
    request = ReviewRequest([RewardSpec(candidate_id="a", source=SOURCE)], frozenset(["a"]), walker_card())
    told = reviewer.review(request).reviews["a"].findings
    assert {"long-name", "high-pay"} <= {each.detector for each in told}
    (fault,) = [each for each in told if each.detector == "broken"]
    assert fault.severity == "warn" and f"of `{OUTSIDE}`, raised KeyError: 'my bug'" in fault.message
    assert not any(each.severity == "reject" for each in told), "a detector's own fault is not the reward's"
