"""What a report says first: what was asked for, whether it worked, and how sure that is."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from rewardgen.core.formatting import bounds, count, number, percent, shortened, with_spread
from rewardgen.core.statistics import Interval, Standing, difference_interval
from rewardgen.store.history import FinalRow, History, Status
from rewardgen.store.measurements import STARTS
from rewardgen.store.records import BASELINES

Tone = Literal["good", "mixed", "bad", "open"]

_LONGEST = 150
_STANDINGS: dict[Standing, tuple[str, Tone]] = {
    "above": ("better", "good"),
    "on par": ("within noise", "mixed"),
    "below": ("worse", "bad"),
}
_HEADLINES: dict[Standing, str] = {
    "above": "better than the {} reward",
    "on par": "within noise of the {} reward",
    "below": "worse than the {} reward",
}


_NO_SUCCESS = 0.05
"""Success rate below which a policy is said to be without it."""
_SO_FAR = (
    "So far, on the seeds of the search: whoever leads was chosen by these numbers, so they flatter it. Only fresh"
    " seeds say how good it is."
)


class Fact(NamedTuple):
    """One line of the answer."""

    name: str
    value: str
    bounds: str = ""
    """Of the value's 95 % interval."""
    about: str = ""
    tone: Tone = "open"


class Answer(NamedTuple):
    """What stands on the first screen of a report."""

    asked: str
    """The user's own words, or the task's first sentences."""
    is_goal: bool
    """Whether they are the user's."""
    headline: str
    tone: Tone
    facts: tuple[Fact, ...] = ()
    sure: str = ""
    """What the numbers rest on."""
    cautions: tuple[str, ...] = ()
    """What speaks against the goal, the steps of a training, or the comparison."""


def answer_of(history: History, status: Status) -> Answer:
    """The answer, as far as there is one.

    Args:
        history: What is known of the run.
        status: Whether it goes on.
    """
    goal = history.config.goal if history.config else ""
    asked = goal or _opening_words(history.card.description if history.card else "")
    answer = Answer(asked, bool(goal), *_unfinished(history, status), cautions=tuple(_cautions(history)))
    if (summary := history.summary) is None:
        return answer._replace(facts=tuple(_so_far(history)), sure=_SO_FAR if history.best() else "")
    row = next((each for each in summary.rows if each.candidate_id == summary.chosen), None)
    if row is None or row.fitness is None:
        return answer._replace(headline=summary.conclusion, tone="bad")
    headline, tone = _verdict(history, row)
    seeds = f"{count(row.seeds, 'fresh seed')} that the search never saw, {STARTS} starts each"
    sure = f"Measured on {seeds}. Brackets hold 95 % intervals."
    sure += " With a single seed, any of this may be noise." if row.seeds == 1 else ""
    return answer._replace(headline=headline, tone=tone, facts=tuple(_facts(history, row)), sure=sure)


def _opening_words(description: str) -> str:
    """The first paragraph of a description, or its first sentence where that is too long for a title."""
    first = " ".join(description.strip().split("\n\n")[0].split())
    return first if len(first) <= _LONGEST else re.split(r"(?<=[.!?])\s", first, maxsplit=1)[0]


def _unfinished(history: History, status: Status) -> tuple[str, Tone]:
    best = history.best()
    leader = "no candidate has been trained yet"
    if best and best.fitness is not None:
        leader = f"{best.candidate.id} leads the search with a fitness of {number(best.fitness)}"
    if status == "failed":
        return f"The run failed: {history.error}", "bad"
    begun = "Interrupted" if status == "interrupted" else "Still searching"
    begun = f"{begun}, in the finals" if history.finalists else begun
    return f"{begun}: {leader}.", "open"


def _so_far(history: History) -> list[Fact]:
    """What leads the search, beside the task's own rewards."""
    best, card = history.best(), history.card
    if best is None or best.result is None or card is None:
        return []
    facts = [
        Fact("Success", percent(best.result.success_rate), about=_short(card.success)),
        Fact("Fitness", with_spread(best.fitness, best.result.fitness_spread), about=_short(card.fitness)),
    ]
    own = {name: result for name in history.baselines if (result := history.result("search", name))}
    return facts + [
        Fact(name.capitalize(), with_spread(each.fitness, each.fitness_spread)) for name, each in own.items()
    ]


def _verdict(history: History, row: FinalRow) -> tuple[str, Tone]:
    """The headline, and whether it is good news."""
    summary, judgement = history.summary, history.judgement
    assert summary is not None
    rate = row.success_rate or 0.0
    against: dict[str, Standing | None] = {"human": summary.against_human, "sparse": summary.against_sparse}
    bar = next((name for name, each in against.items() if each), "")
    found = against.get(bar)
    words = f"Succeeds in {percent(rate)} of episodes"
    sure = row.success_interval
    is_open = rate >= _NO_SUCCESS and sure is not None and sure.low < _NO_SUCCESS
    words += f" (with so few seeds: {100 * sure.low:.0f} to {100 * sure.high:.0f} %)" if sure and is_open else ""
    words += f", {_HEADLINES[found].format(bar)}" if found else ""
    if judgement and judgement.answer == "no":
        words += "; but" if rate >= 0.5 else ";"
        return f"{words} the model that read them says that it is not what was asked for.", "bad"
    if judgement and judgement.answer == "partly":
        words += "; the model that read them says that it does only part of what was asked for"
    if rate < _NO_SUCCESS and found != "above":
        return f"{words}.", "bad"
    mixed = rate < 0.5 or is_open or found == "below" or bool(judgement and judgement.answer == "partly")
    return f"{words}.", "mixed" if mixed else "good"


def _facts(history: History, row: FinalRow) -> list[Fact]:
    summary, card, judgement = history.summary, history.card, history.judgement
    assert summary is not None and card is not None and row.fitness is not None
    rate = row.success_rate or 0.0
    tone: Tone = "good" if rate >= 0.5 else "mixed" if rate >= _NO_SUCCESS else "bad"
    success = row.success_interval
    ends = f"{100 * success.low:.0f}, {100 * success.high:.0f}" if success else ""
    facts = [
        Fact("Success", percent(rate), ends, _short(card.success), tone),
        Fact("Fitness", number(row.fitness.value), _bounds(row.fitness) if row.seeds > 1 else "", _short(card.fitness)),
    ]
    facts += [each for name in BASELINES if (each := _against(history, name))]
    if summary.confirmed:
        words, tone = _STANDINGS[summary.confirmed]
        steps = number(history.config.confirm or 1.0) if history.config else ""
        facts.append(
            Fact("With more steps", words, about=f"Both trained once more, with {steps} times the steps", tone=tone)
        )
    if judgement is None:
        return [*facts, Fact("As asked", "not judged", about="no language model read the episodes")]
    told: dict[str | None, tuple[str, Tone]] = {
        "yes": ("yes", "good"),
        "partly": ("only partly", "mixed"),
        "no": ("no", "bad"),
        None: ("not judged", "open"),
    }
    words, tone = told[judgement.answer]
    about = judgement.why or judgement.problem
    if judgement.answer:
        about = f"Says the model that read episodes of the best of the policies: {about}"
    return [*facts, Fact("As asked", words, about=about, tone=tone)]


def _against(history: History, name: str) -> Fact | None:
    """How the chosen reward stands against one of the task's own."""
    summary = history.summary
    assert summary is not None and summary.chosen is not None
    row = next((each for each in summary.rows if each.candidate_id == name), None)
    if row is None:
        return None
    title = f"Against {name}"
    found = summary.against_human if name == "human" else summary.against_sparse
    if row.fitness is None or found is None:
        return Fact(title, "not known", about=f"it failed to train: {row.failure}" if row.failure else "")
    words, tone = _STANDINGS[found]
    difference = final_difference(history, name)
    about = f"it reaches {number(row.fitness.value)} [{_bounds(row.fitness)}]"
    if difference:
        about = f"difference of the means {_signed(difference.value)} [{_bounds(difference)}]; {about}"
    return Fact(title, words, about=about, tone=tone)


def final_difference(history: History, name: str) -> Interval | None:
    """Mean fitness of the chosen reward minus that of one of the task's own, on the fresh seeds."""
    summary = history.summary
    if summary is None or summary.chosen is None:
        return None
    bar = next(
        (each for each in BASELINES if {"human": summary.against_human, "sparse": summary.against_sparse}[each]), ""
    )
    if name == bar and summary.difference:
        return summary.difference
    results = [history.result("final", id) for id in (summary.chosen, name)]
    own, other = ([*each.by_seed.values()] if each else [] for each in results)
    return difference_interval(own, other) if min(len(own), len(other)) > 1 else None


def _cautions(history: History) -> list[str]:
    told = [history.goal_check.text] if history.goal_check and history.goal_check.answer != "yes" else []
    told += [history.doubt] if history.doubt and not history.raised else []
    return [f"{each[:1].upper()}{each[1:]}" for each in told + history.changes]


def _short(text: str) -> str:
    """What fits beside a number; the whole text stands in the section on the objective."""
    return shortened(" ".join(text.split()), _LONGEST)


def _bounds(interval: Interval) -> str:
    return bounds(interval).replace("-", "−")


def _signed(value: float) -> str:
    return f"+{number(value)}" if value > 0 else number(value).replace("-", "−")
