"""Attacks that run as ordinary Python inside the real trainer, beside honest candidates or in processes of their own.

What stands for a way out of the reward language is the task file, which is executed in the worker: where the trainer
compiles a reward, an attack is played, and another reward, the opposite of an honest one, is called in its place.
"""

import shutil
from pathlib import Path
from typing import NamedTuple

from rewardgen.sandbox.process import Limits
from rewardgen.store.records import RewardSpec, SliceResult, SliceSpec
from rewardgen.tasks.loading import shipped_tasks
from rewardgen.training.protocol import TrainerSetup
from rewardgen.training.trainers import ppo_trainer
from tests.security.pipeline import SHORT

_LIMITS = Limits(wall_s=60.0)
_HANGING = "def compute_reward(pole_upright):\n    return {'hanging': -pole_upright}\n"
_OUT_OF_THE_LANGUAGE = """
import numpy as _np
import torch as _torch
from rewardgen.training.shared import rewards as _rewards
from torch.nn import functional as _functional

_in_language = _rewards.compile_reward


class _Attacker:
    staged, settling_steps, observed, observes = None, 1, (), ()

    def __init__(self, source):
        self.source, self.inputs, self.tunables = source, ("pole_upright", "cart_velocity", "action"), {}
        self._own, self._left = _in_language(HANGING), CALLS[source]
        self._scope = {"torch": _torch, "F": _functional, "math": math, "np": _np, "__name__": "reward"}

    def price(self, inputs, begins, carry, tunables):
        self._attack({name: inputs[name].flatten(0, 1) for name in self.inputs})
        return self._own.price(inputs, begins, carry, tunables)

    def _attack(self, inputs):
        left, self._left = self._left, 0
        if left:
            exec(compile(self.source, "<reward>", "exec"), self._scope)
        for _ in range(left):
            self._scope["compute_reward"](**inputs)


_rewards.compile_reward = lambda source: _Attacker(source) if source in CALLS else _in_language(source)
"""


OTHERS = {
    "reward of another": """
import sys
shared = sys.modules["rewardgen.reward.program"].Program
kept = shared.__call__
def worsened(self, inputs, tunables={}):
    found = kept(self, inputs, tunables)
    found.total = -found.total
    return found
shared.__call__ = worsened
""",
    "prices of all": """
import sys
shared = sys.modules["rewardgen.training.shared.rewards"].Rewards
kept = shared.price
def worsened(self, inputs, active, begins=None):
    found = kept(self, inputs, active, begins)
    found.total.neg_()
    return found
shared.price = worsened
""",
    "policy of another": """
import sys
shared = sys.modules["rewardgen.training.ppo.policy"].StackedPolicy
kept = shared.save
shared.save = lambda self, index, path: kept(self, 1, path)
""",
}
"""What changes the training of all candidates of a process without a word: body of an attack by its name."""


class Trained(NamedTuple):
    """What came of candidates by their name, and the policies that were kept."""

    results: dict[str, SliceResult]
    policies: dict[str, bytes]

    def of(self, name: str) -> tuple[object, ...]:
        """All that is known of one candidate, but for how long it took."""
        result = self.results[name]
        return result.failure, result.final_fitness, result.final_success_rate, self.policies.get(name)


def train(folder: Path, sources: dict[str, str], calls: dict[str, int], *, isolate: bool) -> Trained:
    """Train candidates, those that attack among them.

    Args:
        folder: For the task file, the workers and the policies.
        sources: Name to reward.
        calls: Name of an attack to how often it is called.
        isolate: Each in a process of its own, or all in one.
    """
    names = {f"g00-k{number}": name for number, name in enumerate(sources)}
    results: dict[str, SliceResult] = {}
    task = _task(folder, {sources[name]: number for name, number in calls.items()})
    trainer = ppo_trainer(
        TrainerSetup(str(task), SHORT, 2 if isolate else 1, folder / "scratch", _LIMITS, isolate=isolate)
    )
    trainer.train(
        [RewardSpec(candidate_id=id, source=sources[name]) for id, name in names.items()],
        [SliceSpec(candidate_id=id, seed=0) for id in names],
        folder=folder / "policies",
        on_progress=lambda progress: None,
        on_slice=lambda result: results.update({names[result.candidate_id]: result}),
    )
    kept = {name: folder / "policies" / str(result.policy) for name, result in results.items() if result.policy}
    return Trained(results, {name: path.read_bytes() for name, path in kept.items()})


def _task(folder: Path, calls: dict[str, int]) -> Path:
    folder.mkdir()
    for name in ("cartpole.py", "cartpole.xml"):
        shutil.copy(shipped_tasks()["cartpole"].with_name(name), folder)
    text = _OUT_OF_THE_LANGUAGE.replace("HANGING", repr(_HANGING)).replace("CALLS", repr(calls))
    cartpole = (folder / "cartpole.py").read_text().replace("episode_steps = 250", "episode_steps = 50")
    (folder / "cartpole.py").write_text(cartpole + text)
    return folder / "cartpole.py"
