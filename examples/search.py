"""Search for a reward from Python, look at what was found, and use the reward as a function.

    python examples/search.py [TASK] [--quick]

Without a language model: `model="openai/gpt-5.1"`, with its key in the environment, designs better rewards.
"""

import argparse

import torch

import rewardgen

options = argparse.ArgumentParser(description="Search for a reward.")
options.add_argument("task", nargs="?", default="cartpole")
options.add_argument("--quick", action="store_true", help="a search that is too short to find much")
options.add_argument("--runs-dir", default="runs")
given = options.parse_args()

size = {"generations": 1, "candidates": 2, "seeds": 1, "final_seeds": 1, "env_steps": 4096} if given.quick else {}
run = rewardgen.run(given.task, model="builtin", runs_dir=given.runs_dir, films=not given.quick, **size)

print(run.summary.conclusion)
print(run.table())

best = run.best
print(f"\nthe best is {best.id}, fitness {best.fitness.value:.2f} [{best.fitness.low:.2f}, {best.fitness.high:.2f}]")
print(best.source)

# The reward is a pure function of the task's variables, for any number of envs at once.
inputs = {each.name: torch.zeros(3, *each.shape) for each in run.history.card.variables}
inputs["action"] = torch.zeros(3, run.history.card.action_size)
inputs |= {f"prev_{name}": value for name, value in inputs.items()}
for name, value in best.reward(inputs).items():
    print(f"{name}: {value.tolist()}")
