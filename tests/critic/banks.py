"""Real banks for the tests of the probe, recorded once, and rewards from a body."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from rewardgen.critic.probe.job import probe_reward
from rewardgen.sim.transitions import TransitionSet
from rewardgen.store.records import Finding, RewardSpec
from rewardgen.tasks.baselines import baseline_program
from rewardgen.tasks.loading import load_task
from rewardgen.tasks.record_transitions import record_transitions
from rewardgen.training.expert_policy import load_expert

TRAPS = Path(__file__).parents[2] / "envs" / "traps"


@cache
def recorded(task: str) -> TransitionSet:
    loaded = load_task(task)
    return record_transitions(loaded, load_expert(loaded))


def found(task: str | TransitionSet, parameters: str, body: str) -> dict[str, Finding]:
    """The first finding of each detector on a reward with these parameters and this body."""
    indented = "".join(f"    {line}\n" for line in body.split("\n"))
    source = f"def compute_reward({parameters}):\n{indented}"
    return probed(recorded(task) if isinstance(task, str) else task, source)


def probed(bank: TransitionSet, source: str) -> dict[str, Finding]:
    findings = probe_reward(RewardSpec(candidate_id="a", source=source), bank)
    return {finding.detector: finding for finding in reversed(findings)}


def of_trap(name: str, reward: str) -> dict[str, Finding]:
    """Findings of the `naive_reward` or `sound_reward` of a trap task."""
    reference = str(TRAPS / f"{name}.py")
    program = baseline_program(load_task(reference), reward)  # pyright: ignore[reportArgumentType]
    assert program is not None
    return probed(recorded(reference), program.source)
