"""`python -m benchmarks sim`: steps per second with a reward, against the C loop and usual vector environments."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.contender import Contender, contenders
from benchmarks.figures import Figure, Report, Say, ratio
from rewardgen.core.provenance import usable_cores
from rewardgen.tasks.loading import resolve_task

DEFAULT_TASKS = ("hopper", "walker2d", "ant", "humanoid", "half_cheetah", "cartpole")
MANY_ENVS = 512
"""Environments of the second cart-pole measurement: a cheap model is worth stepping in large numbers."""

_GYMNASIUM_IDS = {
    "hopper": "Hopper-v5",
    "walker2d": "Walker2d-v5",
    "ant": "Ant-v5",
    "humanoid": "Humanoid-v5",
    "half_cheetah": "HalfCheetah-v5",
}
_OURS, _LIMIT, _ALL_CORES, _SYNC, _DUMMY = "ours", "C loop", "all cores", "Gymnasium", "SB3"
_KINDS = {_OURS: "ours", _LIMIT: "c-loop", _ALL_CORES: "ours", _SYNC: "gymnasium", _DUMMY: "sb3"}
_ENVS = {_SYNC: 64, _DUMMY: 16}
_RATIOS = ((_OURS, _LIMIT), (_OURS, _SYNC), (_ALL_CORES, _SYNC), (_OURS, _DUMMY))

_LIMIT_TARGETS = dict.fromkeys((("hopper", 64), ("walker2d", 64), ("ant", 64), ("humanoid", 64)), 0.75)
_TARGETS = {
    (_OURS, _LIMIT): _LIMIT_TARGETS | {("cartpole", MANY_ENVS): 0.6},
    # A Sync environment cannot use a second core, a batch can.
    (_ALL_CORES, _SYNC): dict.fromkeys((("hopper", 64), ("ant", 64), ("humanoid", 64)), 3.0),
}


class SimOptions(NamedTuple):
    """Options of the measurement.

    Attributes:
        tasks: Task references.
        num_envs: N of ours and of the C loop.
        threads: Physics threads of ours and of the C loop.
        repetitions: How often.
        seconds: How long each contender runs in each repetition, roughly.
    """

    tasks: tuple[str, ...] = DEFAULT_TASKS
    num_envs: int = 64
    threads: int = 1
    repetitions: int = 7
    seconds: float = 1.0

    def quick(self) -> SimOptions:
        """The same in under a minute."""
        return self._replace(repetitions=3, seconds=0.1)


def bench_sim(options: SimOptions, say: Say) -> Report:
    """Measure stepping.

    Args:
        options: What to measure.
        say: Told what goes on.

    Raises:
        TaskError: There is no such task, or it cannot be simulated.
    """
    for task in options.tasks:
        resolve_task(task)
    rounds = _rounds(options)
    kinds = {name: _KINDS[name] for each in rounds for name in each.names}
    figures: list[Figure] = []
    notes: list[str] = []
    with contenders(kinds) as found:
        for each in rounds:
            say(f"stepping {each.subject}")
            answers = _measure({name: found[name] for name in each.names}, each, options)
            figures += _figures(each, answers)
            notes += _check_replay(each, answers)
    settings = {**options._asdict(), "tasks": " ".join(options.tasks), "all cores": usable_cores()}
    return Report(bench="sim", settings=settings, figures=tuple(figures), notes=(*_NOTES, *notes))


_NOTES = (
    "Ratios are of contenders that ran right after each other: median [lowest, highest] of the repetitions.",
    "Ours: random actions, and the task's human reward on every step, called once per 32 steps, as in training.",
    "C loop: `mj_step` alone on one MjData per thread, from the very states and controls of our run; no reset, no"
    " reward.",
    f"Gymnasium: Sync of {_ENVS[_SYNC]} environments; SB3: Dummy of {_ENVS[_DUMMY]}; both use one core.",
    "All cores: ours with one physics thread for each core; elsewhere ours has the threads of the C loop.",
)


class _Round(NamedTuple):
    """One measurement.

    Attributes:
        task: Task reference.
        num_envs: N of ours and of the C loop.
        names: The contenders, in the order in which they run.
    """

    task: str
    num_envs: int
    names: tuple[str, ...]

    @property
    def subject(self) -> str:
        name = Path(self.task).stem
        return name if self.num_envs == 64 else f"{name} N={self.num_envs}"


def _rounds(options: SimOptions) -> list[_Round]:
    rounds = [
        _Round(task, options.num_envs, tuple(_KINDS) if task in _GYMNASIUM_IDS else (_OURS, _LIMIT))
        for task in options.tasks
    ]
    if "cartpole" in options.tasks and options.num_envs != MANY_ENVS:
        rounds.append(_Round("cartpole", MANY_ENVS, (_OURS, _LIMIT)))
    return rounds


def _measure(found: dict[str, Contender], each: _Round, options: SimOptions) -> dict[str, list[dict[str, Any]]]:
    """Contender to its answer in each repetition."""
    steps = _prepare(found, each, options)
    answers: dict[str, list[dict[str, Any]]] = {name: [] for name in found}
    for _ in range(options.repetitions):
        for name, contender in found.items():
            answers[name].append(contender.ask("measure", steps=steps[name]))
    return answers


def _prepare(found: dict[str, Contender], each: _Round, options: SimOptions) -> dict[str, int]:
    """Contender to the control steps of each of its environments that take about as long as asked."""
    threads = {_OURS: options.threads, _LIMIT: options.threads, _ALL_CORES: usable_cores()}
    for name, contender in found.items():
        if name in _ENVS:
            contender.begin("prepare", env_id=_GYMNASIUM_IDS[each.task], envs=_ENVS[name])
        else:
            contender.begin("prepare", task=str(resolve_task(each.task)), num_envs=each.num_envs, threads=threads[name])
    rates = {name: contender.answer()["rate"] for name, contender in found.items()}
    steps = {name: rate * options.seconds / _ENVS.get(name, each.num_envs) for name, rate in rates.items()}
    steps[_LIMIT] = steps[_OURS]  # it replays what ours did
    return {name: max(4, round(number)) if name in _ENVS else _whole_rollouts(number) for name, number in steps.items()}


def _whole_rollouts(steps: float) -> int:
    return 32 * max(1, round(steps / 32))


def _figures(each: _Round, answers: dict[str, list[dict[str, Any]]]) -> list[Figure]:
    rates = {name: tuple(float(one["rate"]) for one in measured) for name, measured in answers.items()}
    speeds = [Figure(name=name, subject=each.subject, unit="/s", values=values) for name, values in rates.items()]
    ratios = [
        ratio(f"{over} / {under}", each.subject, rates[over], rates[under], _target(each, over, under))
        for over, under in _RATIOS
        if over in rates and under in rates
    ]
    return speeds + ratios


def _target(each: _Round, over: str, under: str) -> float | None:
    return _TARGETS.get((over, under), {}).get((each.task, each.num_envs))


def _check_replay(each: _Round, answers: dict[str, list[dict[str, Any]]]) -> list[str]:
    """Return a note if the states of the C loop differ from ours."""
    error = max(one["error"] for one in answers[_LIMIT])
    same = [one["digest"] for one in answers[_OURS]] == [one["digest"] for one in answers[_LIMIT]]
    if same and error == 0.0:
        return []
    return [f"{each.subject}: the C loop did other physics than ours (largest difference of a state {error:.1e})"]
