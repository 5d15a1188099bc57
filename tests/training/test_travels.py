import math

import pytest
import torch

from rewardgen.training.shared.digests import path_efficiencies

STEPS = 81
BACK_AND_FORTH = torch.sin(torch.arange(STEPS) * math.pi / 10).unsqueeze(1)
AHEAD = torch.arange(STEPS, dtype=torch.float32).unsqueeze(1) * 0.1


def of(position, component, length=STEPS):
    """The travel of one component over one episode in which a point moves."""
    found = path_efficiencies({"position": position}, {"progress": component}, torch.tensor([length]))
    return found[0] if found else None


def change(position):
    return torch.cat([torch.zeros(1, 1), position.diff(dim=0)])


def test_gains_that_are_not_taken_back_on_the_way_back_are_all_kept():
    found = of(BACK_AND_FORTH, change(BACK_AND_FORTH).clamp(min=0.0))
    assert found.variable == "position" and found.follows > 0.8
    assert found.kept == pytest.approx(1.0)
    assert found.path == pytest.approx(16.0, rel=0.05) and found.net == pytest.approx(0.0, abs=1e-5)


def test_gains_that_are_taken_back_are_kept_as_little_as_the_way():
    assert of(BACK_AND_FORTH, change(BACK_AND_FORTH)).kept == pytest.approx(0.0, abs=1e-5)


def test_only_the_steps_of_the_episode_count():
    jumps = AHEAD.clone()
    jumps[40:] = 1e6
    moved = BACK_AND_FORTH.clone()
    moved[40:] = torch.nan
    found = of(moved, torch.where(torch.arange(STEPS).unsqueeze(1) < 40, change(BACK_AND_FORTH), jumps), length=40)
    assert found.path == pytest.approx(8.0, rel=0.1)


def test_component_that_follows_no_change_has_no_travel():
    assert of(BACK_AND_FORTH, torch.ones(STEPS, 1)) is None
    assert of(BACK_AND_FORTH, 1.0 - change(BACK_AND_FORTH).abs()) is None  # it pays for rest
    assert of(BACK_AND_FORTH, torch.randn(STEPS, 1, generator=torch.Generator().manual_seed(0))) is None


def test_vectors_and_episodes_of_one_step_have_no_travel():
    assert path_efficiencies({"joints": torch.ones(3, 1, 2)}, {"x": torch.ones(3, 1)}, torch.tensor([3])) == ()
    assert path_efficiencies({"position": torch.ones(1, 1)}, {"x": torch.ones(1, 1)}, torch.tensor([1])) == ()
