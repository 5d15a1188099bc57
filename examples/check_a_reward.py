"""Check a reward of one's own, and print what the critic finds.

python examples/check_a_reward.py [TASK] [FILE]
"""

import argparse
from pathlib import Path

import rewardgen

REWARD = '''
def compute_reward(pole_up, cart_position, action):
    """Upright, central and gentle; but the task calls the first of them otherwise."""
    return {
        "upright": pole_up,
        "central": -cart_position.abs(),
        "effort": -0.001 * action.square().sum(-1),
    }
'''

options = argparse.ArgumentParser(description="Check a reward.")
options.add_argument("task", nargs="?", default="cartpole")
options.add_argument("file", nargs="?", type=Path, help="a Python file with a `compute_reward`")
given = options.parse_args()

verdict = rewardgen.check(given.task, given.file or REWARD)
print("accepted" if verdict.accepted else "rejected")
for finding in verdict.findings:
    line = f" (line {finding.line})" if finding.line else ""
    print(f"- {finding.severity} {finding.detector}{line}: {finding.message}")
    if finding.hint:
        print(f"  hint: {finding.hint}")
