"""Trains the golden rewards anew, if what a training tells has changed: `python -m tests.golden.train [TASK ...]`.

It takes some minutes, and its figures vary from machine to machine; regenerate the golden files after it.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from rewardgen.sandbox.process import Limits
from rewardgen.store.records import Candidate, CandidateRecord, CandidateResult, RewardSpec, SliceSpec, Verdict
from rewardgen.training.cache import get_or_measure
from rewardgen.training.protocol import TRAINERS, TrainerSetup
from rewardgen.training.setup import card_for, settings_for
from tests.golden.requests import HERE, OPERATORS, TASKS

STEPS = {"cartpole": 60_000, "hopper": 160_000, "ant": 80_000, "table": 150_000}
SEEDS = (0, 1)


def train(name: str) -> None:
    """Write the records of one task anew, for the rewards that they hold."""
    path = HERE / "records" / f"{name}.json"
    found = [Candidate.model_validate(each["candidate"]) for each in json.loads(path.read_text())["records"]]
    task = get_or_measure(TASKS.get(name, name))
    settings = settings_for("ppo", task, STEPS[name])
    results = []
    slices = [SliceSpec(candidate_id=each.id, seed=seed) for each in found for seed in SEEDS]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        setup = TrainerSetup(TASKS.get(name, name), settings, 2, folder / "scratch", Limits(wall_s=900.0))
        rewards = [RewardSpec(candidate_id=each.id, source=each.source) for each in found]
        trainer = TRAINERS.get("ppo").make(setup)
        trainer.train(rewards, slices, folder=folder, on_progress=lambda _: None, on_slice=results.append)
    results = [each.model_copy(update={"wall_s": 0.0}) for each in results]
    records = [
        CandidateRecord(
            candidate=each,
            verdict=Verdict(candidate_id=each.id),
            result=CandidateResult(
                candidate_id=each.id,
                slices=tuple(sorted((one for one in results if one.candidate_id == each.id), key=lambda one: one.seed)),
            ),
        )
        for each in found
    ]
    card = card_for("ppo", task, settings, len(SEEDS)).model_copy(update={"reference": name})
    told = {"card": card.model_dump(mode="json"), "records": [each.model_dump(mode="json") for each in records]}
    path.write_text(json.dumps(told))


if __name__ == "__main__":
    for task in sys.argv[1:] or OPERATORS:
        train(task)
