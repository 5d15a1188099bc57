"""Two texts are the same reward if they do the same by construction."""

import pytest

from rewardgen.reward.identity import source_fingerprint

BASE = '''
import torch

WIDTH = 0.3

def bell(x, width=0.1):
    return torch.exp(-(x / width) ** 2)

def compute_reward(height, pitch, *, weight: float = 1.0):
    """Stand up."""
    up = weight * bell(height, width=WIDTH)  # tall
    return {"up": up, "level": -pitch.abs()}
'''

SAME = {
    "comments": BASE.replace("# tall", "# and a longer remark"),
    "layout": BASE.replace(", pitch", ",\n        pitch").replace("-pitch.abs()", "(-pitch.abs())"),
    "annotations": BASE.replace("height, pitch", "height: torch.Tensor, pitch: 'Tensor'"),
    "numbers": BASE.replace("0.3", "3e-1"),
}
DIFFERENT = {
    "local names": BASE.replace("up =", "standing =").replace('"up": up', '"up": standing'),
    "number": BASE.replace("0.3", "0.4"),
    "input": BASE.replace("pitch", "roll"),
    "default": BASE.replace("weight: float = 1.0", "weight: float = 2.0"),
}


@pytest.mark.parametrize("name", SAME)
def test_what_does_not_change_the_reward_does_not_change_its_fingerprint(name):
    assert SAME[name] != BASE
    assert source_fingerprint(SAME[name]) == source_fingerprint(BASE)


@pytest.mark.parametrize("name", DIFFERENT)
def test_what_changes_the_reward_changes_its_fingerprint(name):
    assert source_fingerprint(DIFFERENT[name]) != source_fingerprint(BASE)


@pytest.mark.parametrize("text", ["", "def (", "\ud800", "x" * 50_000])
def test_any_text_has_a_fingerprint(text):
    assert len(source_fingerprint(text)) == 16
    assert source_fingerprint(text) != source_fingerprint(BASE)
