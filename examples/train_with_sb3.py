"""Train a policy with Stable-Baselines3 on the reward that a run has found.

python examples/train_with_sb3.py [RUN] [--quick]
"""

import argparse

from stable_baselines3 import PPO
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.monitor import Monitor

import rewardgen

options = argparse.ArgumentParser(description="Train on a run's reward.")
options.add_argument("run", nargs="?", default="latest")
options.add_argument("--quick", action="store_true", help="too few steps to learn much")
options.add_argument("--runs-dir", default="runs")
given = options.parse_args()

run = rewardgen.open_run(given.run, given.runs_dir)
env = Monitor(rewardgen.make_env(run.task, reward=run.best.reward), info_keywords=("fitness", "success"))

model = PPO("MlpPolicy", env, n_steps=256 if given.quick else 2048, device="cpu", seed=0)
model.learn(256 if given.quick else 200_000)

returns, _ = evaluate_policy(model, env, n_eval_episodes=3, return_episode_rewards=True)
print(f"episode returns, by the reward of {run.best.id}: {returns}")

# What counts is not the reward but the task's own fitness, which no policy was trained on.
observation, _ = env.reset(seed=1)
over = False
while not over:
    action, _ = model.predict(observation, deterministic=True)
    observation, _, terminated, truncated, info = env.step(action)
    over = terminated or truncated
print(f"fitness {info['fitness']:.2f}, success {info['success']}")
print(f"the run's own policy: fitness {run.best.fitness.value:.2f}")
