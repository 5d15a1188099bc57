"""Each trap's two rewards trained side by side, and what the critic and the analyzer say of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from rewardgen.analyzer.analyzer import Analyzer
from rewardgen.reward.program import compile_reward
from rewardgen.sim.transitions import load_transitions
from rewardgen.store.records import (
    Candidate,
    CandidateRecord,
    CandidateResult,
    RewardSpec,
    SliceResult,
    SliceSpec,
    Verdict,
)
from rewardgen.tasks.card import measure_card
from rewardgen.tasks.loading import load_task
from rewardgen.tasks.members import own_program
from rewardgen.training.evaluation import evaluate, evaluate_job
from rewardgen.training.expert_policy import transitions_job
from rewardgen.training.policies import load_policy, side_by_side
from rewardgen.training.ppo.settings import PpoJob, PpoSettings
from rewardgen.training.ppo.train_job import train_job
from tests.critic.banks import probe_source

FOLDER = Path(__file__).parent / "tasks"
NAMES = sorted(path.stem for path in FOLDER.glob("*.py"))
KINDS = ("naive", "sound")
SEEDS = (0, 1)


def reference(name: str) -> str:
    """The task reference of a trap."""
    return str(FOLDER / f"{name}.py")


def sources(task: Any) -> dict[str, str]:
    """The naive and the sound reward of a trap as programs of their own."""
    programs = {kind: own_program(task, f"{kind}_reward") for kind in KINDS}  # type: ignore[arg-type]
    return {kind: program.source for kind, program in programs.items() if program is not None}


@dataclass(frozen=True)
class Trained:
    """A trap after training with both rewards; `results` by kind."""

    task: Any
    sources: dict[str, str]
    results: dict[str, CandidateResult]
    folder: Path

    def naive_return(self, kind: str) -> float:
        """What the policies trained with one reward collect per episode under the naive one."""
        policies = [load_policy(self.folder / str(each.policy)) for each in self.results[kind].slices]
        program = compile_reward(self.sources["naive"])
        envs = self.task.make_envs(SEEDS, 16)
        recording = evaluate(self.task, envs, side_by_side(policies), program.inputs).recording
        steps, count = recording.inputs["action"].shape[:2]
        parts = program({name: recording.inputs[name].flatten(0, 1) for name in program.inputs})
        total = torch.stack(list(parts.values())).sum(0).view(steps, count)
        return float(recording.episode.total(total).mean())

    def detected(self, kind: str) -> set[str]:
        """The detectors that speak up: of the critic's probe before training, and of the analyzer after it."""
        return self._probed(kind) | self._flagged(kind)

    def _probed(self, kind: str) -> set[str]:
        path = self.folder / "transitions.npz"
        if not path.exists():
            transitions_job({"task": str(self.task.path), "path": str(path)}, print)
        return {finding.detector for finding in probe_source(self.sources[kind], load_transitions(path))}

    def _flagged(self, kind: str) -> set[str]:
        candidate = Candidate(id=kind, generation=0, operator="draft", source=self.sources[kind])
        record = CandidateRecord(candidate=candidate, verdict=Verdict(candidate_id=kind), result=self.results[kind])
        flags = Analyzer(None).study(record, (), measure_card(self.task)).flags
        return {flag.detector for flag in flags}


def train(name: str, folder: Path) -> Trained:
    """Train a trap's policies with both rewards in one batch, at the task's own settings."""
    task = load_task(reference(name))
    programs = sources(task)
    job = _job(name, programs, SEEDS, task.training["ppo"], folder)
    slices = train_job(job.model_dump(mode="json"), lambda _: None)["slices"]
    measured = {(each["candidate_id"], each["seed"]): each for each in _measured(job)}
    done = [_concluded(SliceResult.model_validate(each), measured) for each in slices]
    results = {
        kind: CandidateResult(candidate_id=kind, slices=tuple(each for each in done if each.candidate_id == kind))
        for kind in programs
    }
    return Trained(task, programs, results, folder)


def _job(name: str, programs: dict[str, str], seeds: tuple[int, ...], settings: PpoSettings, folder: Path) -> PpoJob:
    return PpoJob(
        task=reference(name),
        rewards=tuple(RewardSpec(candidate_id=kind, source=source) for kind, source in programs.items()),
        slices=tuple(SliceSpec(candidate_id=kind, seed=seed) for kind in programs for seed in seeds),
        settings=settings,
        folder=str(folder),
    )


def _measured(job: PpoJob) -> list[dict[str, Any]]:
    slices = [each.model_dump() for each in job.slices]
    payload = {"task": job.task, "folder": job.folder, "slices": slices}
    return evaluate_job({**payload, "seed": 0, "episodes": 16}, print)["slices"]


def _concluded(result: SliceResult, measured: dict[tuple[str, int], dict[str, Any]]) -> SliceResult:
    own = measured[result.candidate_id, result.seed]
    rates = {"final_fitness": own["fitness"], "final_success_rate": own["success_rate"]}
    return result.model_copy(update=rates)
