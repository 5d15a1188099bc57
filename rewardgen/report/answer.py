"""The first screen of a report: what was asked, whether it worked, and how sure that is."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from rewardgen.core.formatting import bounds, count, number, percent, with_interval, with_spread
from rewardgen.core.statistics import Interval, Standing, difference_interval
from rewardgen.store.history import ABLATED, FinalRow, History, Status
from rewardgen.store.records import BASELINES
from rewardgen.view.facts import chosen_row
from rewardgen.view.progress import doubts

Tone = Literal["good", "mixed", "bad", "open"]

_LONGEST = 150
_STANDINGS: dict[Standing, tuple[str, str, Tone]] = {
    "above": ("better", "than", "good"),
    "on par": ("within noise", "of", "mixed"),
    "below": ("worse", "than", "bad"),
}
_NO_SUCCESS = 0.05
"""Success rate below which a policy counts as failing."""
_SOLVED, _SOLVED_BY_EACH = 0.8, 0.5
"""Success rate over all seeds, and of the worst seed, from which a task counts as solved."""
_SO_FAR = (
    "So far, on the seeds of the search. The leader was chosen by these numbers, so they flatter it; only fresh seeds"
    " tell how good it is."
)


class Fact(NamedTuple):
    """One line of the answer."""

    name: str
    value: str
    bounds: str = ""
    """Ends of the value's 95 % interval."""
    about: str = ""
    tone: Tone = "open"


class FirstScreen(NamedTuple):
    """Content of the first screen."""

    asked: str
    """The user's own words, or the task's first sentences."""
    is_goal: bool
    """True if the words are the user's."""
    headline: str
    tone: Tone
    facts: tuple[Fact, ...] = ()
    sure: str = ""
    """Basis of the numbers."""
    cautions: tuple[str, ...] = ()
    """Objections to the goal, the step budget, or the comparison."""


def answer_of(history: History, status: Status) -> FirstScreen:
    """The answer so far."""
    goal = history.config.goal
    asked = goal or opening_words(history.card.description)
    remarks = [f"{text[:1].upper()}{text[1:]}" for text in doubts(history) + history.changes]
    cautions = (*_next_steps(history, status), *remarks)
    answer = FirstScreen(asked, bool(goal), *_unfinished(history, status), cautions=cautions)
    if (summary := history.summary) is None:
        return answer._replace(facts=tuple(_so_far(history)), sure=_SO_FAR if history.best() else "")
    row = chosen_row(summary)
    if row is None or row.failure:
        return answer._replace(headline=summary.conclusion, tone="bad")
    headline, tone = _verdict(history, row)
    seeds = f"{count(row.seeds, 'fresh seed')} that the search never saw, {count(history.starts, 'start')} each"
    sure = f"Measured on {seeds}, in a process that never loads generated code. Brackets hold 95 % intervals."
    if not history.has_fitness:
        sure = f"Trained on {count(row.seeds, 'fresh seed')}. The task has no fitness: look at the films."
    if row.fitness and row.seeds > 2:
        sure += " Fitness is the interquartile mean of the seeds; differences are of their plain means."
    sure += " With a single seed, any of this may be noise." if row.seeds == 1 else ""
    return answer._replace(headline=headline, tone=tone, facts=tuple(_facts(history, row)), sure=sure)


def opening_words(description: str) -> str:
    """Return the first paragraph of a text, or its first sentence if that is too long; never half a sentence."""
    first = " ".join(description.strip().split("\n\n")[0].split())
    return first if len(first) <= _LONGEST else re.split(r"(?<=[.!?])\s", first, maxsplit=1)[0]


def _criterion(success: str) -> str:
    """Return the sentence that begins with "Success", as in drafted tasks, which tell first how they measure."""
    told = [each for each in re.split(r"(?<=[.!?])\s+", success) if each.lower().startswith("success")]
    return " ".join(told[0].split()) if told else opening_words(success)


def _unfinished(history: History, status: Status) -> tuple[str, Tone]:
    best = history.best()
    leader = "no candidate leads yet" if history.trained else "no candidate has been trained yet"
    if best and best.fitness is not None:
        merit = f" with a fitness of {number(best.fitness)}" if history.has_fitness else ""
        leader = f"{best.candidate.id} leads the search{merit}"
    if status == "failed":
        return f"The run failed: {history.error}.", "bad"
    if status == "interrupted":
        state = "Interrupted in the finals" if history.finalists else "Interrupted"
    else:
        state = "In the finals" if history.finalists else "Still searching"
    return f"{state}: {leader}.", "open"


def _next_steps(history: History, status: Status) -> list[str]:
    """Sentences on what to do about a run that no process works on any more."""
    if status not in ("failed", "interrupted"):
        return []
    hint = f"{history.hint[:1].upper()}{history.hint[1:]}." if history.hint else ""
    return [*filter(None, [hint]), f"`rewardgen resume {history.run_id}` continues it."]


def _so_far(history: History) -> list[Fact]:
    best, card = history.best(), history.card
    if best is None or best.result is None:
        return []
    if not card.has_fitness:
        return _preference(history, best.candidate.id)
    facts = [
        Fact("Fitness", with_spread(best.fitness, best.result.fitness_spread), about=opening_words(card.fitness)),
    ]
    if best.result.success_rate is not None:
        facts.insert(0, Fact("Success", percent(best.result.success_rate), about=_criterion(card.success)))
    baselines = {name: result for name in history.baselines if (result := history.result("search", name))}
    return facts + [
        Fact(name.capitalize(), with_spread(result.fitness, result.fitness_spread))
        for name, result in baselines.items()
    ]


def _verdict(history: History, row: FinalRow) -> tuple[str, Tone]:
    summary, judgement = history.summary, history.judgement
    assert summary is not None
    rate, rates, interval = row.success_rate, _success_by_seed(history, row), row.success_interval
    against: dict[str, Standing | None] = {"human": summary.against_human, "sparse": summary.against_sparse}
    bar = next((name for name, standing in against.items() if standing), "")
    standing = against.get(bar)
    if rate is None:
        words = f"Reaches a fitness of {_minus(number(row.fitness.value))}" if row.fitness else "Has no fitness"
    else:
        seeds = [percent(one).removesuffix(" %") for one in rates]
        words = f"Succeeds in {percent(rate)} of episodes"
        words += f" (by seed: {', '.join(seeds)} %)" if len(set(seeds)) > 1 else ""
    words += f", {' '.join(_STANDINGS[standing][:2])} the {bar} reward" if standing else ""
    if not history.has_fitness:
        words = f"{row.candidate_id} is preferred to {count(len(history.ranking.ids) - 1, 'other candidate')}"
    if judgement and judgement.answer == "no":
        words += ";" if rate is not None and rate < 0.5 else "; but"
        return f"{words} the model that read the episodes says that this is not what was asked for.", "bad"
    if judgement and judgement.answer == "partly":
        words += "; the model that read the episodes says that this is only part of what was asked for"
    if rate is None:
        solved = standing == "above" or (not history.has_fitness and bool(judgement) and judgement.answer == "yes")
    elif rate < _NO_SUCCESS and standing != "above":
        return f"{words}.", "bad"
    else:
        solved = _is_solved(rate, rates) and not (interval and interval.low < _NO_SUCCESS) and standing != "below"
    return f"{words}.", "good" if solved and not (judgement and judgement.answer == "partly") else "mixed"


def _success_by_seed(history: History, row: FinalRow) -> list[float]:
    """Success rate of each fresh seed, highest first."""
    result = history.result("final", row.candidate_id)
    rates = [run.final_success_rate for run in result.slices] if result else []
    return sorted((rate for rate in rates if rate is not None), reverse=True)


def _is_solved(rate: float, rates: list[float]) -> bool:
    return rate >= _SOLVED and min(rates, default=rate) >= _SOLVED_BY_EACH


def _facts(history: History, row: FinalRow) -> list[Fact]:
    summary, card, judgement = history.summary, history.card, history.judgement
    assert summary is not None
    rate, interval = row.success_rate, row.success_interval
    ends = f"{100 * interval.low:.0f}, {100 * interval.high:.0f}" if interval else ""
    facts = [] if row.fitness else _preference(history, row.candidate_id)
    if row.fitness:
        fitness_ends = _minus(bounds(row.fitness)) if row.seeds > 1 else ""
        facts = [Fact("Fitness", number(row.fitness.value), fitness_ends, opening_words(card.fitness))]
    if rate is not None:
        solved = _is_solved(rate, _success_by_seed(history, row))
        tone: Tone = "good" if solved else "mixed" if rate >= _NO_SUCCESS else "bad"
        facts.insert(0, Fact("Success", percent(rate), ends, _criterion(card.success), tone))
    facts += [fact for name in BASELINES if (fact := _against(history, name))]
    if bare := summary.row(row.candidate_id + ABLATED):
        ends = _minus(bounds(bare.fitness)) if bare.fitness and bare.seeds > 1 else ""
        about = "the same reward without its observe: policies see the task's own observation alone"
        facts.append(Fact("Blind", number(bare.fitness and bare.fitness.value) or "not known", ends, about))
    if judgement is None:
        return [*facts, Fact("As asked", "not judged", about="no language model read the episodes")]
    answers: dict[str | None, tuple[str, Tone]] = {
        "yes": ("yes", "good"),
        "partly": ("only partly", "mixed"),
        "no": ("no", "bad"),
        None: ("not judged", "open"),
    }
    words, tone = answers[judgement.answer]
    about = judgement.why or judgement.problem
    if judgement.answer:
        result = history.result("final", row.candidate_id)
        read = result and result.typical and result.typical.final_success_rate
        which = f", which succeeds in {percent(read)}" if read is not None else ""
        about = f"The model that read episodes of the policy with the median fitness{which}: {about}"
    return [*facts, Fact("As asked", words, about=about, tone=tone)]


def _preference(history: History, id: str) -> list[Fact]:
    """Strength of a candidate by comparisons, of whom."""
    rank, answers = history.ranking.rank(id), history.comparisons
    if rank is None or not answers:
        return []
    about = f"by {count(len(answers), 'answer')} of {answers[-1].teacher}; a difference of 1 means odds of 2.7 to 1"
    return [Fact("Strength", with_spread(rank.estimate, rank.standard_error), about=about)]


def _against(history: History, name: str) -> Fact | None:
    summary = history.summary
    assert summary is not None and summary.chosen is not None
    row = next((row for row in summary.rows if row.candidate_id == name), None)
    if row is None:
        return None
    title = f"Against {name}"
    standing = summary.against_human if name == "human" else summary.against_sparse
    if row.fitness is None or standing is None:
        return Fact(title, "not known", about=f"it failed to train: {row.failure}" if row.failure else "")
    words, _, tone = _STANDINGS[standing]
    difference, about = _difference(history, name), f"it reaches {_minus(with_interval(row.fitness))}"
    if difference:
        sign = "+" if difference.value > 0 else ""
        about = f"difference of the means {sign}{_minus(with_interval(difference))}; {about}"
    return Fact(title, words, about=about, tone=tone)


def _difference(history: History, name: str) -> Interval | None:
    """Mean fitness of the chosen reward minus that of one of the task's own, on the fresh seeds."""
    summary = history.summary
    assert summary is not None and summary.chosen is not None
    if name == ("human" if summary.against_human else "sparse") and summary.difference:
        return summary.difference
    results = [history.result("final", id) for id in (summary.chosen, name)]
    chosen, other = ([*result.by_seed.values()] if result else [] for result in results)
    return difference_interval(chosen, other) if min(len(chosen), len(other)) > 1 else None


def _minus(text: str) -> str:
    return text.replace("-", "−")
