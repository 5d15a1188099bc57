"""A training worker in the hands of one candidate, as if its reward had got out of the language.

What stands for such a reward is the task file: it is executed in the worker, and takes over the training of any batch
that the candidate `bad` is in.
"""

import os
from pathlib import Path

from rewardgen.sandbox.process import Limits
from rewardgen.store.records import RewardSpec, SliceSpec
from rewardgen.training.protocol import TrainerSetup
from rewardgen.training.trainers import ppo_trainer
from tests.training.builders import TINY, leaver

STILL = "def compute_reward(x):\n    return {'still': -x.abs()}\n"
LIMITS = Limits(wall_s=60.0)
TWO_UPDATES = TINY.model_copy(update={"env_steps": 1024})

_TAKE_OVER = """
import json, os, pickle, time
from rewardgen.core import errors
from rewardgen.store.records import SliceFailure
from tests.sandbox import misdeeds
from rewardgen.training.shared import batch

class Told(dict):
    def model_dump(self, mode):
        return self

def run(self, honest=batch.SliceBatch.run):
    ids = [log.spec.candidate_id for log in self._slices.logs]
    if "bad" not in ids:
        return honest(self)
    results = [Told(each.model_dump(mode="json")) for each in honest(self)]
    told = results[ids.index("bad")]
    policy = self._slices._folder / "bad-s0.npz"
DEED
    return results

batch.SliceBatch.run = run
"""


class Heard:
    """What the trainer told, and where its workers were."""

    def __init__(self, scratch):
        self.scratch = scratch
        self.results = {}
        self.progress = []

    def slice(self, result):
        self.results[result.candidate_id, result.seed] = result

    @property
    def failure(self):
        """The failure of `bad`."""
        return self.results["bad", 0].failure

    def left(self):
        """Files that the workers left behind."""
        return [path for path in self.scratch.rglob("*") if not path.is_dir()]


def train(folder, deed="pass", ids=("good", "bad"), seeds=(0,), limits=LIMITS, **options):
    """Train candidates with the same reward; `deed` is what `bad` does in its worker once it was trained."""
    task = leaver(folder, "episode.lengths.float()").path
    body = "\n".join(f"    {line}" for line in deed.strip().splitlines())
    task.write_text(_TAKE_OVER.replace("DEED", body) + task.read_text())
    heard = Heard(folder / "scratch")
    trainer = ppo_trainer(TrainerSetup(str(task), TWO_UPDATES, 1, heard.scratch, limits, **options))
    trainer.train(
        [RewardSpec(candidate_id=id, source=STILL) for id in ids],
        [SliceSpec(candidate_id=id, seed=seed) for id in ids for seed in seeds],
        folder=folder / "policies",
        on_progress=heard.progress.append,
        on_slice=heard.slice,
    )
    return heard


def workers_in(folder):
    """Living processes whose working folder is below a folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            place = os.readlink(process / "cwd").removesuffix(" (deleted)")
        except OSError:
            continue
        if Path(place).is_relative_to(folder.resolve()):
            found.append(int(process.name))
    return found
