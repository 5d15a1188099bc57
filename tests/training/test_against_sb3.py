"""Our PPO next to Stable-Baselines3's, on the same worlds, reward, sizes and steps: it must learn as well."""

import numpy as np
import pytest
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import VecEnv as Sb3VecEnv
from stable_baselines3.common.vec_env import VecNormalize

from rewardgen.store.records import RewardSpec, SliceSpec
from rewardgen.tasks.baselines import baseline_sources
from rewardgen.tasks.loading import load_task
from rewardgen.training.ppo.batch import SliceBatch
from rewardgen.training.ppo.rewards import Rewards
from rewardgen.training.ppo.settings import PpoJob
from rewardgen.training.slices import input_names

pytestmark = pytest.mark.slow

STEPS = 60_000
SEEDS = (0, 1)


class VectorEnv(Sb3VecEnv):
    """Worlds of a task with a reward, as Stable-Baselines3 wants them."""

    def __init__(self, task, source, seed, num_envs):
        from gymnasium.spaces import Box

        self.worlds = task.make_envs([seed], num_envs)
        spec = SliceSpec(candidate_id="human", seed=seed)
        self.rewards = Rewards([RewardSpec(candidate_id="human", source=source)], [spec], input_names(task))
        size = (self.worlds.observation_size,)
        low, high = self.worlds.action_low.numpy(), self.worlds.action_high.numpy()
        super().__init__(num_envs, Box(-np.inf, np.inf, size, np.float32), Box(low, high, dtype=np.float32))

    def reset(self):
        return self.worlds.reset().numpy().copy()

    def step_async(self, actions):
        self.actions = torch.from_numpy(actions)

    def step_wait(self):
        step = self.worlds.step(self.actions)
        reward = self.rewards.price({name: value[None] for name, value in step.inputs.items()}, [True]).total[0, 0]
        done = step.terminated | step.truncated
        infos = [{} for _ in range(self.num_envs)]
        for world in done.nonzero()[:, 0].tolist():
            infos[world] = {
                "terminal_observation": step.final_observation[world].numpy(),
                "TimeLimit.truncated": bool(step.truncated[world]),
            }
        return step.observation.numpy().copy(), reward.numpy(), done.numpy(), infos

    def close(self): ...
    def get_attr(self, attr_name, indices=None):
        return [None] * self.num_envs

    def set_attr(self, attr_name, value, indices=None): ...
    def env_method(self, method_name, *args, indices=None, **kwargs): ...

    def env_is_wrapped(self, wrapper_class, indices=None):
        return [False] * self.num_envs


def sb3_fitness(task, source, seed, settings):
    """Fitness of a policy that Stable-Baselines3 trained."""
    inner = VectorEnv(task, source, seed, settings.num_envs)
    env = VecNormalize(inner, gamma=settings.discount)
    batch = settings.num_envs * settings.rollout_steps // settings.minibatches
    sizes = {"n_steps": settings.rollout_steps, "batch_size": batch, "n_epochs": settings.epochs}
    policy = {"net_arch": list(settings.hidden)}
    model = PPO("MlpPolicy", env, learning_rate=1e-3, seed=seed, policy_kwargs=policy, device="cpu", **sizes)
    model.learn(STEPS)
    worlds = task.make_envs([seed + 1000], 16)
    observation, upright = worlds.reset(), []
    for _ in range(task.episode_steps):
        action, _ = model.predict(env.normalize_obs(observation.numpy()), deterministic=True)
        step = worlds.step(torch.from_numpy(action))
        central = step.inputs["cart_position"].abs() < 1.0
        upright.append(((step.inputs["pole_upright"] > 0.9) & central).float().mean())
        observation = step.observation
    return float(torch.stack(upright).mean())


def test_our_ppo_learns_the_swing_up_as_well_as_stable_baselines3(tmp_path):
    task = load_task("cartpole")
    source = baseline_sources(task)["human"]
    settings = task.training["ppo"].model_copy(
        update={"env_steps": STEPS, "evaluation_phases": 1, "evaluation_envs": 16}
    )
    job = PpoJob(
        task="cartpole",
        rewards=(RewardSpec(candidate_id="human", source=source),),
        slices=tuple(SliceSpec(candidate_id="human", seed=seed) for seed in SEEDS),
        settings=settings,
        folder=str(tmp_path),
    )
    ours = [each.curve[-1].fitness for each in SliceBatch(task, job, lambda message: None).run()]
    theirs = [sb3_fitness(task, source, seed, settings) for seed in SEEDS]
    print(f"fitness after {STEPS} steps: ours {ours}, Stable-Baselines3 {theirs}")
    assert sum(ours) >= sum(theirs) - 0.1 * len(SEEDS)
    assert min(ours) > 0.5
