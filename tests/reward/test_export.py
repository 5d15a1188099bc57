"""A reward as a file: torch alone runs it, to the values of a training, and nothing that the language did not check."""

import ast
import importlib.util
import subprocess
import sys

import pytest
import torch

from rewardgen.core.errors import UsageError
from rewardgen.reward.export import reward_file, reward_in
from rewardgen.reward.language import check_language
from rewardgen.reward.plain import plain_source
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


OTHERWISE = {
    "a sum in place of what two names share": """
    a = 2.0 * height
    b = a
    b += x_velocity
    return {"a": a, "b": b}""",
    "a sum in place with another shape and dtype": """
    mask, total = height > 1.0, torch.zeros(())
    mask += 0.5
    total -= height
    return {"mask": mask, "total": total}""",
    "an iterator that is gone through twice": """
    pairs = zip((1.0, 2.0), (height, x_velocity))
    return {"a": sum(w * x for w, x in pairs), "b": sum(x for _, x in pairs),
            "c": sum(i * w * x for i, (w, x) in enumerate(zip((1.0, 2.0), reversed([height, x_velocity]))))}""",
    "a generator that is gone through twice": """
    terms = (w * height for w in (1.0, 2.0))
    return {"a": sum(terms), "b": sum(terms) + torch.stack(terms).sum(0)}""",
    "sets in the order in which they are written": """
    names = {"b", "a", "c"} ; more = {each for each in ("z", "y")} ; last = set(("q", "p"))
    parts = {}
    for number, name in enumerate([*names, *more, *last]):
        parts[name] = height * number
    return parts""",
    "numpy's meaning of methods": """
    import numpy as n
    x = n.stack([height, x_velocity], axis=-1)
    y = (x > n.float32(0.5)).astype(n.float32).copy()
    parts = {"max": x.max(axis=-1), "std": y.std(axis=-1), "norm": n.linalg.norm(x, axis=-1)}
    return {**parts, "clip": n.clip(height, 0, 1)}""",
    "an import in a helper that serves another": """
    def half(x):
        from math import pi as half_turn
        return x * half_turn
    def other(x):
        return x * half_turn
    print("never")
    return {"a": half(height), "b": other(height)}""",
    "names of the file's own": """
    reward_and_components = INPUTS = _cosine = height
    return {"a": reward_and_components + INPUTS, "b": _cosine + tolerance(height, 1.0, 1.2, 0.5, "cosine")}""",
    "a total that leaves something unexplained, and plain numbers": """
    return height + 1.0, {"a": height, "b": 0.5, "c": torch.tensor(0.25)}""",
    "what is evaluated nowhere": """
    assert unknown_name.nowhere, "of no matter"
    kept: NoSuchName = height
    return {"a": kept}""",
}


@pytest.mark.parametrize("what", OTHERWISE)
def test_what_python_reads_otherwise_is_written_out(what, tmp_path, capfd):
    same_as_the_run(f"def compute_reward(height, x_velocity):{OTHERWISE[what]}\n", tmp_path)
    assert capfd.readouterr().out == ""


def test_comments_and_layout_stay_where_nothing_had_to_be_rewritten():
    text = reward_file(PLAIN)
    assert "# Fast and upright.\n" in text and "    fast: torch.Tensor = w * speed  # comment\n" in text
    assert "assert" not in text and "no_grad" not in text
    odd = "def compute_reward(height):\n    a  =  height ; a *= 1 - height  # ö\n    return { 'a' : a }\n"
    assert reward_file(odd).count("a  =  height ; a = a * (1 - height)  # ö\n    return { 'a' : a }\n") == 1


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
        ("# Fast", "#\r# open('canary', 'w')\r#"),
    ],
)
def test_what_the_language_ignores_and_python_runs_is_left_out(old, new, tmp_path, monkeypatch):
    source = PLAIN.replace(old, new)
    assert check_language(source) == ()
    monkeypatch.chdir(tmp_path)
    module = loaded(reward_file(source), tmp_path)
    module.compute_reward(torch.zeros(3), torch.zeros(3))
    assert not (tmp_path / "canary").exists()
    code = "\n".join(line.partition("#")[0] for line in reward_file(source).split("\n"))
    assert "canary" not in code


@pytest.mark.parametrize("style", HONEST)
def test_the_reward_in_a_file_is_a_reward_again(style):
    own = reward_in(reward_file(HONEST[style]))
    if "numpy__" not in own:
        compile_reward(own)(inputs())
    assert reward_in(HONEST[style]) == HONEST[style]


ADDED = "import os; os.mkdir('canary')\n"
AROUND = {
    "before": lambda text: ADDED + text,
    "after its docstring": lambda text: text.replace("annotations\n", f"annotations\n{ADDED}", 1),
    "before the reward": lambda text: text.replace("\n# --- The", f"\n{ADDED}\n# --- The", 1),
    "after the reward": lambda text: text.replace("End of the reward. ---\n", f"End of the reward. ---\n{ADDED}", 1),
    "at the end": lambda text: text + ADDED,
    "in the function around it": lambda text: text.replace("    added = ", f"    {ADDED}    added = ", 1),
    "in what it returns": lambda text: text.replace("return total, {", "return exit() or total, {", 1),
    "in an annotation of the reward": lambda text: text.replace("height: torch.Tensor", "height: os.mkdir('canary')"),
    "in a changed encoding": lambda text: "# coding: utf_7 +AAo-import os\n" + text,
}


@pytest.mark.parametrize("where", AROUND)
def test_a_file_with_anything_beside_its_reward_is_not_taken_for_its_reward(where):
    text = reward_file(PLAIN)
    changed = AROUND[where](text)
    assert changed != text and reward_in(text) != text
    assert reward_in(changed) == changed and check_language(reward_in(changed))


def test_names_of_a_reward_win_over_those_of_its_file(tmp_path):
    own = "INPUTS = 2.0\ndef reward_and_components(x):\n    return x * INPUTS\n"
    source = own + "def compute_reward(height):\n    return {'a': reward_and_components(height)}\n"
    module = loaded(reward_file(source), tmp_path)
    assert module.INPUTS_ == ("height",)
    total, _ = module.reward_and_components_({"height": torch.ones(3)})
    assert total.tolist() == [2.0] * 3


EMPTIED = {
    "for": "    for _ in range(2):\n        assert len('x')\n",
    "if": "    if w:\n        assert len('x')\n",
    "else": "    if w:\n        w = 1.0\n    else:\n        assert len('x')\n",
    "with": "    with torch.no_grad():\n        assert len('x')\n",
    "one line": "    if w: assert len('x')\n",
    "nested": "    if w:\n        with torch.no_grad():\n            assert len('x')\n",
    "def": "    @torch.no_grad()\n    def helper(x):\n        assert len('x')\n",
}


@pytest.mark.parametrize("body", EMPTIED.values(), ids=EMPTIED)
def test_what_held_nothing_but_an_assert_stays_a_program(body):
    source = f"def compute_reward(height, *, w: float = 1.0):\n{body}    return {{'h': w * height}}\n"
    plain = plain_source(source, ast.parse(source))
    assert "assert" not in plain and check_language(plain) == check_language(source) == ()


@pytest.mark.parametrize("source", ["import os\n" + PLAIN, "def compute_reward(x):\n  open('x')", "def (", ""])
def test_what_is_not_in_the_language_makes_no_file(source):
    with pytest.raises(UsageError):
        reward_file(source)


def test_the_file_runs_where_there_is_nothing_but_torch(tmp_path):
    (tmp_path / "reward.py").write_text(reward_file(PLAIN.replace("w * speed", "w * np.abs(speed) + tolerance(speed)")))
    code = "import sys; sys.modules['rewardgen'] = None; import reward; print(reward.INPUTS)"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
