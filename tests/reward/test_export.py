"""A reward as a file: torch alone runs it, to the values of a training, and the language has checked all of it."""

import importlib.util
import subprocess
import sys

import pytest
import torch

from rewardgen.core.errors import UsageError
from rewardgen.reward.export import reward_file, reward_in
from rewardgen.reward.language import check_language
from rewardgen.reward.program import compile_reward
from tests.reward.corpus import HONEST, inputs

PLAIN = '''# Fast and upright.
from __future__ import annotations
import torch
from typing import Dict

WEIGHT: float = 2.0

@torch.no_grad()
def compute_reward(height: torch.Tensor, speed: "Tensor", *, w: float = 1.0) -> dict[str, torch.Tensor]:
    """Both."""
    assert height.ndim == 1, "one per env"
    fast: torch.Tensor = w * speed  # comment
    return {"height": WEIGHT * height, "fast": fast}
'''


def loaded(text, tmp_path):
    path = tmp_path / "reward.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location("exported_reward", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def same_as_the_run(source, tmp_path, envs=64):
    module, program = loaded(reward_file(source), tmp_path), compile_reward(source)
    expected = program(inputs(envs))
    total, parts = module.reward_and_components(inputs(envs))
    assert list(parts) == list(expected)
    for name, value in expected.items():
        torch.testing.assert_close(parts[name], value, rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(total, expected.total, rtol=1e-6, atol=1e-6)
    return module


@pytest.mark.parametrize("style", HONEST)
def test_the_file_of_an_honest_reward_has_the_values_of_the_run(style, tmp_path):
    same_as_the_run(HONEST[style], tmp_path)


STYLES = {
    "a sum in place": """
    a = 2.0 * height
    b = a.clone()
    b += x_velocity
    return {"a": a, "b": b}""",
    "numpy by another name": """
    import numpy as n
    x = n.stack([height, x_velocity], axis=-1)
    return {"max": n.max(x, axis=-1), "norm": n.linalg.norm(x, axis=-1), "clip": n.clip(height, 0, 1)}""",
    "an import in a helper": """
    def half(x):
        from math import pi as half_turn
        return x * half_turn
    return {"a": half(height)}""",
    "a total that leaves something unexplained, and plain numbers": """
    return height + 1.0, {"a": height, "b": 0.5, "c": torch.tensor(0.25)}""",
    "changes of the inputs": """
    height += x_velocity
    return {"a": height}""",
}


@pytest.mark.parametrize("style", STYLES)
def test_the_file_of_any_style_has_the_values_of_the_run(style, tmp_path):
    same_as_the_run(f"def compute_reward(height, x_velocity):{STYLES[style]}\n", tmp_path)


def test_the_file_holds_the_source_that_ran():
    text = reward_file(PLAIN)
    for line in PLAIN.split("\n"):
        left_out = line.startswith(("from __future__", "@"))
        assert (f"\n#: {line}\n" if left_out else f"\n{line}\n") in text


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("# Fast", "# coding: utf_7 +AAo-open('canary', 'w')"),
        ("# Fast", "\n# vim: set fileencoding=utf_7 : +AAo-open('canary', 'w')"),
        ("# Fast", "#\r# open('canary', 'w')\r#"),
    ],
)
def test_a_comment_never_becomes_code(old, new, tmp_path, monkeypatch):
    source = PLAIN.replace(old, new)
    assert check_language(source) == ()
    monkeypatch.chdir(tmp_path)
    module = loaded(reward_file(source), tmp_path)
    module.compute_reward(torch.zeros(3), torch.zeros(3))
    assert not (tmp_path / "canary").exists()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"Tensor"', "open('canary', 'w')"),
        ("dict[str, torch.Tensor]", "[open('canary', 'w')]"),
        ("WEIGHT: float", "WEIGHT: open('canary', 'w')"),
        ("height.ndim == 1", "open('canary', 'w')"),
        ("fast: torch.Tensor", "fast: (lambda: open('canary', 'w'))()"),
        ("no_grad()", "no_grad(open('canary', 'w'))"),
    ],
)
def test_calls_in_annotations_decorators_and_asserts_are_refused(old, new):
    assert check_language(PLAIN.replace(old, new))


@pytest.mark.parametrize("style", [*HONEST][::6])
def test_the_reward_in_a_file_is_a_reward_again(style):
    own = reward_in(reward_file(HONEST[style]))
    compile_reward(own)(inputs())
    assert reward_in(HONEST[style]) == HONEST[style]


ADDED = "import os; os.mkdir('canary')\n"
AROUND = {
    "before": lambda text: ADDED + text,
    "after the reward": lambda text: text.replace("End of the reward. ---\n", f"End of the reward. ---\n{ADDED}", 1),
    "at the end": lambda text: text + ADDED,
    "in the function around it": lambda text: text.replace("    added = ", f"    {ADDED}    added = ", 1),
    "in an annotation of the reward": lambda text: text.replace("height: torch.Tensor", "height: os.mkdir('canary')"),
    "in a changed encoding": lambda text: "# coding: utf_7 +AAo-import os\n" + text,
}


@pytest.mark.parametrize("where", AROUND)
def test_a_file_with_anything_beside_its_reward_is_not_taken_for_its_reward(where):
    text = reward_file(PLAIN)
    changed = AROUND[where](text)
    assert changed != text and reward_in(text) != text
    assert reward_in(changed) == changed and check_language(reward_in(changed))


def test_a_reward_with_a_name_of_the_file_is_not_exported():
    with pytest.raises(UsageError, match="`INPUTS` of its own"):
        reward_file("INPUTS = 2.0\ndef compute_reward(height):\n    return {'a': INPUTS * height}\n")


@pytest.mark.parametrize("source", ["import os\n" + PLAIN, "def compute_reward(x):\n  open('x')", "def (", ""])
def test_what_is_not_in_the_language_makes_no_file(source):
    with pytest.raises(UsageError):
        reward_file(source)


def test_the_file_runs_where_there_is_nothing_but_torch(tmp_path):
    (tmp_path / "reward.py").write_text(reward_file(PLAIN.replace("w * speed", "w * np.abs(speed) + tolerance(speed)")))
    code = "import sys; sys.modules['rewardgen'] = None; import reward; print(reward.INPUTS)"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
