"""The worker job `probe`: rewards run on recorded transitions before any training is spent on them."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rewardgen.errors import UsageError
from rewardgen.records import Finding, RewardSpec
from rewardgen.reward.program import Program, RewardError, compile_reward
from rewardgen.training.probe_contract import Call, check_contract, probe_finding
from rewardgen.training.probe_statistics import check_statistics

TIME_LIMIT_S = 10.0
"""For all calls of one reward together; a sound one takes well under a tenth of a second."""
_SLOW_S = 3e-3
_TIMED_WORLDS = 64
_TIMED_CALLS = 5


def probe_job(payload: dict[str, Any], report: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Probe rewards on a bank of transitions.

    Args:
        payload: `{"bank": path, "rewards": [RewardSpec...]}`; the bank is an `.npz` of input names to (M, ...) float32.
        report: Not used.

    Returns:
        `{"findings": {candidate id: [Finding...]}}`, an empty list for a sound reward.

    Raises:
        UsageError: The bank cannot be read.
    """
    torch.set_num_threads(1)
    bank = load_bank(Path(payload["bank"]))
    rewards = [RewardSpec.model_validate(each) for each in payload["rewards"]]
    findings = {reward.candidate_id: probe_reward(reward, bank) for reward in rewards}
    return {"findings": {id: [each.model_dump(mode="json") for each in found] for id, found in findings.items()}}


def load_bank(path: Path) -> dict[str, Tensor]:
    """The recorded transitions of a task.

    Args:
        path: An `.npz` file.

    Returns:
        Input name to (M, ...) float32.

    Raises:
        UsageError: The file is missing or damaged.
    """
    try:
        with np.load(path, allow_pickle=False) as arrays:
            return {name: torch.from_numpy(arrays[name].astype(np.float32)) for name in arrays.files}
    except (OSError, ValueError, EOFError) as error:
        hint = "delete it; it is recorded again when it is missing"
        raise UsageError(f"cannot read the bank of transitions {path}: {error}", hint) from error


def probe_reward(reward: RewardSpec, bank: dict[str, Tensor]) -> tuple[Finding, ...]:
    """What a reward does on recorded transitions and beyond them.

    Args:
        reward: The reward.
        bank: Input name to (M, ...) float32.

    Returns:
        Rejections if it cannot work; otherwise warnings about the size and variation of its components.
    """
    try:
        with _time_limit(TIME_LIMIT_S), torch.no_grad():
            program = compile_reward(reward.source)
            return _probe(program, reward, bank)
    except RewardError as error:
        return (probe_finding(error, "when it is compiled"),)
    except _OutOfTimeError:
        message = f"the reward takes more than {TIME_LIMIT_S:g} s on {len(bank['action'])} recorded transitions"
        hint = "compute over the whole batch, without large loops"
        return (Finding(gate="probe", detector="probe-timeout", severity="reject", message=message, hint=hint),)


def _probe(program: Program, reward: RewardSpec, bank: dict[str, Tensor]) -> tuple[Finding, ...]:
    def call(inputs: dict[str, Tensor]) -> dict[str, Tensor]:
        return program(inputs, reward.tunables)

    rejections = check_contract(call, {name: bank[name] for name in program.inputs}, bank)
    if rejections:
        return rejections
    components = call({name: bank[name].clone() for name in program.inputs})
    return (*check_statistics(components), *_check_time(call, bank))


def _check_time(call: Call, bank: dict[str, Tensor]) -> Iterator[Finding]:
    rows = {name: value[:_TIMED_WORLDS].clone() for name, value in bank.items()}
    times = []
    for _ in range(_TIMED_CALLS):
        start = time.perf_counter()
        call(rows)
        times.append(time.perf_counter() - start)
    if min(times) > _SLOW_S:
        message = f"the reward takes {1e3 * min(times):.1f} ms for {_TIMED_WORLDS} worlds; most take about 0.1 ms"
        hint = "replace loops by torch functions over the whole batch"
        yield Finding(gate="probe", detector="slow-reward", severity="warn", message=message, hint=hint)


class _OutOfTimeError(BaseException):
    """Not an `Exception`, so that nothing on the way takes it for the reward's own."""


@contextmanager
def _time_limit(seconds: float) -> Iterator[None]:
    """Interrupt Python code after a time; a single long call into torch is interrupted when it returns."""

    def interrupt(*_: object) -> None:
        raise _OutOfTimeError

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
