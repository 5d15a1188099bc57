"""Tasks of mjlab, on MuJoCo Warp's CPU device: `pip install mjlab` into an environment of its own."""

import sys

import pytest
import torch

from rewardgen.core.errors import TaskError
from rewardgen.extras.rsl_rl.settings import RslRlJob, RslRlSettings
from rewardgen.extras.rsl_rl.train_job import RslRlTraining
from rewardgen.sim.episodes import record_episodes, trivial_policies
from rewardgen.sim.vec_env import ENV_REWARD
from rewardgen.store.records import RewardSpec, SliceSpec
from rewardgen.tasks.loading import load_task
from rewardgen.training.policies import load_policy

ACTIONS = 2.0 * torch.rand(8, 1, 12, generator=torch.Generator().manual_seed(0)) - 1.0


@pytest.fixture(scope="module")
def task():
    pytest.importorskip("mjlab", reason="needs mjlab, in an environment of its own: docs/environments.md")
    found = load_task("go1_velocity")
    type(found).episode_steps = 6
    return found


def played(envs):
    """Observations of eight steps, in which each environment begins a second episode: (9, N, O)."""
    steps = [envs.reset(anew=True)]
    return torch.stack(steps + [envs.step(each.expand(envs.num_envs, -1)).observation for each in ACTIONS])


@pytest.mark.mjlab
def test_what_happens_in_an_environment_of_mjlab_depends_on_its_own_seed_place_episode_and_actions(task):
    both = played(task.make_envs([3, 4], 2))
    alone = task.make_envs([4], 2)
    assert torch.equal(both[:, 2:], played(alone)) and torch.equal(both[:, 2:], played(alone))
    assert not torch.equal(both[0, 0], both[0, 1]) and not torch.equal(both[0, 0], both[6, 0])


@pytest.mark.mjlab
def test_an_environment_of_mjlab_goes_on_as_if_its_neighbours_had_not_begun_anew(task):
    envs, calm = task.make_envs([3], 2), played(task.make_envs([3], 2))
    envs.reset(anew=True)
    for number, each in enumerate(ACTIONS[:5]):
        action = each.repeat(2, 1)
        if number == 2:
            envs._state[0][0, 2] = torch.nan
        step = envs.step(action)
        assert step.terminated.tolist() == [number == 2, False]
        assert all(value.isfinite().all() for value in step.inputs.values())
        assert torch.equal(step.observation[1], calm[number + 1, 1])
    assert step.causes["physics diverged"].sum() == 0 and step.episode_step.tolist() == [2, 5]


@pytest.mark.mjlab
def test_an_episode_of_mjlab_ends_with_what_was_last_seen_of_it(task):
    envs = task.make_envs([3], 2)
    seen = []
    recording = record_episodes(
        envs, trivial_policies(envs)["random"], watch=lambda step, alive: seen.append(step), anew=True
    )
    last = seen[-1]
    assert last.truncated.all() and not last.terminated.any() and recording.endings == ("time limit",) * 2
    assert not torch.equal(last.final_observation, last.observation)
    shown = last.final_observation[:, 6:9]
    assert torch.allclose(shown, last.inputs["gravity"], atol=1e-5)
    first = seen[0].inputs
    assert torch.equal(recording.episode["command"][0], recording.episode["command"][-1])
    assert torch.equal(first["prev_gravity"], first["gravity"])
    assert torch.equal(last.inputs["prev_gravity"], seen[-2].inputs["gravity"])
    fitness = task.fitness(recording.episode)
    assert ((fitness > 0.0) & (fitness < 1.0)).all()


@pytest.mark.mjlab
def test_mjlabs_own_runner_trains_a_task_as_it_is_configured_there_and_its_critic_sees_more(task, tmp_path):
    job = RslRlJob(
        task="go1_velocity",
        rewards=(RewardSpec(candidate_id="a", source="def compute_reward(height):\n    return {'up': height}\n"),),
        slices=(SliceSpec(candidate_id="a", seed=0),),
        settings=RslRlSettings(env_steps=48, num_envs=4, rollout_steps=4, evaluation_phases=1, evaluation_envs=1),
        folder=str(tmp_path),
    )
    training = RslRlTraining(task, job, lambda message: None)
    assert type(training._runner).__module__.startswith("mjlab.tasks.velocity")
    assert training._runner.alg.entropy_coef == 0.01
    assert training._runner.alg.critic.obs_dim > training._actor.obs_dim == training.envs.observation_size
    result = training.run()
    assert result.failure is None and result.env_steps == 48
    policy = load_policy(tmp_path / "a-s0.npz")
    assert [len(bias) for _, bias in policy.layers] == [512, 256, 128, 12]
    seen = training.envs.reset(anew=True)
    theirs = training._actor(training._env.get_observations()).detach().clamp(-1.0, 1.0)
    torch.testing.assert_close(policy.act(seen), theirs * task.action_limit, atol=1e-4, rtol=1e-4)


@pytest.mark.mjlab
def test_any_task_of_mjlab_offers_what_its_robots_and_commands_are(task, tmp_path):
    path = tmp_path / "balance.py"
    path.write_text(
        "from rewardgen.extras.mjlab.task import MjlabTask\n\n\n"
        'class Balance(MjlabTask):\n    """Hold the pole up."""\n\n'
        '    env = "Mjlab-Cartpole-Balance"\n    episode_steps = 3\n'
    )
    balance = load_task(str(path))
    envs = balance.make_envs([0], 2)
    recording = record_episodes(envs, trivial_policies(envs)["zero"])
    assert set(balance.declared()) == {"joint_position", "joint_velocity"} == {*envs.variables} - {ENV_REWARD}
    assert torch.equal(balance.fitness(recording.episode), recording.episode[ENV_REWARD].sum(0))
    path.write_text(path.read_text().replace('Balance"', 'Balanse"'))
    with pytest.raises(TaskError, match="no task `Mjlab-Cartpole-Balanse`") as error:
        load_task(str(path)).known()
    assert "Mjlab-Cartpole-Balance" in error.value.hint


def test_without_mjlab_its_task_says_where_to_read_how_it_is_installed(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "mjlab.tasks", None)
    path = tmp_path / "flat.py"
    path.write_text(
        "from rewardgen.extras.mjlab.task import MjlabTask\n\n\n"
        'class Flat(MjlabTask):\n    env = "Mjlab-Velocity-Flat"\n'
    )
    with pytest.raises(TaskError) as error:
        load_task(str(path))
    assert "mjlab cannot be imported" in error.value.message and "docs/environments.md" in error.value.hint
