"""RSL-RL behind the trainer's seam: the same policies, records and boundaries as our own learner's."""

from importlib.util import find_spec

import pytest
import torch

from rewardgen.api.training import train
from rewardgen.core.errors import MachineError, TaskError, UsageError
from rewardgen.core.extras import install_hint
from rewardgen.extras.rsl_rl import trainer
from rewardgen.extras.rsl_rl.settings import RslRlJob, RslRlSettings
from rewardgen.extras.rsl_rl.train_job import RslRlTraining, train_rsl_rl_job
from rewardgen.sandbox.process import Limits
from rewardgen.store.records import RewardSpec, SliceSpec
from rewardgen.tasks.loading import lasting_reference, load_task
from rewardgen.tasks.members import baseline_sources
from rewardgen.training.cache import get_or_measure
from rewardgen.training.policies import load_policy
from rewardgen.training.protocol import TRAINERS, TrainerSetup
from rewardgen.training.setup import card_for, settings_for
from tests.devices import kernels, on_each_device  # noqa: F401
from tests.e2e.command import POINT
from tests.e2e.test_warp import SWING

pytestmark = pytest.mark.skipif(not find_spec("rsl_rl"), reason="needs the extra rsl-rl")
FAST = RslRlSettings(
    env_steps=200,
    evaluation_phases=2,
    evaluation_envs=2,
    num_envs=4,
    rollout_steps=10,
    options={"actor": {"hidden_dims": [8, 6]}, "critic": {"hidden_dims": [8]}},
)
CLOSE = "def compute_reward(position):\n    return {'close': -position.abs()}\n"
LOST = "def compute_reward(position):\n    return {'x': torch.log(position - position - 1.0)}\n"


def job_of(folder, settings=FAST, task=str(POINT), **sources):
    rewards = tuple(RewardSpec(candidate_id=id, source=source) for id, source in (sources or {"a": CLOSE}).items())
    slices = tuple(SliceSpec(candidate_id=each.candidate_id, seed=0) for each in rewards)
    return RslRlJob(task=task, rewards=rewards, slices=slices, settings=settings, folder=str(folder))


def one_slice(folder, settings=FAST):
    return RslRlTraining(load_task(str(POINT)), job_of(folder, settings), lambda message: None)


@pytest.mark.parametrize(("activation", "normalised"), [("elu", True), ("relu", False), ("tanh", True)])
def test_a_saved_policy_acts_as_rsl_rl_does(tmp_path, activation, normalised):
    actor = {**FAST.options["actor"], "activation": activation, "obs_normalization": normalised}
    training = one_slice(tmp_path, FAST.model_copy(update={"options": {**FAST.options, "actor": actor}}))
    result = training.run()
    assert result.failure is None and len(result.curve) == 2 and result.components["close"]
    assert result.env_steps == 200
    policy = load_policy(tmp_path / "a-s0.npz")
    seen = 3 * torch.randn(50, policy.observation_size, generator=torch.Generator().manual_seed(0))
    theirs = training._actor({"actor": seen}).detach().clamp(-1.0, 1.0)
    expected = policy.action_low + (policy.action_high - policy.action_low) / 2 * (1 + theirs)
    torch.testing.assert_close(policy.act(seen), expected, atol=1e-5, rtol=1e-5)


@pytest.mark.slow
def test_what_a_slice_learns_depends_on_no_slice_before_it_and_a_failure_is_a_result(tmp_path):
    payload = job_of(tmp_path / "three", far=CLOSE.replace("-", ""), lost=LOST, a=CLOSE).model_dump(mode="json")
    found = {each["candidate_id"]: each for each in train_rsl_rl_job(payload, lambda message: None)["slices"]}
    alone = one_slice(tmp_path / "alone").run().model_dump(mode="json")
    assert {**found["a"], "wall_s": 0} == {**alone, "wall_s": 0}
    assert found["lost"]["failure"]["kind"] == "non-finite" and "x" in found["lost"]["failure"]["message"]
    assert (tmp_path / "three" / "a-s0.npz").read_bytes() == (tmp_path / "alone" / "a-s0.npz").read_bytes()
    assert (tmp_path / "three" / "far-s0.npz").read_bytes() != (tmp_path / "alone" / "a-s0.npz").read_bytes()


@pytest.mark.slow
def test_it_learns_to_balance_a_pole_from_the_human_reward_in_a_confined_worker(tmp_path):
    settings = RslRlSettings(env_steps=40_000, num_envs=32, evaluation_phases=1)
    setup = TrainerSetup("inverted_pendulum", settings, 1, tmp_path / "scratch", Limits())
    source, results = baseline_sources(load_task("inverted_pendulum"))["human"], []
    told = {"folder": tmp_path, "on_progress": lambda message: None, "on_slice": results.append}
    reward = RewardSpec(candidate_id="human", source=source, is_baseline=True)
    TRAINERS.get("rsl-rl").make(setup).train([reward], [SliceSpec(candidate_id="human", seed=0)], **told)
    assert results[0].failure is None and results[0].final_fitness > 0.6  # 0.04 untrained


def test_in_games_of_several_agents_it_counts_the_steps_of_all_rows(tmp_path):
    reward = "def compute_reward(action):\n    return {'calm': -action.square().sum(-1)}\n"
    options = {"num_envs": 3, "env_steps": 400, "evaluation_phases": 1}  # two agents: two games, four rows
    job = job_of(tmp_path, FAST.model_copy(update=options), "simple_spread", a=reward)
    result = RslRlTraining(load_task("simple_spread"), job, lambda message: None).run()
    assert result.failure is None and result.env_steps == 400 <= job.settings.max_env_steps


def test_an_observation_that_is_not_finite_is_the_failure_of_its_slice(tmp_path):
    training = one_slice(tmp_path)
    step, taken = training.envs.step, []

    def broken(action):
        found = step(action)
        taken.append(found)
        if len(taken) == 15:
            found.observation[1] = torch.nan  # as an episode begins: what ended was finite
        return found

    training.envs.step = broken
    result = training.run()
    assert result.failure.kind == "non-finite" and "observation" in result.failure.message
    assert result.failure.env_steps == 60


@pytest.mark.slow
@pytest.mark.usefixtures("kernels")
@on_each_device
def test_on_a_device_it_trains_too(tmp_path, device):
    (tmp_path / "swing.py").write_text(SWING)
    task = str(tmp_path / "swing.py")
    upright = "def compute_reward(pole_upright):\n    return {'upright': pole_upright}\n"
    job = job_of(tmp_path, FAST.model_copy(update={"device": device}), task, a=upright)
    result = RslRlTraining(load_task(task), job, lambda message: None).run()
    assert result.failure is None and len(result.curve) == 2
    assert load_policy(tmp_path / "a-s0.npz").act(torch.zeros(1, 5)).shape == (1, 1)


def test_settings_go_with_the_device_and_discount_and_rollout_are_those_that_are_told(tmp_path):
    measured = get_or_measure("cartpole")
    assert settings_for("rsl-rl", measured, device="warp-cpu").device == "warp-cpu"
    options = {"algorithm": {"gamma": 0.5, "entropy_coef": 0.25}}
    training = one_slice(tmp_path, FAST.model_copy(update={"discount": 0.9, "options": options}))
    assert (training._runner.alg.gamma, training._runner.alg.entropy_coef) == (0.9, 0.25)
    assert training._runner.cfg["num_steps_per_env"] == 10


def test_a_policy_that_cannot_be_kept_and_actions_that_are_choices_are_refused(tmp_path, monkeypatch):
    options = {"actor": {"activation": "selu"}}
    with pytest.raises(TaskError, match="MLPModel with GaussianDistribution and `selu`") as caught:
        one_slice(tmp_path, FAST.model_copy(update={"options": options}))
    assert "tanh or relu or elu" in caught.value.hint
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    with pytest.raises(UsageError, match=r"PPO \(RSL-RL\) does not learn") as caught:
        card_for("rsl-rl", get_or_measure(lasting_reference("CartPole-v1")))
    assert "--trainer ppo" in caught.value.hint


@pytest.mark.parametrize("name", ["os:system", "os.system", "rsl_rl.utils.utils:importlib.os.system"])
@pytest.mark.parametrize("part", [lambda name: {"class_name": name}, lambda name: {"any": [{"func": name}]}])
def test_options_name_no_module(name, part):
    with pytest.raises(UsageError, match="any module"):
        RslRlSettings.model_validate({"env_steps": 200, "options": {"algorithm": part(name)}})


def test_without_the_package_the_error_names_the_extra_and_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.setattr(trainer, "find_spec", lambda name: None)
    with pytest.raises(MachineError, match="needs RSL-RL, which is not installed") as caught:
        train(str(POINT), trainer="rsl-rl", trainings=tmp_path)
    assert caught.value.hint == install_hint("rsl-rl") and not list(tmp_path.iterdir())
