"""A reward as a file: Python does nothing with it that the language did not check."""

import ast

import pytest

from rewardgen.core.errors import UsageError
from rewardgen.reward.export import importable
from rewardgen.reward.language import check_language

PLAIN = '''# Fast and upright.
from __future__ import annotations
import torch

WEIGHT: float = 2.0

@torch.no_grad()
def compute_reward(height: torch.Tensor, speed: "Tensor", *, w: float = 1.0) -> dict[str, torch.Tensor]:
    """Both."""
    assert height.ndim == 1, "one per world"
    fast: torch.Tensor = w * speed  # comment
    return {"height": WEIGHT * height, "fast": fast}
'''


def test_a_plain_reward_is_handed_out_as_it_is():
    assert check_language(PLAIN) == ()
    assert importable(PLAIN) == PLAIN


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"Tensor"', "open('canary', 'w')"),
        ("dict[str, torch.Tensor]", "[open('canary', 'w')]"),
        ("WEIGHT: float", "WEIGHT: open('canary', 'w')"),
        ("height.ndim == 1", "open('canary', 'w')"),
        ("fast: torch.Tensor", "fast: (lambda: open('canary', 'w'))()"),
        ("no_grad()", "no_grad(open('canary', 'w'))"),
        ("# Fast", "# coding: utf_7 +AAo-open('canary', 'w')"),
        ("# Fast", "\n# vim: set fileencoding=utf_7 : +AAo-open('canary', 'w')"),
    ],
)
def test_what_the_language_ignores_and_python_runs_is_left_out(old, new):
    source = PLAIN.replace(old, new)
    assert check_language(source) == ()
    handed = importable(source)
    assert "canary" not in handed and "compute_reward" in handed
    ast.parse(handed)


EMPTIED = {
    "for": "    for _ in range(2):\n        assert len('x')\n",
    "if": "    if w:\n        assert len('x')\n",
    "else": "    if w:\n        w = 1.0\n    else:\n        assert len('x')\n",
    "with": "    with torch.no_grad():\n        assert len('x')\n",
    "nested": "    if w:\n        with torch.no_grad():\n            assert len('x')\n",
    "def": "    def helper(x):\n        assert len('x')\n",
}


@pytest.mark.parametrize("body", EMPTIED.values(), ids=EMPTIED)
def test_what_held_nothing_but_an_assert_stays_a_program(body):
    source = f"def compute_reward(height, *, w: float = 1.0):\n{body}    return {{'h': w * height}}\n"
    handed = importable(source)
    compile(handed, "reward.py", "exec")
    assert "assert" not in handed and check_language(handed) == check_language(source)


def test_a_reward_that_cannot_be_written_out_is_no_broken_file(monkeypatch):
    monkeypatch.setattr(ast, "unparse", lambda _: "def compute_reward(:")
    with pytest.raises(UsageError, match="cannot be written"):
        importable(PLAIN.replace("height.ndim == 1", "len('x')"))
