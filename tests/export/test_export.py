"""Each export is used by a script in a fresh environment that has no rewardgen."""

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import torch

from rewardgen.cli.app import main
from rewardgen.core.errors import RewardgenError, UsageError
from rewardgen.export.exporting import KINDS, export
from rewardgen.export.vendor import task_source
from rewardgen.sim.gym_env import start_seed
from rewardgen.sim.transitions import save_transitions
from rewardgen.tasks.loading import lasting_reference
from tests.builders import unrelated
from tests.export.runs import CHOSEN, a_run, the_policy


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


ENVIRONMENT_SCRIPT = """
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
for wrong, error in (
    (lambda: gymnasium.make("rewardgen/cartpole-v0", render_mode="rgb_array"), "draws nothing"),
    (lambda: cartpole_env.RewardWrapper(gymnasium.make("CartPole-v1")), "no MuJoCo model"),
):
    try:
        wrong()
    except (TypeError, ValueError) as caught:
        assert error in str(caught), caught
    else:
        raise AssertionError(error)
"""


def test_whole_episodes_of_the_environment_are_those_of_the_run(cartpole, python, tmp_path):
    export(*cartpole, CHOSEN, tmp_path / "cartpole", "gymnasium")
    told = python("-c", ENVIRONMENT_SCRIPT, cwd=tmp_path / "cartpole")
    assert "an episode of 250 steps is that of the run" in told and "the policy acts as it did" in told


STOCK_SCRIPT = """
import check
import gymnasium, numpy as np
from hopper_env import RewardWrapper, make_env
ours, theirs = make_env(), RewardWrapper(gymnasium.make("Hopper-v5"))
for seed in (1, 2):
    ours.reset(seed=seed)
    theirs.reset(seed=seed)
    theirs.unwrapped.set_state(*(getattr(ours._envs.view, name)[0].numpy() for name in ("qpos", "qvel")))
    ended, steps = False, 0
    while not ended:
        action = np.sin(steps / np.array([5, 7, 9])).astype(np.float32) * 1.2
        _, paid, *ends, info = theirs.step(action)
        _, expected, *ended, mine = ours.step(action)
        assert abs(paid - expected) < 1e-6, (steps, paid, expected, info, mine)
        assert abs(info["own_reward"] - paid) > 1e-6
        assert all(type(mine["variables"][name]) is type(each) for name, each in info["variables"].items())
        ended, steps = any(ended), steps + 1
    assert steps > 10 and any(ends)
"""


def test_the_same_with_a_model_of_gymnasium_and_numpy_in_the_reward(python, tmp_path):
    export(*a_run(tmp_path, "hopper", transitions=False), CHOSEN, tmp_path / "hopper", "gymnasium")
    told = python("-c", STOCK_SCRIPT, cwd=tmp_path / "hopper")
    assert "is that of the run: rewards, fitness" in told
    with np.load(tmp_path / "hopper" / "expected.npz") as file:
        assert len(file["rewards"]) > 300 and file["rewards"].std() > 0.1


SB3_SCRIPT = """
import check
import numpy as np
from stable_baselines3 import PPO
model = PPO.load("policy.zip")
observations = np.load("observations.npy")
np.save("actions.npy", np.stack([model.predict(each, deterministic=True)[0] for each in observations]))
import policy_sb3
again = PPO.load("policy.zip", custom_objects={"policy_class": policy_sb3.NormalisedPolicy})
own, other = (each.predict(observations, deterministic=True)[0] for each in (model, again))
np.testing.assert_array_equal(own, other)
"""


def test_stable_baselines_loads_the_policy_and_acts_alike(cartpole, python, tmp_path):
    folder, history = cartpole
    export(folder, history, CHOSEN, tmp_path / "sb3", "sb3")
    observations = torch.cat([3 + torch.randn(50, 5), 100 * torch.randn(10, 5)])
    np.save(tmp_path / "sb3" / "observations.npy", observations.numpy())
    assert "policy.zip: the actions are those" in python("-c", SB3_SCRIPT, cwd=tmp_path / "sb3")
    expected = the_policy(folder, history).act(observations).numpy()
    assert 0.1 < np.abs(expected).mean() < 0.99, "it is not always at an end of its range"
    np.testing.assert_allclose(np.load(tmp_path / "sb3" / "actions.npy"), expected, atol=1e-5)


GYM_SCRIPT = """
import sys
sys.modules["mujoco"] = None  # it is not needed
for kind in KINDS:
    sys.path.insert(0, kind)
    sys.modules.pop("check", None)
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
"""
GYM_RUNS = {
    "sb3-ppo": ("CartPole-v1", "def compute_reward(pole_angle):\n    return {'up': -pole_angle.abs()}\n"),
    "sb3-sac": ("Pendulum-v1", "def compute_reward(action):\n    return {'calm': -action.square().sum(-1)}\n"),
    "rsl-rl": ("Pendulum-v1", "def compute_reward(action):\n    return {'calm': -action.square().sum(-1)}\n"),
    "sb3-td3": ("Pendulum-v1", "def compute_reward(env_reward):\n    return {'env_reward': env_reward}\n"),
}


@pytest.mark.parametrize(
    "trainer", ["rsl-rl", *(pytest.param(each, marks=pytest.mark.slow) for each in GYM_RUNS if each != "rsl-rl")]
)
def test_whole_episodes_of_gymnasium_with_what_stable_baselines_learned_are_those_of_the_run(
    trainer, python, tmp_path, monkeypatch
):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    id, source = GYM_RUNS[trainer]
    folder, history = a_run(tmp_path, lasting_reference(id), source, transitions=False, trainer=trainer)
    kinds = ["gymnasium", "sb3", *(["onnx"] if find_spec("onnxruntime") else [])]
    for kind in kinds:
        export(folder, history, CHOSEN, tmp_path / kind, kind, agreed=True)
    algorithm = {"rsl-rl": "PPO"}.get(trainer, trainer[4:].upper())
    words = {"ALGORITHM": algorithm, "SEED": str(start_seed(7, 0, 0)), "KINDS": str(kinds), '"ID"': f'"{id}"'}
    script = re.sub("|".join(words), lambda found: words[found[0]], GYM_SCRIPT)
    told = python("-c", script, cwd=tmp_path)
    assert "is that of the run: rewards" in told and "the policy acts as it did" in told and "policy.zip" in told
    assert "onnx" not in kinds or ("policy.onnx: the actions are" in told and "policy.pt: the actions are" in told)
    assert "mujoco" not in (tmp_path / "gymnasium" / "requirements.txt").read_text()
    assert not [*(tmp_path / "gymnasium").rglob("model")]


def test_onnx_and_torchscript_act_alike(cartpole, python, tmp_path):
    pytest.importorskip("onnxruntime", reason="needs the extra onnx")
    export(*cartpole, CHOSEN, tmp_path / "onnx", "onnx")
    told = python("check.py", cwd=tmp_path / "onnx")
    assert "policy.onnx: the actions are those" in told and "policy.pt: the actions are those" in told


def test_the_reward_alone_needs_nothing_but_torch(cartpole, python, tmp_path):
    export(*cartpole, CHOSEN, tmp_path / "torch", "torch")
    assert "the reward and its 3 components are those of the run" in python("check.py", cwd=tmp_path / "torch")


TERMS_SCRIPT = """
import inspect, sys, types
from dataclasses import dataclass, field
import numpy as np, torch

@dataclass(kw_only=True)
class RewardTermCfg:
    func: object
    weight: float
    params: dict = field(default_factory=dict)

for name in ("mjlab", "mjlab.managers", "mjlab.managers.reward_manager", "isaaclab", "isaaclab.managers"):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].RewardTermCfg = RewardTermCfg
from my_isaaclab import reward_terms as of_isaaclab
from my_mjlab import reward, reward_terms as of_mjlab

class Env:  # what both frameworks tell when rewards are computed
    step_dt, common_step_counter, episode_length_buf = 0.02, 0, torch.zeros(8, dtype=torch.long)

env, asked, torch_seed = Env(), [], torch.manual_seed(0)
def variables(env):
    names = ("pole_upright", "cart_position")
    asked.append({name: torch.rand(8) for name in names} | {"action": torch.rand(8, 1), "unused": torch.rand(8, 2)})
    return asked[-1]

terms = of_mjlab.reward_terms(variables)
others = of_isaaclab.reward_terms(lambda env: asked[-1])
assert list(terms) == ["upright", "effort", "residual"]
for cfg in terms.values():
    assert list(inspect.signature(cfg.func).parameters) == ["env", *cfg.params]
before = None
for step in range(1, 12):
    env.common_step_counter += 1
    env.episode_length_buf = env.episode_length_buf + 1
    paid = sum(cfg.func(env, **cfg.params) * cfg.weight * env.step_dt for cfg in terms.values())
    assert len(asked) == step
    torch.testing.assert_close(paid, sum(cfg.func(env, **cfg.params) * cfg.weight * 0.02 for cfg in others.values()))
    first = env.episode_length_buf == 1
    now = asked[-1]
    moved = torch.where(first, now["cart_position"], (before or now)["cart_position"])
    total, _ = reward.reward_and_components({**now, "prev_cart_position": moved})
    torch.testing.assert_close(paid, total * env.step_dt / 0.04)
    env.episode_length_buf = torch.where(torch.arange(8) % 4 == step % 4, 0, env.episode_length_buf)
    before = now
"""


def test_reward_terms_pay_what_the_run_paid(cartpole, python, tmp_path):
    for kind in ("mjlab", "isaaclab"):
        export(*cartpole, CHOSEN, tmp_path / f"my_{kind}", kind)
    python("-c", TERMS_SCRIPT, cwd=tmp_path)


@pytest.mark.parametrize("kind", KINDS.names())
def test_nothing_of_a_runs_text_becomes_code_or_markup(kind, cartpole, tmp_path):
    folder, history = cartpole
    text = 'x"""\nopen("canary", "w")\n```\n# <script>alert(1)</script> | [a](javascript:b) \u202e'
    card = history.card
    variables = [each.model_copy(update={"meaning": text, "unit": text, "parts": (text,)}) for each in card.variables]
    hostile = {"name": text, "description": text, "variables": tuple(variables), "action_parts": (text,)}
    hostile |= {"fitness": text, "success": text, "observation": text}
    try:
        history.card = card.model_copy(update=hostile)
        written = export(folder, history, CHOSEN, tmp_path / kind, kind)
    finally:
        history.card = card
    assert all(path.is_relative_to(tmp_path / kind) for path in written)
    for path in written:
        if path.suffix == ".py":
            assert '"canary' not in path.read_text() and "alert(" not in path.read_text(), path.name
            compile(path.read_text(), path.name, "exec")
    outside = (tmp_path / kind / "README.md").read_text().split("````")
    assert all("<script>" not in each and "](java" not in each for each in outside[::2])


REFUSED = {
    "not in the language": (
        {"source": "import os\n\ndef compute_reward(x):\n    return {'a': x}\n"},
        "torch",
        "language",
    ),
    "fails": ({"source": "def compute_reward(pole_upright):\n    return {'a': 1 / 0}\n"}, "torch", "ZeroDivision"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_a_reward_that_cannot_be_used_is_not_exported(what, tmp_path):
    options, kind, message = REFUSED[what]
    with pytest.raises(RewardgenError, match=message):
        export(*a_run(tmp_path, **options), CHOSEN, tmp_path / "out", kind)
    assert not (tmp_path / "out").exists()


def test_what_is_missing_or_changed_is_told_with_what_to_do(cartpole, tmp_path):
    folder, history = cartpole
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("mine")
    cases = {"there already": (CHOSEN, "full", "torch"), "kind of export `yaml`": (CHOSEN, "out", "yaml")}
    cases |= {"has no policy": ("g00-k1", "out", "sb3"), "no code": ("g09-k9", "out", "torch")}
    for message, (id, target, kind) in cases.items():
        with pytest.raises(UsageError, match=message) as caught:
            export(folder, history, id, tmp_path / target, kind)
        assert caught.value.hint
    card, config = history.card, history.config
    try:
        history.card = card.model_copy(update={"fingerprint": "0" * 16})
        with pytest.raises(UsageError, match="not what it was in the run"):
            export(folder, history, CHOSEN, tmp_path / "out", "gymnasium")
        history.config = config.model_copy(update={"task": "/elsewhere/task.py"})
        with pytest.raises(UsageError, match="was not started here"):
            export(folder, history, CHOSEN, tmp_path / "out", "gymnasium")
    finally:
        history.card, history.config = card, config
    assert (tmp_path / "full" / "file").read_text() == "mine" and not (tmp_path / "out").exists()


def test_a_task_file_imports_from_the_copied_package():
    text = "import torch\nfrom rewardgen import (  # é\n    MujocoTask,\n)\nfrom rewardgen.sim.view import Draws\n"
    made = task_source(text, "task.py")
    assert made == text.replace("from rewardgen", "from ._rewardgen")
    with pytest.raises(UsageError, match="line 2 of"):
        task_source("import torch\nimport rewardgen as r\n", "task.py")


def test_the_command_writes_several_kinds_side_by_side(tmp_path, capsys):
    folder, _ = a_run(tmp_path, transitions=False)
    save_transitions(folder.transitions, unrelated({"speed": torch.rand(9)}))
    folder.events.write_text(folder.events.read_text().replace("'g00-k2':", "'fast':"))
    assert main(["export", f"{folder.path}:g00-k2", str(tmp_path / "out"), "--as", "torch", "--as", "mjlab"]) == 0
    assert (tmp_path / "out" / "torch" / "reward.py").is_file()
    assert (tmp_path / "out" / "mjlab" / "reward_terms.py").is_file()
    assert "README.md" in capsys.readouterr().err
