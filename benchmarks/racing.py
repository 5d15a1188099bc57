"""What early evaluations say of the final order, and what cutting candidates by them would have saved and lost.

Reads recorded runs and trains nothing. Of each task's candidates it draws generations, and lets each race against the
others by several rules.
"""

from __future__ import annotations

import random
import statistics
from collections import defaultdict
from collections.abc import Sequence
from math import hypot, isfinite
from typing import NamedTuple

from benchmarks.figures import Figure, Report, Say
from rewardgen.core.errors import UsageError
from rewardgen.core.formatting import count
from rewardgen.core.statistics import noise, standard_errors
from rewardgen.store.history import History
from rewardgen.store.records import SliceResult
from rewardgen.store.run_folder import DEFAULT_RUNS_DIR, find_run
from rewardgen.tasks.draft.sketches import spearman

SHARES = (0.25, 0.5, 0.75)
"""Of the steps, at which the order is compared with the final one."""
_SLACK = 0.02
"""Of the steps, by which an evaluation may come late: it comes after a whole update."""
_RACES = 2000
_LEAST_SAVED, _MOST_LOST = 15.0, 5.0


class RacingOptions(NamedTuple):
    """How candidates race.

    Attributes:
        candidates: Candidates of each race.
        seeds: Seeds of each.
    """

    candidates: int = 6
    seeds: int = 2


class Rule(NamedTuple):
    """Who is cut.

    Attributes:
        name: What it is called.
        cuts: Shares of the steps after which there is a cut.
        lenience: Standard errors of the difference by which a candidate may be behind without being cut.
        leader: Whether behind the leader; behind the last of the upper half otherwise.
    """

    name: str
    cuts: tuple[float, ...]
    lenience: float
    leader: bool = False


RULES = (
    Rule("lower half", (0.375, 0.625), 0),
    Rule("lower half, 1 SE", (0.375, 0.625), 1),
    Rule("lower half, 2 SE", (0.375, 0.625), 2),
    Rule("leader, 2 SE", (0.5, 0.75), 2, leader=True),
)


class Training(NamedTuple):
    """One slice: the share of the steps and the fitness at each evaluation, and the fitness it was measured with."""

    shares: tuple[float, ...]
    fitness: tuple[float, ...]
    final: float

    def at(self, share: float) -> float:
        """Fitness at the last evaluation so far; of one that was stopped before, at its last."""
        seen = [value for when, value in zip(self.shares, self.fitness, strict=True) if when <= share + _SLACK]
        return seen[-1] if seen else self.fitness[0]

    def left(self, share: float) -> float:
        """The share of the steps that it still has to train."""
        return max(0.0, self.shares[-1] - share)


Entrant = Sequence[Training]
"""A candidate in a race: its seeds' trainings."""


class Race(NamedTuple):
    """What became of a race.

    Attributes:
        saved: Share of the steps that the cuts saved.
        best_cut: Whether the candidate with the best final fitness was cut.
        gap_beyond_noise: Whether the best survivor ends below it by more than noise.
        fitness_lost: By how much it ends below it.
    """

    saved: float
    best_cut: bool
    gap_beyond_noise: bool
    fitness_lost: float


def bench_racing(runs: Sequence[str], options: RacingOptions, say: Say) -> Report:
    """Replay recorded runs.

    Args:
        runs: Run folders, or what names them.
        options: How candidates race.
        say: Told what goes on.

    Raises:
        UsageError: There are too few candidates for any race.
        RunFolderError: There is no such run, or it is in the form of another version.
    """
    histories = []
    for reference in runs:
        say(f"reading {reference}")
        histories.append(History.load(find_run(reference, DEFAULT_RUNS_DIR)))
    figures: list[Figure] = []
    for subject, trained in trainings(histories).items():
        entrants = [list(by_seed.values()) for by_seed in trained.values() if len(by_seed) >= options.seeds]
        if len(entrants) > 2:
            name = f"{subject}, {count(len(entrants), 'candidate')}"
            figures += _figures(name, _drawn(entrants, options))
    if not figures:
        raise UsageError(
            f"no task has three candidates with {count(options.seeds, 'seed')} in these runs", "name more runs"
        )
    settings = {**options._asdict(), "runs": len(runs)}
    notes = (
        f"{_RACES} races of {count(options.candidates, 'candidate')} with {count(options.seeds, 'seed')} each, drawn"
        " from those of all runs; [low, high] is the middle 90 %.",
        "Lower half: cut at 37.5 and 62.5 % of the steps is who is in it, and behind the last of the upper half by more"
        " than so many standard errors. Leader: at 50 and 75 %, who is behind the leader.",
        "Saved: of the steps that these trainings had. Lost: relative to the range of all candidates' final fitness.",
    )
    return Report(bench="racing", settings=settings, figures=tuple(figures), notes=notes)


def trainings(histories: Sequence[History]) -> dict[str, dict[str, dict[int, Training]]]:
    """Task and steps to source of a reward to seed to training; what several runs have in common counts once."""
    found: dict[str, dict[str, dict[int, Training]]] = defaultdict(lambda: defaultdict(dict))
    for history in histories:
        assert history.card is not None and history.training is not None
        steps = history.training.env_steps
        for (_, candidate_id, seed), result in history.trained.items():
            if result.curve and result.final_fitness is not None:
                by_source = found[f"{history.card.name} {steps // 1000}k"]
                by_source[_source(history, candidate_id)][seed] = _training(result, steps)
    return {subject: dict(by_source) for subject, by_source in found.items()}


def _source(history: History, candidate_id: str) -> str:
    record = history.record(candidate_id)
    return record.candidate.source if record else history.baselines[candidate_id]


def _training(result: SliceResult, steps: int) -> Training:
    assert result.final_fitness is not None
    shares = tuple(point.env_steps / steps for point in result.curve)
    return Training(shares, tuple(point.fitness for point in result.curve), result.final_fitness)


def _drawn(entrants: Sequence[Entrant], options: RacingOptions) -> list[list[Entrant]]:
    # Without replacement: a seed that is drawn twice would show no noise.
    draw = random.Random(0)
    size = min(options.candidates, len(entrants))
    return [[draw.sample(each, options.seeds) for each in draw.sample(list(entrants), size)] for _ in range(_RACES)]


def _figures(subject: str, races: Sequence[Sequence[Entrant]]) -> list[Figure]:
    found = []
    for share in SHARES:
        at = f"at {100 * share:.0f} % of the steps"
        orders = [spearman(_means(entrants, share), _finals(entrants)) for entrants in races]
        places = [_place_of_best(entrants, share) for entrants in races]
        correlations = sorted(filter(isfinite, orders))
        if correlations:
            middle = tuple(correlations[int(part * (len(correlations) - 1))] for part in (0.05, 0.5, 0.95))
            found.append(Figure(name=f"rank correlation {at}", subject=subject, unit="", values=middle))
        found.append(_frequency(f"final best in the upper half {at}", subject, [each.upper for each in places]))
        found.append(_frequency(f"or within noise of the leader {at}", subject, [each.near for each in places]))
    finals = [each for entrants in races for each in _finals(entrants)]
    spread = (max(finals) - min(finals)) or 1.0
    for rule in RULES:
        outcomes = [raced(entrants, rule) for entrants in races]
        saved = 100 * statistics.fmean(each.saved for each in outcomes)
        lost = 100 * statistics.fmean(each.fitness_lost for each in outcomes) / spread
        best_cut = _frequency(f"{rule.name}: final best cut", subject, [each.best_cut for each in outcomes])
        found += [
            Figure(name=f"{rule.name}: steps saved", subject=subject, unit="%", values=(saved,), target=_LEAST_SAVED),
            best_cut.model_copy(update={"target": _MOST_LOST, "at_most": True}),
            _frequency(f"{rule.name}: beyond noise", subject, [each.gap_beyond_noise for each in outcomes]),
            Figure(name=f"{rule.name}: fitness lost", subject=subject, unit="%", values=(lost,)),
        ]
    return found


def _frequency(name: str, subject: str, holds: Sequence[bool]) -> Figure:
    return Figure(name=name, subject=subject, unit="%", values=(100 * statistics.mean(holds),))


class _Place(NamedTuple):
    """Where the candidate that ends best is at some point: in the upper half, or near its leader."""

    upper: bool
    near: bool


def _place_of_best(entrants: Sequence[Entrant], share: float) -> _Place:
    means, finals = _means(entrants, share), _finals(entrants)
    errors, freedom = standard_errors([[each.at(share) for each in entrant] for entrant in entrants])
    best, leader = finals.index(max(finals)), means.index(max(means))
    above = sum(each > means[best] for each in means)
    upper = above < (len(entrants) + 1) // 2
    return _Place(upper, upper or means[leader] - means[best] <= noise(errors[leader], errors[best], freedom=freedom))


def raced(entrants: Sequence[Entrant], rule: Rule) -> Race:
    """Let candidates race by a rule."""
    alive, saved = list(range(len(entrants))), 0.0
    for share in rule.cuts:
        means = _means(entrants, share)
        pooled = standard_errors([[each.at(share) for each in entrants[index]] for index in alive])
        error = dict(zip(alive, pooled.errors, strict=True))
        order = sorted(alive, key=lambda index: means[index], reverse=True)
        bar = order[0 if rule.leader else (len(order) + 1) // 2 - 1]
        cut = {each for each in alive if means[bar] - means[each] > rule.lenience * hypot(error[bar], error[each])}
        saved += sum(training.left(share) for index in cut for training in entrants[index])
        alive = [each for each in alive if each not in cut]
    finals = _finals(entrants)
    errors, freedom = standard_errors([[each.final for each in entrant] for entrant in entrants])
    best, left = finals.index(max(finals)), max(alive, key=lambda index: finals[index])
    gap = finals[best] - finals[left]
    whole = sum(training.shares[-1] for entrant in entrants for training in entrant)
    return Race(saved / whole, gap > 0, gap > noise(errors[best], errors[left], freedom=freedom), gap)


def _means(entrants: Sequence[Entrant], share: float) -> list[float]:
    return [statistics.fmean(each.at(share) for each in entrant) for entrant in entrants]


def _finals(entrants: Sequence[Entrant]) -> list[float]:
    return [statistics.fmean(each.final for each in entrant) for entrant in entrants]
