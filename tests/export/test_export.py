"""Each export is used by a script in a fresh environment that has no rewardgen."""

import ast
import csv
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import stable_baselines3
import torch

from rewardgen.cli.app import main
from rewardgen.core.errors import RewardgenError, UsageError
from rewardgen.export.exporting import KINDS, export
from rewardgen.export.jobs import policy_job
from rewardgen.export.vendor import bases_of, task_source, vendored
from rewardgen.sim.gym_env import start_seed
from rewardgen.sim.transitions import save_transitions
from rewardgen.store.comparisons import Clip, Comparison
from rewardgen.store.run_folder import RunFolder
from rewardgen.tasks.loading import lasting_reference
from rewardgen.training.mlp_policy import MlpPolicy
from tests.builders import unrelated
from tests.export.runs import CHOSEN, a_run, the_policy
from tests.search.parts import Crew, a_search


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """Runs Python where there is what is installed here, but not rewardgen; what it printed."""
    place = tmp_path_factory.mktemp("fresh")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(place)], check=True)
    installed = str(Path(torch.__file__).parents[1])

    def run(*arguments, cwd):
        environment = {"PATH": os.environ["PATH"], "PYTHONPATH": installed, "HOME": str(place)}
        command = [str(place / "bin" / "python"), *arguments]
        done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    run("-c", "import importlib.util as u; assert not u.find_spec('rewardgen') or not u.find_spec('rewardgen.core')",
        cwd=place)  # fmt: skip
    return run


@pytest.fixture(scope="module")
def cartpole(tmp_path_factory):
    return a_run(tmp_path_factory.mktemp("cartpole"))


TORCH_SCRIPT = """
import sys

import torch

sys.path.insert(0, "as-torch")
from reward import INPUTS, reward_and_components

total, components = reward_and_components({name: torch.rand(8, *[1] * (name == "action")) for name in INPUTS})
assert set(components) == {"upright", "effort", "residual"}
torch.testing.assert_close(total, sum(components.values()))
if sys.modules.keys().isdisjoint(("gymnasium", "mujoco", "stable_baselines3")):
    print("the reward needs torch alone")
del sys.modules["reward"], sys.path[0]
"""
ENVIRONMENT_SCRIPT = """
sys.path.insert(0, "as-gymnasium")
import check
import warnings

import gymnasium
import numpy as np
from gymnasium.utils.env_checker import check_env
from stable_baselines3.common.env_checker import check_env as check_env_of_sb3

import cartpole_env
warnings.simplefilter("ignore")
env = gymnasium.make("rewardgen/cartpole-v0")
check_env(env.unwrapped, skip_render_check=True)
check_env_of_sb3(env.unwrapped)
observation, _ = env.reset(seed=1)
_, reward, *_, info = env.step(env.action_space.sample())
assert set(info["components"]) == {"upright", "effort", "residual"}, info
assert abs(reward - sum(info["components"].values())) < 1e-9
assert set(info["variables"]) >= {"cart_position", "pole_upright"}
other = cartpole_env.make_env(reward=lambda inputs: {"one": inputs["pole_upright"] * 0 + 1})
other.reset()
assert other.step(np.zeros(1, np.float32))[1] == 1.0
try:
    gymnasium.make("rewardgen/cartpole-v0", render_mode="rgb_array")
except ValueError as caught:
    assert "draws nothing" in str(caught), caught
else:
    raise AssertionError
"""


SB3_SCRIPT = """
import numpy as np
from stable_baselines3 import PPO
model = PPO.load("as-sb3/policy.zip")
observations = np.load("observations.npy")
np.save("actions.npy", np.stack([model.predict(each, deterministic=True)[0] for each in observations]))
"""


@pytest.fixture(scope="module")
def used(cartpole, python, tmp_path_factory):
    """Where a script used exports of three kinds one after the other, and what it printed."""
    place = tmp_path_factory.mktemp("used")
    for kind in ("torch", "gymnasium", "sb3"):
        export(*cartpole, CHOSEN, place / f"as-{kind}", kind)
    np.save(place / "observations.npy", (3 + torch.randn(50, 5)).numpy())
    return place, python("-c", TORCH_SCRIPT + ENVIRONMENT_SCRIPT + SB3_SCRIPT, cwd=place)


def test_the_reward_alone_needs_nothing_but_torch(used):
    place, told = used
    assert "the reward needs torch alone" in told
    assert "equals the run in" in (place / "as-torch" / "README.md").read_text()


def test_an_export_asks_for_the_versions_that_rewardgen_asks_for(used):
    place, _ = used
    assert "\nmujoco>=3." in (place / "as-gymnasium" / "requirements.txt").read_text()
    assert "stable-baselines3>=2." in (place / "as-sb3" / "README.md").read_text()


def test_whole_episodes_of_the_environment_are_those_of_the_run(used):
    _, told = used
    assert "an episode of 250 steps equals the run" in told and "the policy acts as in the run" in told


EYES = """
STAGES = ("low", "high")
OBSERVED = ("push", "angle", "far")


def next_stage(stage, pole_upright):
    return torch.where(pole_upright > -0.98, 1, torch.where(pole_upright < -0.999, 0, stage))


def observe(pole_upright, cart_position, prev_cart_position, prev_action, stage, *, scale: float = 3.0):
    moved = cart_position - prev_cart_position
    return torch.stack((prev_action[:, 0], scale * pole_upright + stage, 10.0 * moved), -1)


def compute_reward(pole_upright, stage):
    return {"up": pole_upright + stage}
"""
EYES_SCRIPT = """
import sys
import torch
sys.path.insert(0, "as-torch")
import reward
seen = reward.seen_besides({name: torch.ones((2, 1) if name == "action" else 2) for name in reward.SEES})
assert seen.shape == (2, 5)
del sys.modules["reward"]
sys.path[0] = "seeing"
import check
import numpy as np
import cartpole_env
env = cartpole_env.make_env()
assert env.observation_space.shape == (5 + 2 + 3,)
for _ in range(2):
    observation, _ = env.reset()
    assert observation[5:8].tolist() == [1.0, 0.0, 0.0] and observation[9] == 0.0
    done = False
    while not done:
        action = np.full(1, 0.25, np.float32)
        observation, _, terminated, truncated, info = env.step(action)
        upright, stage = info["variables"]["pole_upright"], observation[6]
        assert observation[7] == 0.25 and abs(observation[8] - 3.0 * upright - stage) < 1e-5
        done = terminated or truncated
alone = cartpole_env.make_env(reward=lambda inputs: {"one": inputs["pole_upright"]})
assert alone.reset()[0].shape == (5,)
print("eyes")
"""


def test_an_environment_shows_what_the_policy_saw_in_training_and_the_policy_acts_in_it(python, tmp_path):
    run = a_run(tmp_path, source=EYES, eyes=5)
    export(*run, CHOSEN, tmp_path / "seeing", "gymnasium")
    export(*run, CHOSEN, tmp_path / "as-torch", "torch")
    told = python("-c", EYES_SCRIPT, cwd=tmp_path)
    assert "an episode of 250 steps equals the run" in told and "the policy acts as in the run" in told
    readme = (tmp_path / "seeing" / "README.md").read_text()
    assert "then 3 of `observe`: `push`, `angle`, `far`." in readme and told.endswith("eyes\n")
    readme = (tmp_path / "as-torch" / "README.md").read_text()
    assert (
        "then 3 of `observe`" in readme
        and "`seen_besides(inputs, stage)` computes them, from the inputs of `SEES`" in readme
    )


def test_an_export_says_how_training_episodes_differed_from_the_task(tmp_path):
    folder, history = a_run(tmp_path)
    ranges = ("friction=0.5:1.5", "delay=0:2")
    history.config = history.config.model_copy(update={"randomise": ranges, "levels": True})
    export(folder, history, CHOSEN, tmp_path / "as-torch", "torch")
    readme = (tmp_path / "as-torch" / "README.md").read_text()
    assert "trained with `--levels --randomise friction=0.5:1.5 --randomise delay=0:2`" in readme


def test_an_environment_for_policies_that_are_blind_shows_the_tasks_observation_alone(python, tmp_path):
    run = a_run(tmp_path, source=EYES, trainer="sb3-ppo")
    export(*run, CHOSEN, tmp_path / "blind", "gymnasium")
    assert "the policy acts as in the run" in python("check.py", cwd=tmp_path / "blind")
    assert "of `observe`" not in (tmp_path / "blind" / "README.md").read_text()


@pytest.mark.slow
def test_the_same_with_a_model_of_gymnasium_and_numpy_in_the_reward(python, tmp_path):
    export(*a_run(tmp_path, "hopper", transitions=False), CHOSEN, tmp_path / "hopper", "gymnasium")
    assert "equals the run: rewards, fitness" in python("check.py", cwd=tmp_path / "hopper")
    with np.load(tmp_path / "hopper" / "expected.npz") as file:
        assert len(file["rewards"]) > 300 and file["rewards"].std() > 0.1


def test_stable_baselines_loads_the_policy_and_acts_alike(cartpole, used):
    place, _ = used
    expected = the_policy(*cartpole).act(torch.as_tensor(np.load(place / "observations.npy"))).numpy()
    assert 0.1 < np.abs(expected).mean() < 0.99, "it is not always at an end of its range"
    np.testing.assert_allclose(np.load(place / "actions.npy"), expected, atol=1e-4)


GYM_SCRIPT = """
import sys
sys.modules["mujoco"] = None  # it is not needed
sys.path.insert(0, "gymnasium")
import check
import gymnasium
import numpy as np
from stable_baselines3 import ALGORITHM
model, env = ALGORITHM.load("sb3/policy.zip"), gymnasium.make("ID")
with np.load("gymnasium/expected.npz") as file:
    observations, fitness = file["observations"], float(file["fitness"])
seen, paid = env.reset(seed=SEED)[0], []
for expected in observations:
    np.testing.assert_allclose(seen, expected, rtol=1e-4, atol=1e-4)
    seen, reward, *ends, _ = env.step(model.predict(seen, deterministic=True)[0])
    paid.append(reward)
assert any(ends) and abs(sum(paid) - fitness) < 1e-3 * abs(fitness), (sum(paid), fitness)
ALGORITHM.load("sb3/policy.zip", env=env, custom_objects=SPACES)  # as if to train it further
"""
GYM_RUNS = {
    "ppo": ("CartPole-v1", "def compute_reward(pole_angle):\n    return {'up': -pole_angle.abs()}\n"),
    "sb3-ppo": ("CartPole-v1", "def compute_reward(pole_angle):\n    return {'up': -pole_angle.abs()}\n"),
    "sac": ("Pendulum-v1", "def compute_reward(action):\n    return {'calm': -action.square().sum(-1)}\n"),
    "sb3-sac": ("Pendulum-v1", "def compute_reward(action):\n    return {'calm': -action.square().sum(-1)}\n"),
    "rsl-rl": ("Pendulum-v1", "def compute_reward(action):\n    return {'calm': -action.square().sum(-1)}\n"),
    "sb3-td3": ("Pendulum-v1", "def compute_reward(env_reward):\n    return {'env_reward': env_reward}\n"),
}


@pytest.mark.slow
@pytest.mark.parametrize("trainer", GYM_RUNS)
def test_whole_episodes_of_gymnasium_with_what_stable_baselines_learned_are_those_of_the_run(
    trainer, python, tmp_path, monkeypatch
):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    id, source = GYM_RUNS[trainer]
    folder, history = a_run(tmp_path, lasting_reference(id), source, transitions=False, trainer=trainer)
    for kind in ("gymnasium", "sb3", *(["onnx"] if find_spec("onnxruntime") else [])):
        export(folder, history, CHOSEN, tmp_path / kind, kind, agreed=True)
    algorithm = {"rsl-rl": "PPO"}.get(trainer, trainer.removeprefix("sb3-").upper())
    with np.load(tmp_path / "gymnasium" / "expected.npz") as file:
        seed = start_seed(int(file["seed"]), 0, 0)
    if algorithm != "PPO":
        saved = getattr(stable_baselines3, algorithm).load(tmp_path / "sb3" / "policy.zip")
        assert saved.buffer_size == 1_000_000  # else training goes on with a memory of nothing
    told_spaces = re.search(r"spaces = (.*)", (tmp_path / "sb3" / "README.md").read_text())
    words = {"ALGORITHM": algorithm, "SEED": str(seed), '"ID"': f'"{id}"', "SPACES": told_spaces[1]}
    script = re.sub("|".join(words), lambda match: words[match[0]], GYM_SCRIPT)
    told = python("-c", script, cwd=tmp_path)
    assert "equals the run: rewards" in told and "the policy acts as in the run" in told
    assert "mujoco" not in (tmp_path / "gymnasium" / "requirements.txt").read_text()
    assert not [*(tmp_path / "gymnasium").rglob("model")]
    counted = "the number of the chosen option" in (tmp_path / "sb3" / "README.md").read_text()
    assert counted == (id == "CartPole-v1")


ONNX_SCRIPT = """
import numpy as np, onnxruntime
session = onnxruntime.InferenceSession("policy.onnx")
np.save("actions.npy", session.run(None, {"observation": np.load("observations.npy")})[0])
"""


def test_onnx_acts_alike(cartpole, python, tmp_path):
    pytest.importorskip("onnxruntime", reason="needs the extra onnx")
    folder, history = cartpole
    export(folder, history, CHOSEN, tmp_path / "onnx", "onnx")
    observations = torch.cat([3 + torch.randn(50, 5), 100 * torch.randn(10, 5)])
    np.save(tmp_path / "onnx" / "observations.npy", observations.numpy())
    python("-c", ONNX_SCRIPT, cwd=tmp_path / "onnx")
    expected = the_policy(folder, history).act(observations).numpy()
    np.testing.assert_allclose(np.load(tmp_path / "onnx" / "actions.npy"), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "kind", [pytest.param(name, marks=pytest.mark.slow) if name == "sb3" else name for name in KINDS.names()]
)
def test_nothing_of_a_runs_text_becomes_code_or_markup(kind, cartpole, tmp_path):
    folder, history = cartpole
    text = 'x"""\nopen("canary", "w")\n```\n# <script>alert(1)</script> | [a](javascript:b) \u202e'
    card, summary = history.card, history.summary
    words = {"meaning": text, "unit": text, "parts": (text,)}
    named = zip(card.variables, ("pole_upright", "cart_position"), strict=True)  # the inputs of the reward
    variables = [each.model_copy(update=words | {"name": name}) for each, name in named]
    rows = tuple(row.model_copy(update={"success_rate": 0.9}) for row in summary.rows)
    hostile = {"name": text, "description": text, "variables": tuple(variables), "action_parts": (text,)}
    hostile |= {"fitness": text, "success": text, "observation": text}
    clip = Clip(candidate_id=CHOSEN, seed=0, start=0)
    answer = Comparison(left=clip, right=clip, number=0, generation=0, answer="left", teacher=text, why=text)
    try:
        history.card, history.comparisons = card.model_copy(update=hostile), [answer]
        history.summary = summary.model_copy(update={"rows": rows})
        written = export(folder, history, CHOSEN, tmp_path / kind, kind)
    finally:
        history.card, history.comparisons, history.summary = card, [], summary
    assert all(path.is_relative_to(tmp_path / kind) for path in written)
    for path in written:
        if path.suffix == ".py":
            assert '"canary' not in path.read_text() and "alert(" not in path.read_text(), path.name
            compile(path.read_text(), path.name, "exec")
    outside = (tmp_path / kind / "README.md").read_text().split("````")
    assert all("<script>" not in each and "](java" not in each for each in outside[::2])


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("import os\n\ndef compute_reward(x):\n    return {'a': x}\n", "language"),
        ("def compute_reward(pole_upright):\n    return {'a': 1 / 0}\n", "ZeroDivision"),
    ],
)
def test_a_reward_that_cannot_be_used_is_not_exported(cartpole, source, message, tmp_path, monkeypatch):
    folder, history = cartpole
    candidate = history.designed[CHOSEN, 0].model_copy(update={"source": source})
    monkeypatch.setitem(history.designed, (CHOSEN, 0), candidate)
    with pytest.raises(RewardgenError, match=message):
        export(folder, history, CHOSEN, tmp_path / "out", "torch")
    assert not (tmp_path / "out").exists()


def test_what_is_missing_or_changed_is_told_with_what_to_do(cartpole, tmp_path):
    folder, history = cartpole
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("mine")
    cases = {"not empty": (CHOSEN, "full", "torch"), "kind of export `yaml`": (CHOSEN, "out", "yaml")}
    cases |= {"has no policy": ("g00-k1", "out", "sb3"), "no code": ("g09-k9", "out", "torch")}
    cases |= {"has no comparisons": (CHOSEN, "out", "comparisons")}
    for message, (id, target, kind) in cases.items():
        with pytest.raises(UsageError, match=message) as caught:
            export(folder, history, id, tmp_path / target, kind)
        assert caught.value.hint
    card, config = history.card, history.config
    try:
        history.card = card.model_copy(update={"fingerprint": "0" * 16})
        with pytest.raises(UsageError, match="has changed since the run"):
            export(folder, history, CHOSEN, tmp_path / "out", "gymnasium")
        history.config = config.model_copy(update={"task": "/elsewhere/task.py"})
        with pytest.raises(UsageError, match="was not started here"):
            export(folder, history, CHOSEN, tmp_path / "out", "gymnasium")
    finally:
        history.card, history.config = card, config
    assert (tmp_path / "full" / "file").read_text() == "mine" and not (tmp_path / "out").exists()


def test_answers_become_rows_in_which_no_text_is_a_formula(tmp_path):
    search, history = a_search(tmp_path / "run", Crew(), judge="simulated:oracle", generations=1, answers=12)
    search()
    formula = history.comparisons[3].model_copy(update={"why": '=cmd("calc"),\n"x"', "teacher": "@sum"})
    history.comparisons[3] = formula
    export(RunFolder(tmp_path / "run"), history, history.summary.chosen, tmp_path / "out", "comparisons")
    with open(tmp_path / "out" / "comparisons.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["number"]) for row in rows] == [each.number for each in history.comparisons]
    assert rows[3]["why"] == "'" + formula.why and rows[3]["teacher"] == "'@sum"
    first = history.comparisons[0]
    assert (rows[0]["left"], rows[0]["right"], rows[0]["answer"]) == (*first.ids, first.answer)
    assert [row["repeats"] for row in rows if row["repeats"]] == [
        str(each.repeats) for each in history.comparisons if each.repeats is not None
    ]


@pytest.mark.parametrize("algorithm", ["PPO", "SAC"])
def test_an_entry_that_never_varies_changes_no_exported_action(algorithm, tmp_path):
    def weights(*shape):
        return 0.3 * torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))

    layers = ((weights(16, 3), weights(16)), (weights(1, 16), weights(1)))
    squash, mean, variance = "clip" if algorithm == "PPO" else "tanh", [0.5, 1.962, 1.0], [2.0, 0.0, 1e-14]
    moments = [torch.tensor(values).double() for values in (mean, variance)]
    policy = MlpPolicy(layers, "tanh", squash, (), *moments, -torch.ones(1), torch.ones(1))
    policy.save(tmp_path / "policy.npz")
    job = {"policy": tmp_path / "policy.npz", "folder": tmp_path, "discount": 0.99, "algorithm": algorithm}
    assert policy_job(job | {"name": "policy.zip"}, print)["difference"] < 1e-5


def test_a_task_file_imports_from_the_copied_package():
    text = "import torch\nfrom rewardgen import (  # é\n    MujocoTask,\n)\nfrom rewardgen.sim.draws import Draws\n"
    made = task_source(text, "task.py")
    assert made == text.replace("from rewardgen", "from ._rewardgen")
    with pytest.raises(UsageError, match="import rewardgen as r"):
        task_source("import torch\nimport rewardgen as r\n", "task.py")


def test_a_task_that_builds_on_a_shipped_one_is_exported_with_it(python, tmp_path):
    text = "from rewardgen import *\nfrom rewardgen.extras.rsl_rl.settings import RslRlSettings\n\n\n"
    text += "class Slower(shipped_task('hopper_frontflip')):\n    training = {'rsl-rl': RslRlSettings()}\n"
    bases = {f"{name}.py": task_source(source, name) for name, source in bases_of(text).items()}
    files = {**vendored([text]), **bases, "task.py": task_source(text, "task.py"), "__init__.py": ""}
    for name, content in files.items():
        (tmp_path / "made" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "made" / name).write_text(content)
    script = "from made import task; print(task.Slower.solved_fitness, [each.__name__ for each in task.Slower.__mro__])"
    told = python("-c", script, cwd=tmp_path)
    assert "0.95" in told and "HopperBackflip" in told


def test_the_copied_package_has_the_settings_of_our_trainers(python, tmp_path):
    for name, text in vendored([]).items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    told = python("-c", "from _rewardgen import PpoSettings as p, SacSettings as s; print(p(), s())", cwd=tmp_path)
    assert "minibatches" in told and "replay" in told


def test_the_command_writes_several_kinds_side_by_side(tmp_path, capsys):
    folder, _ = a_run(tmp_path, transitions=False)
    save_transitions(folder.transitions, unrelated({"speed": torch.rand(9)}))
    folder.events.write_text(folder.events.read_text().replace("'g00-k2':", "'fast':"))
    assert main(["export", f"{folder.path}:g00-k2", str(tmp_path / "out"), "--as", "torch"]) == 0
    assert (tmp_path / "out" / "reward.py").is_file()
    assert "README.md" in capsys.readouterr().err
    assert main(["export", f"{folder.path}:g00-k2", str(tmp_path / "two"), "--as", "torch", "--as", "sb3"]) == 2
    assert (tmp_path / "two" / "torch" / "reward.py").is_file() and not (tmp_path / "two" / "sb3").exists()
    assert capsys.readouterr().out.strip() == str(tmp_path / "two" / "torch")  # what stands there although it failed


def test_all_that_shipped_tasks_import_is_copied():
    _, _, table = vendored([])["_rewardgen/__init__.py"].partition("_HOME = ")
    homes = ast.literal_eval(table.partition("\n")[0])
    for path in Path("envs").glob("*/*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module == "rewardgen":
                assert {alias.name for alias in node.names} <= homes.keys(), path
