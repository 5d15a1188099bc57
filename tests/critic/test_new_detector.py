"""A detector from outside the package is one function and one row in one file, and runs in the workers."""

import importlib
import sys

import pytest
import torch

from rewardgen.core.detectors import Detector
from rewardgen.core.errors import UsageError
from rewardgen.critic.detectors import DETECTORS
from rewardgen.critic.probe import probe  # noqa: F401  (registers the package's own)
from rewardgen.critic.sandboxed import ReviewRequest, SandboxedReviewer
from rewardgen.sandbox.process import Limits
from rewardgen.sim.transitions import save_transitions
from rewardgen.store.records import RewardSpec
from tests.builders import card, unrelated

OUTSIDE = "tests.critic.outside"
SOURCE = "def compute_reward(height):\n    return {'h': 100.0 * height}\n"


@pytest.fixture
def outside():
    importlib.import_module(OUTSIDE)
    yield
    for name in ("high-pay", "broken"):
        DETECTORS.remove(name)
    del sys.modules[OUTSIDE]


@pytest.mark.usefixtures("outside")
def test_workers_run_it_and_its_own_fault_costs_the_reward_a_warning(tmp_path):
    assert DETECTORS.outside_modules() == [OUTSIDE]
    save_transitions(tmp_path / "bank.npz", unrelated({"height": torch.randn(256)}))
    reviewer = SandboxedReviewer(tmp_path / "bank.npz", Limits(wall_s=60.0), tmp_path / "scratch")
    request = ReviewRequest([RewardSpec(candidate_id="a", source=SOURCE)], card())
    findings = {finding.detector: finding for finding in reviewer.review(request).reviews["a"].findings}
    assert set(findings) == {"high-pay", "broken"}
    assert findings["broken"].severity == "warn"
    assert f"`broken` of `{OUTSIDE}` raised KeyError: 'my bug'" in findings["broken"].message


def test_a_detector_that_no_worker_could_import_is_refused():
    def find(reward):
        yield from ()

    find.__module__ = "__main__"
    DETECTORS.add(Detector("mine", "a fault", find))
    try:
        with pytest.raises(UsageError, match="in the script itself"):
            DETECTORS.outside_modules()
    finally:
        DETECTORS.remove("mine")
    assert DETECTORS.outside_modules() == []
