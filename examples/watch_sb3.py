"""Watch the reward of a training with Stable-Baselines3: its components, dead and dominant ones, and reward hacking.

    python examples/watch_sb3.py [ENVIRONMENT] [--quick]

Hopper tells the parts of its reward in `info`, and how far it came: the number that should rise with the return.
"""

import argparse

from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env

from rewardgen import watch

options = argparse.ArgumentParser(description="Watch a training.")
options.add_argument("environment", nargs="?", default="Hopper-v5")
options.add_argument("--quick", action="store_true", help="too few steps to learn much")
given = options.parse_args()

watching = watch(
    ("reward_forward", "reward_ctrl", "reward_survive"),
    metric="x_position",
    ends_are_failures=True,  # the hopper fell
    file="watched.json",
)
model = PPO("MlpPolicy", make_vec_env(given.environment, 4), n_steps=256 if given.quick else 512, device="cpu", seed=0)
model.learn(4_000 if given.quick else 60_000, callback=watching)
