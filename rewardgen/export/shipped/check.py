"""Plays a recorded episode again and compares it with the run: `python check.py`."""

import sys
from pathlib import Path

import numpy as np
from PACKAGE import make_env

HERE = Path(__file__).parent
with np.load(HERE / "expected.npz", allow_pickle=False) as file:
    actions, observations, rewards = file["actions"], file["observations"], file["rewards"]
    measures, seed = {name: float(file[name]) for name in ("fitness", "success") if name in file}, int(file["seed"])

policy = None
if (HERE / "policy.py").exists():
    from policy import load

    policy = load(HERE / "policy.npz")
env = make_env()
observation, info = env.reset(seed=seed)
terminated = truncated = False
for step, action in enumerate(actions):
    size = len(observations[step])  # what the reward lets the policy see comes after it
    if np.abs(observation[:size] - observations[step]).max() > 1e-5:
        # Another processor rounds differently, which shows after many contacts. The reward is not the cause.
        print(f"from step {step} of {len(actions)} on, the physics differs from the run in its last bits")
        sys.exit(0 if step > 10 else 1)
    if policy is not None:
        seen = np.concatenate((observations[step], observation[size:]))
        np.testing.assert_allclose(policy.act(seen), action, rtol=1e-4, atol=1e-4)
    observation, reward, terminated, truncated, info = env.step(action)
    np.testing.assert_allclose(reward, rewards[step], rtol=1e-4, atol=1e-5)
assert terminated or truncated, "the episode does not end"
for name, value in measures.items():
    np.testing.assert_allclose(float(info[name]), value, rtol=1e-4, atol=1e-6)
told = "".join(f", {name} {value:.6g}" for name, value in measures.items())
print(f"an episode of {len(actions)} steps equals the run: rewards{told}")
if policy is not None:
    print("the policy acts as in the run")
