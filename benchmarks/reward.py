"""`rewardgen bench reward`: what a call of a checked and guarded reward costs over the same code compiled plainly."""

from __future__ import annotations

from typing import NamedTuple

from benchmarks.contender import Contender, contenders
from benchmarks.figures import Figure, Report, Say
from benchmarks.reward_examples import EXAMPLES

_LIMIT = 1.03
_STEPS, _SLICE_WORLDS = 32, 64
_MICROSECONDS = 1e6
_NOTES = (
    "Ratios of processor time, 1.00 is no cost. The sides take turns call by call, and each repetition tells the median"
    " of the ratios of neighbouring calls: median [lowest, highest] of the repetitions.",
    "Function: the compiled function alone. Call: with its contract: names, shapes, finite values, no memory shared"
    " with the inputs, the total, and the residual of a tuple.",
    "Plain: Python's own compilation, the terms added up with `sum`, one look whether the total is finite, and the"
    " total minus the terms where it returns a total.",
    f"Rollout: {_STEPS} steps of two slices of {_SLICE_WORLDS} worlds as training prices them, inputs copied and"
    " components handed out slice by slice, against one plain call over all rows.",
)


class RewardOptions(NamedTuple):
    """What to measure.

    Attributes:
        worlds: Numbers of worlds, N, of single calls.
        repetitions: How often.
        pairs: Calls of each side in a repetition.
    """

    worlds: tuple[int, ...] = (64, 4096)
    repetitions: int = 7
    pairs: int = 600

    def quick(self) -> RewardOptions:
        """The same in half a minute."""
        return self._replace(repetitions=3, pairs=80)


def bench_reward(options: RewardOptions, say: Say) -> Report:
    """Measure reward calls.

    Args:
        options: What to measure.
        say: Told what goes on.
    """
    figures: list[Figure] = []
    with contenders({"calls": "reward-calls"}) as found:
        for reward in EXAMPLES:
            say(f"calling a reward: {reward}")
            for worlds in options.worlds:
                figures += _calls(found["calls"], reward, worlds, options)
            figures.append(_rollout(found["calls"], reward, options))
    settings = {**options._asdict(), "worlds": " ".join(map(str, options.worlds))}
    return Report(bench="reward", settings=settings, figures=tuple(figures), notes=_NOTES)


def _calls(contender: Contender, reward: str, worlds: int, options: RewardOptions) -> list[Figure]:
    answers = [
        contender.ask("calls", reward=reward, worlds=worlds, pairs=options.pairs) for _ in range(options.repetitions)
    ]
    subject = f"{reward} N={worlds}"
    plain = tuple(answer["call"]["plain"] * _MICROSECONDS for answer in answers)
    return [
        _cost("function / plain", subject, [answer["function"] for answer in answers], _LIMIT),
        _cost("call / plain", subject, [answer["call"] for answer in answers], _LIMIT),
        Figure(name="plain call", subject=subject, unit="us", values=plain),
    ]


def _rollout(contender: Contender, reward: str, options: RewardOptions) -> Figure:
    asked = {"reward": reward, "steps": _STEPS, "worlds": _SLICE_WORLDS, "pairs": options.pairs}
    answers = [contender.ask("rollout", **asked) for _ in range(options.repetitions)]
    return _cost("rollout / plain", reward, answers)


def _cost(name: str, subject: str, answers: list[dict[str, float]], target: float | None = None) -> Figure:
    values = tuple(answer["ratio"] for answer in answers)
    return Figure(name=name, subject=subject, unit="x", values=values, target=target, at_most=True)
