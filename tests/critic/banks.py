"""Recorded transitions for tests of the probe, and rewards from a body."""

from __future__ import annotations

import ast
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory

from rewardgen.critic.probe.observation import eyes_on
from rewardgen.critic.probe.probe import probe
from rewardgen.critic.probe.reward_source import RewardSource
from rewardgen.critic.probe.stages import Machine
from rewardgen.reward.pricing import price_rows
from rewardgen.reward.program import compile_reward
from rewardgen.sim.transitions import TransitionSet, load_transitions
from rewardgen.store.records import Finding
from rewardgen.tasks.loading import load_task
from rewardgen.tasks.members import own_program
from rewardgen.training.cache import get_or_record_transitions

TRAPS = Path(__file__).parents[1] / "traps" / "tasks"


@cache
def recorded(task: str) -> TransitionSet:
    """Return a task's transitions, recorded once for all tests in whatever process."""
    with TemporaryDirectory() as folder:
        path = Path(folder).resolve() / "transitions.npz"
        get_or_record_transitions(task, path)
        return load_transitions(path)


def found(task: str | TransitionSet, parameters: str, body: str) -> dict[str, Finding]:
    """Return the first finding of each detector on a reward with these parameters and this body."""
    indented = "".join(f"    {line}\n" for line in body.split("\n"))
    source = f"def compute_reward({parameters}):\n{indented}"
    return probed(recorded(task) if isinstance(task, str) else task, source)


def probed(bank: TransitionSet, source: str) -> dict[str, Finding]:
    """Return the first finding of each detector on a reward."""
    return {finding.detector: finding for finding in reversed(probe_source(source, bank))}


def probe_source(source: str, transitions: TransitionSet) -> tuple[Finding, ...]:
    """Return all findings of the probe on a reward that compiles."""
    program = compile_reward(source)
    machine = Machine(program.staged) if program.staged else None
    tree = RewardSource(ast.parse(source))
    look = partial(eyes_on, program) if program.observed else None
    return probe(lambda rows: price_rows(program, rows), program.inputs, tree, transitions, machine, look)


def of_trap(name: str, reward: str) -> dict[str, Finding]:
    """Return the findings on the `naive_reward` or `sound_reward` of a trap task."""
    reference = str(TRAPS / f"{name}.py")
    program = own_program(load_task(reference), reward)  # pyright: ignore[reportArgumentType]
    assert program is not None
    return probed(recorded(reference), program.source)
