"""The tables of docs/evidence.md and of the README, from the kept runs."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence

from docs.study_runs import (
    DRAFTS,
    KEPT,
    VERDICTS,
    WAYS,
    WORDS,
    StudyRun,
    cells_of,
    on_fresh_seeds,
    own_row,
    search_fitness,
    search_values,
    stopped_first,
    tasks_of,
    was_accepted,
)
from rewardgen.core.formatting import number
from rewardgen.core.sequential import look
from rewardgen.core.statistics import Interval, improvement_probability, mean_probability
from rewardgen.llm.archive import read_archive
from rewardgen.llm.budget import tokens_in
from rewardgen.store.history import FinalRow
from rewardgen.tasks.draft.drafting import DraftedTask
from rewardgen.tasks.loading import load_task

REJECTED = "rejected.json"
"""Id of a candidate to the fitness by seed of its first version, which was rejected and trained all the same."""
READINGS = "readings.json"
"""What readers answered who saw the sentence and the episodes, and neither metric nor fitness."""
_NEARLY = 0.9
"""Of the fitness from which a task counts as solved: the README shows tasks in which a reward gets so far."""
GROUPS = ("most", "few", "none")
"""Parts of the task list, by the share of recorded drafts that solve a task: at least half, fewer, none."""
PRICE_IN, PRICE_OUT = 1.25, 10.0
"""Of a million tokens [USD]: of GPT-5.1 in November 2026. The replies of the study were free."""


def tables(runs: Sequence[StudyRun]) -> dict[str, str]:
    """The page's tables by name.

    Args:
        runs: Of the study.
    """
    of_words, of_tasks = [run for run in runs if run.way == WORDS], [run for run in runs if run.way in WAYS]
    found = {"counts": _counts, "results": _results, "success": _success, "drafts": _drafts, "costs": _costs}
    told = {name: table(of_tasks) for name, table in found.items()}
    return {**told, "parts": _parts(runs), "gates": _gates(runs), "words": _words(of_words), "wide": _wide(runs)}


def with_tables(page: str, found: dict[str, str]) -> str:
    """A page with its tables set anew, each between `<!-- NAME -->` and `<!-- end -->`.

    Args:
        page: The page.
        found: Tables by name.
    """
    for name, table in found.items():
        page, times = re.subn(
            rf"(<!-- {name} -->\n).*?(<!-- end -->)",
            lambda m, table=table: f"{m[1]}{table}\n{m[2]}",
            page,
            flags=re.DOTALL,
        )
        if times != 1:
            raise SystemExit(f"there are {times} places for the table `{name}`")
    return page


def what_ran(runs: Sequence[StudyRun]) -> str:
    """The README's table: the tasks that a reward solves or nearly does, with the first seed of the search."""
    rows: list[list[str]] = []
    for task, seed in cells_of([run for run in runs if run.way in WAYS]):
        here = {run.way: run for run in runs if (run.task, run.seed) == (task, seed) and run.way in WAYS}
        human, solved = own_row([*here.values()], "human"), load_task(task).solved_fitness
        reached = [
            row.fitness.value for row in (human, *(run.row("winner") for run in here.values())) if row and row.fitness
        ]
        if seed == 0 and solved is not None and max(reached) >= _NEARLY * solved:
            won = [_in_short(run.row("winner"), run.verdict) if (run := here.get(way)) else "" for way in WAYS]
            rows.append([task, *won, _in_short(human)])
    head = ["task", "evolved", "drafts (`best-of-n`)", "built-in", "human"]
    return table_of(head, rows, right=len(head))


def _in_short(row: FinalRow | None, verdict: str = "") -> str:
    if not row or not row.fitness:
        return "none"
    value, low, high = (f"{each:.2f}" for each in (row.fitness.value, row.fitness.low, row.fitness.high))
    told = f"{value}, worse" if verdict == "worse" else f"{value} [{low}, {high}]"
    return f"**{told}**" if verdict == "better" else told


def _counts(runs: Sequence[StudyRun]) -> str:
    rows: list[list[str]] = []
    for way in WAYS:
        here = [run for run in runs if run.way == way]
        found = Counter(run.verdict for run in here)
        if found:
            beaten = [beats(here, runs, "human"), "" if way == "best-of-n" else beats(here, runs, "best-of-n")]
            rows.append(
                [way, f"{len(here)}", *(f"{found[word]}" for word in VERDICTS.values()), f"{_higher(here)}", *beaten]
            )
    head = ["way", "searches", *VERDICTS.values(), "higher at all", "policy beats human's", "policy beats best-of-n's"]
    return table_of(head, rows, right=1)


def beats(here: Sequence[StudyRun], runs: Sequence[StudyRun], other: str) -> str:
    """How often a policy of a winner is better than one of another reward, in percent; the average over tasks."""
    by_task = [_beats_on([run for run in here if run.task == task], runs, other) for task in tasks_of(here)]
    if not (found := [each for each in by_task if each]):
        return ""
    each = mean_probability(found)
    return f"{100 * each.value:.0f} % [{100 * each.low:.0f}, {100 * each.high:.0f}]"


def _beats_on(here: Iterable[StudyRun], runs: Sequence[StudyRun], other: str) -> Interval | None:
    found: list[Interval] = []
    for run in here:
        cell = [each for each in runs if (each.task, each.seed) == (run.task, run.seed)]
        pool = [
            on_fresh_seeds(each, other) if other == "human" else on_fresh_seeds(each)
            for each in cell
            if other in ("human", each.way)
        ]
        if (mine := on_fresh_seeds(run)) and (theirs := max(pool, key=len, default=[])):
            found.append(improvement_probability(mine, theirs))
    return mean_probability(found) if found else None


def _higher(runs: Iterable[StudyRun]) -> int:
    """How many winners are above the human reward by the interquartile means alone, noise aside."""
    pairs = [(run.row("winner"), run.row("human")) for run in runs]
    return sum(a.fitness.value > b.fitness.value for a, b in pairs if a and b and a.fitness and b.fitness)


def _results(runs: Sequence[StudyRun]) -> str:
    head = ["task", "seed", "solved at", "human", "sparse", *WAYS]
    rows: list[list[str]] = []
    for task, seed in cells_of(runs):
        here = {run.way: run for run in runs if (run.task, run.seed) == (task, seed)}
        bars = [estimate(own_row([*here.values()], id)) for id in ("human", "sparse")]
        found = [f"{estimate(run.row('winner'))} {run.verdict}" if (run := here.get(way)) else "" for way in WAYS]
        rows.append([f"`{task}`", f"{seed}", _solved(task), *bars, *found])
    return table_of(head, rows, right=2)


def _success(runs: Sequence[StudyRun]) -> str:
    """How many episodes on fresh seeds succeed, and whether evolving ends higher than drafting."""
    rows: list[list[str]] = []
    for task, seed in cells_of(runs):
        here = {run.way: run for run in runs if (run.task, run.seed) == (task, seed)}
        found = [*(own_row([*here.values()], id) for id in ("human", "sparse"))]
        found += [run.row("winner") if (run := here.get(way)) else None for way in WAYS]
        pair = [here[way] for way in ("evolve", "best-of-n") if way in here]
        rows.append([f"`{task}`", f"{seed}", *map(_succeeded, found), against(*pair) if len(pair) == 2 else ""])
    return table_of(["task", "seed", "human", "sparse", *WAYS, "evolve against best-of-n"], rows, right=2)


def against(run: StudyRun, other: StudyRun) -> str:
    """One winner against another, on the fresh seeds of both: the verdict, and the difference of the means."""
    found = look(
        on_fresh_seeds(run), on_fresh_seeds(other), run.history.config.final_seeds if run.history.config else 1
    )
    if found.difference is None:
        return VERDICTS[found.standing]
    low, high = (f"{each:+.2g}" for each in (found.difference.low, found.difference.high))
    return f"{VERDICTS[found.standing]}, {found.difference.value:+.2g} [{low}, {high}]"


def _succeeded(row: FinalRow | None) -> str:
    return "" if row is None or row.success_rate is None else f"{100 * row.success_rate:.0f} %"


def drafts_of(runs: Sequence[StudyRun], task: str) -> list[tuple[StudyRun, float]]:
    """Return the fitness of a task's drafts that were trained, by their search seeds, each with its run."""
    drafts = [(run, each) for run in _designed(runs, task) for each in run.candidates]
    drafts = [(run, each) for run, each in drafts if each.candidate.operator == "draft"]
    return [(run, each.fitness) for run, each in drafts if each.fitness is not None]


def _designed(runs: Sequence[StudyRun], task: str) -> list[StudyRun]:
    return [run for run in runs if run.task == task and run.way in WAYS and run.way != "built-in"]


def _drafts(runs: Sequence[StudyRun]) -> str:
    """How far independent drafts get: all of best-of-n, and the first generation of evolve, by their search seeds."""
    head = ["task", "drafts", "crashed or rejected", "solved it", "above the human reward there", "best", "median"]
    rows: list[list[str]] = []
    for task in tasks_of(runs):
        drafts = [
            each for run in _designed(runs, task) for each in run.candidates if each.candidate.operator == "draft"
        ]
        reached = drafts_of(runs, task)
        values = sorted(value for _, value in reached)
        solved = load_task(task).solved_fitness
        above = sum(value > human for run, value in reached if (human := search_fitness(run, "human")) is not None)
        rows.append(
            [
                f"`{task}`",
                f"{len(drafts)}",
                f"{len(drafts) - len(reached)}",
                "" if solved is None else f"{sum(value >= solved for value in values)}",
                f"{above}",
                *([number(values[-1]), number(values[len(values) // 2])] if values else ["", ""]),
            ]
        )
    return table_of(head, rows, right=1)


def group_of(task: str, reached: Sequence[float]) -> str:
    """Return the part of the task list that a task belongs to.

    Args:
        task: Its name.
        reached: Fitness of its drafts.
    """
    solved = load_task(task).solved_fitness
    share = sum(solved is not None and value >= solved for value in reached) / max(1, len(reached))
    return GROUPS[0] if share >= 0.5 else GROUPS[1] if share > 0.0 else GROUPS[2]


def _wide(runs: Sequence[StudyRun]) -> str:
    """How far drafts by as many readers get, and the best of them on fresh seeds."""
    head = ["task", "trainer", "solved at", "drafts that solve it", "by draft", "group"]
    head += ["human", "best draft", "success", "human's"]
    rows: list[list[str]] = []
    for run in runs:
        if run.way in DRAFTS:
            values = sorted((value for value in search_values(run) if value is not None), reverse=True)
            solved = load_task(run.task).solved_fitness
            human, winner = run.row("human"), run.row("winner")
            rows.append(
                [
                    f"`{run.task}`{' in stages' if run.way == DRAFTS[1] else ''}",
                    run.history.training.trainer if run.history.training else "",
                    _solved(run.task),
                    f"{sum(solved is not None and value >= solved for value in values)} of {len(run.candidates)}",
                    ", ".join(f"{value:.2f}" for value in values),
                    group_of(run.task, values),
                    estimate(human),
                    f"{estimate(winner)} {run.verdict}",
                    _succeeded(winner),
                    _succeeded(human),
                ]
            )
    return table_of(head, rows, right=2)


def _parts(runs: Sequence[StudyRun]) -> str:
    """Searches without a part beside the whole ones of the same task and seed."""
    whole = {(run.task, run.seed): run for run in runs if run.way == "evolve"}
    rows: list[list[str]] = []
    for run in runs:
        if run.history.config and (parts := run.history.config.ablate) and (other := whole.get((run.task, run.seed))):
            pair = [f"{estimate(each.row('winner'))} {each.verdict}" for each in (other, run)]
            calls = " and ".join(f"{each.history.usage.calls}" for each in (other, run))
            rows.append([f"`{run.task}`", f"{run.seed}", ", ".join(parts), *pair, against(other, run), calls])
    head = ["task", "seed", "left out", "with it", "without it", "with it against without", "calls"]
    return table_of(head, rows, right=3)


def _gates(runs: Sequence[StudyRun]) -> str:
    head = [
        "gate",
        "detector",
        "stopped",
        "sound after one repair",
        "trained all the same, fitness",
        "wrongly",
    ]
    rows: list[list[str]] = []
    for (gate, detector), stopped in sorted(stopped_first(runs).items()):
        repaired = sum(was_accepted(run, id) for run, id in stopped)
        told = [f"{number(mean)} (its run's best {best})" for run, id in stopped for mean, best in _had_been(run, id)]
        wrong = sum(was_worth_training(run, id) for run, id in stopped)
        rows.append([gate, f"`{detector}`", f"{len(stopped)}", f"{repaired}", "; ".join(told), f"{wrong}"])
    total = sum(len(run.candidates) for run in runs if run.way != "built-in")
    return f"{table_of(head, rows, right=2)}\n\nOf {total} candidates that a language model wrote."


def _had_been(run: StudyRun, id: str) -> list[tuple[float, str]]:
    """What a rejected first version reached when it was trained all the same, and the best of its run's search."""
    reached, best = _trained_all_the_same(run, id), _best(run)
    return [] if reached is None else [(reached, "none" if best is None else number(best))]


def was_worth_training(run: StudyRun, id: str) -> bool:
    """Whether a rejected first version, trained all the same, leads its run's search or solves the task."""
    reached, best = _trained_all_the_same(run, id), _best(run)
    solved = None if run.way == WORDS else load_task(run.task).solved_fitness
    bars = [bar for bar in (best, solved) if bar is not None]
    return reached is not None and (not bars or reached >= min(bars))


def _trained_all_the_same(run: StudyRun, id: str) -> float | None:
    file = KEPT / run.name / REJECTED
    values = json.loads(file.read_text()).get(id, []) if file.exists() else []
    return _mean(values) if values else None


def _best(run: StudyRun) -> float | None:
    return max((value for value in search_values(run) if value is not None), default=None)


def _costs(runs: Sequence[StudyRun]) -> str:
    """What a run takes with its finals, by task and way, and all of them together."""
    rows = [
        [f"`{task}`", *(_cost([run for run in runs if (run.task, run.way) == (task, way)]) for way in WAYS)]
        for task in tasks_of(runs)
    ]
    tokens = sum(sum(tokens_of(run)) for run in runs)
    steps = sum(run.history.spent_steps for run in runs)
    hours = sum(run.history.training_s for run in runs) / 3600
    calls = sum(run.history.usage.calls for run in runs)
    told = f"{calls} calls, {tokens / 1e6:.1f} million tokens, {sum(map(_price, runs)):.2f} USD, {steps / 1e9:.2f}"
    told += f" billion control steps; their minutes of training add up to {hours:.0f} hours."
    return f"{table_of(['task', *WAYS], rows, right=9)}\n\nAll {len(runs)} runs together: {told}"


def _cost(here: Sequence[StudyRun]) -> str:
    """Of the runs of one cell, on the average."""
    if not here:
        return ""
    steps = _mean(run.history.spent_steps for run in here) / 1e6
    told = f"{steps:.0f} M steps, {_mean(run.history.training_s for run in here) / 60:.0f} min"
    if not any(run.history.usage.calls for run in here):
        return told
    calls, tokens = _mean(run.history.usage.calls for run in here), _mean(sum(tokens_of(run)) for run in here) / 1000
    return f"{calls:.0f} calls, {tokens:.0f}k, {_mean(map(_price, here)):.2f} USD, {told}"


def _words(runs: Sequence[StudyRun]) -> str:
    head = [
        "sentence",
        "robot",
        "drafts of the metric",
        "authors of sketches that agree",
        "fitness",
        "success",
        "the run's reader",
        "two others",
        "what it took",
    ]
    rows: list[list[str]] = []
    for run in runs:
        drafted = DraftedTask.model_validate_json((KEPT / run.name / "draft" / "draft.json").read_text())
        authors, row, judged = drafted.trial.verdict, run.row("winner"), run.history.judgement
        agree = f"{authors.agreeing} of {len(authors.authors)}"
        said = [(judged.answer if judged else None) or "none", ", ".join(_read_by_others(run))]
        found = [estimate(row), _succeeded(row), *said, _cost([run])]
        rows.append([drafted.words, drafted.robot, f"{drafted.drafts}", agree, *found])
    return table_of(head, rows, right=2)


def _read_by_others(run: StudyRun) -> list[str]:
    """What was answered by who saw the sentence and the episodes in numbers, and neither metric nor fitness."""
    return [each["answer"] for each in json.loads((KEPT / run.name / READINGS).read_text())]


def tokens_of(run: StudyRun) -> tuple[int, int]:
    """Tokens read and written in a run's calls, by the length of the texts."""
    calls = read_archive(run.folder.calls)
    read_ones = sum(tokens_in(message.content) for call in calls for message in call.request.messages)
    return read_ones, sum(tokens_in(call.reply.text) for call in calls if call.reply)


def _price(run: StudyRun) -> float:
    read_ones, written = tokens_of(run)
    return (PRICE_IN * read_ones + PRICE_OUT * written) / 1e6


def _solved(task: str) -> str:
    value = load_task(task).solved_fitness
    return "" if value is None else number(value)


def estimate(row: FinalRow | None) -> str:
    """Its fitness with the interval; why there is none."""
    if not row or not row.fitness:
        return row.failure if row else ""
    return f"{number(row.fitness.value)} [{number(row.fitness.low)}, {number(row.fitness.high)}]"


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return sum(found) / len(found)


def table_of(head: Sequence[str], rows: Sequence[Sequence[str]], right: int) -> str:
    """A Markdown table, its columns from the index `right` on to the right."""
    rule = ["---" if place < right else "--:" for place in range(len(head))]
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, rule, *rows))
