"""Writes the tables and pictures of docs/evidence.md from the runs in benchmarks/evidence: `python -m docs.study`.

`python -m docs.study keep RUN...` first takes up finished runs: their events and calls, without the places of the
machine that they ran on. `python -m docs.study rejected NAME...` trains what the critic stopped in kept runs, and
`python -m docs.study compare RUN...` says whether repeated runs come to the same verdicts.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from rewardgen.api.training import train
from rewardgen.cli.drafting import DRAFT_SUFFIX
from rewardgen.core.config import BUILTIN
from rewardgen.core.files import write_atomic
from rewardgen.core.formatting import number
from rewardgen.core.improvement import improvement_probability, mean_probability
from rewardgen.core.statistics import Interval
from rewardgen.llm.answers import tokens_in
from rewardgen.llm.archive import read_archive
from rewardgen.store.history import FinalRow, History, Summary
from rewardgen.store.records import CandidateRecord
from rewardgen.store.run_folder import RunFolder, list_runs
from rewardgen.tasks.drafting import Drafted
from rewardgen.tasks.loading import load_task

KEPT = Path(__file__).parent.parent / "benchmarks" / "evidence"
PAGE = Path(__file__).parent / "evidence.md"
WAYS = ("evolve", "best-of-n", "built-in")
"""Two strategies with a language model, and the search with the built-in designer."""
WORDS = "words"
"""The way of runs on tasks that were drafted from a sentence."""
REJECTED = "rejected.json"
"""Id of a candidate to the fitness by seed of its first version, which was rejected and trained all the same."""
_CAN_BE_TRAINED = ("static", "probe", "preference", "model")
_DRAFT_FILES = ("draft.json", "sketches.json", "draft-*.py", "llm/*.json")
PRICE_IN, PRICE_OUT = 1.25, 10.0
"""Of a million tokens [USD]: of GPT-5.1 in November 2026. The replies of the study were free."""
_WORDS = {"above": "better", "on par": "undecided", "below": "worse", None: "no winner"}
_COLOURS = {"human": "#777777", "sparse": "#bbbbbb", "evolve": "#1f5fa8", "best-of-n": "#d98a1f", "built-in": "#5a9e4b"}


class StudyRun(NamedTuple):
    """One finished run of the study."""

    task: str
    way: str
    """One of `WAYS`, `WORDS`, or a strategy without a part of the search: `evolve-without-analyzer`."""
    seed: int
    history: History
    summary: Summary

    @property
    def name(self) -> str:
        """Its folder's: of a task from a sentence, as its mailbox was called."""
        if self.way == WORDS and self.history.config:
            return Path(self.history.config.model.partition(":")[2]).name
        return f"{self.task}-{self.way}-{self.seed}"

    @property
    def verdict(self) -> str:
        """Its winner against the human reward, on fresh seeds."""
        return _WORDS[self.summary.against_human if self.summary.chosen else None]

    @property
    def candidates(self) -> list[CandidateRecord]:
        """Of the search, in their order."""
        return [found for id in self.history.ids() if (found := self.history.record(id))]

    def row(self, id: str) -> FinalRow | None:
        """A row of its closing table: `human`, `sparse` or `winner`."""
        wanted = self.summary.chosen if id == "winner" else id
        return next((row for row in self.summary.rows if row.candidate_id == wanted), None)


def read(folders: Iterable[RunFolder]) -> list[StudyRun]:
    """The finished runs among some, by way, task and seed.

    Args:
        folders: Of runs.
    """
    found: list[StudyRun] = []
    for history in map(History.load, folders):
        if history.config and history.card and history.summary:
            way = "built-in" if history.config.model == BUILTIN else history.config.strategy
            way = WORDS if history.config.goal else "-without-".join((way, *history.config.ablate))
            found.append(StudyRun(history.card.name, way, history.config.seed, history, history.summary))
    places = {way: place for place, way in enumerate(WAYS)}
    return sorted(found, key=lambda run: (run.task, places.get(run.way, len(places)), run.seed, run.name))


def keep(runs: Sequence[RunFolder], into: Path = KEPT) -> None:
    """Take up finished runs: their events and calls, and of a drafted task its file and its drafting.

    Args:
        runs: Their folders.
        into: Where the study's runs are.
    """
    for folder in runs:
        (run,) = read([folder])
        files = {path: path.relative_to(folder.path) for path in (folder.events, *folder.calls.glob("*.json"))}
        places = {str(Path(each).parents[2]) for each in run.history.task_files if "/envs/" in each}
        places.add(str(Path(__file__).resolve().parents[1]))
        if run.way == WORDS and run.history.config:
            task = Path(run.history.config.task)
            draft = task.with_suffix(DRAFT_SUFFIX)
            drafting = (path for pattern in _DRAFT_FILES for path in draft.glob(pattern))
            files |= {task: Path("task.py"), **{path: "draft" / path.relative_to(draft) for path in drafting}}
            places.add(str(task.parent))
        for source, name in files.items():
            text = re.sub(r'(mailbox|replay):/[^"]*/', r"\1:", source.read_text())
            text = re.sub(r'/[^" ]*/site-packages', "/python", text)
            for place in places:
                text = text.replace(place, "/rewardgen")
            write_atomic(into / run.name / name, text)


def tables(runs: Sequence[StudyRun]) -> dict[str, str]:
    """The page's tables by name.

    Args:
        runs: Of the study.
    """
    of_words, of_tasks = [run for run in runs if run.way == WORDS], [run for run in runs if run.way in WAYS]
    found = {"counts": _counts, "results": _results, "drafts": _drafts, "costs": _costs}
    told = {name: table(of_tasks) for name, table in found.items()}
    return {**told, "parts": _parts(runs), "gates": _gates(runs), "words": _words(of_words)}


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
            raise SystemExit(f"{PAGE.name} has {times} places for the table `{name}`")
    return page


def _counts(runs: Sequence[StudyRun]) -> str:
    rows: list[list[str]] = []
    for way in WAYS:
        here = [run for run in runs if run.way == way]
        found = Counter(run.verdict for run in here)
        if found:
            beaten = [_beats(here, runs, "human"), "" if way == "best-of-n" else _beats(here, runs, "best-of-n")]
            rows.append(
                [way, f"{len(here)}", *(f"{found[word]}" for word in _WORDS.values()), f"{_higher(here)}", *beaten]
            )
    head = ["way", "runs", *_WORDS.values(), "higher at all", "policy beats human's", "policy beats best-of-n's"]
    return _table(head, rows, right=1)


def _beats(here: Iterable[StudyRun], runs: Sequence[StudyRun], other: str) -> str:
    """How often a policy of a winner is better than one of another reward on the same task and seed, in percent."""
    found: list[Interval] = []
    for run in here:
        cell = [each for each in runs if (each.task, each.seed) == (run.task, run.seed)]
        pool = [
            _fresh(each, other) if other == "human" else _fresh(each) for each in cell if other in ("human", each.way)
        ]
        if (mine := _fresh(run)) and (theirs := max(pool, key=len, default=[])):
            found.append(improvement_probability(mine, theirs))
    each = mean_probability(found)
    return f"{100 * each.value:.0f} % [{100 * each.low:.0f}, {100 * each.high:.0f}]"


def _fresh(run: StudyRun, id: str = "") -> list[float]:
    """What the policies of the winner, or of another reward, reach on the fresh seeds."""
    result = run.history.result("final", id or run.summary.chosen or "")
    return [*result.by_seed.values()] if result else []


def _higher(runs: Iterable[StudyRun]) -> int:
    """How many winners are above the human reward by the interquartile means alone, noise aside."""
    pairs = [(run.row("winner"), run.row("human")) for run in runs]
    return sum(a.fitness.value > b.fitness.value for a, b in pairs if a and b and a.fitness and b.fitness)


def _results(runs: Sequence[StudyRun]) -> str:
    head = ["task", "seed", "solved at", "human", "sparse", *WAYS]
    rows: list[list[str]] = []
    for task, seed in _cells(runs):
        here = {run.way: run for run in runs if (run.task, run.seed) == (task, seed)}
        bars = [_estimate(_bar([*here.values()], id)) for id in ("human", "sparse")]
        found = [f"{_estimate(run.row('winner'))} {run.verdict}" if (run := here.get(way)) else "" for way in WAYS]
        rows.append([f"`{task}`", f"{seed}", _solved(task), *bars, *found])
    return _table(head, rows, right=2)


def _drafts(runs: Sequence[StudyRun]) -> str:
    """How far independent drafts get: all of best-of-n, and the first generation of evolve, by their search seeds."""
    head = ["task", "drafts", "crashed or rejected", "solved it", "above the human reward there", "best", "median"]
    rows: list[list[str]] = []
    for task in _tasks(runs):
        here = [run for run in runs if run.task == task and run.way != "built-in"]
        drafts = [(run, each) for run in here for each in run.candidates if each.candidate.operator == "draft"]
        reached = [(run, each.fitness) for run, each in drafts if each.fitness is not None]
        values = sorted(value for _, value in reached)
        solved = load_task(task).solved_fitness
        above = sum(value > human for run, value in reached if (human := _search_fitness(run, "human")) is not None)
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
    return _table(head, rows, right=1)


def _parts(runs: Sequence[StudyRun]) -> str:
    """Searches without a part beside the whole ones of the same task and seed."""
    whole = {(run.task, run.seed): run for run in runs if run.way == "evolve"}
    rows: list[list[str]] = []
    for run in runs:
        if run.history.config and (parts := run.history.config.ablate) and (other := whole.get((run.task, run.seed))):
            pair = [f"{_estimate(each.row('winner'))} {each.verdict}" for each in (other, run)]
            calls = [f"{each.history.usage.calls}" for each in (other, run)]
            rows.append([f"`{run.task}`", f"{run.seed}", ", ".join(parts), *pair, *calls])
    return _table(["task", "seed", "left out", "with it", "without it", "calls with it", "without it"], rows, right=3)


def _gates(runs: Sequence[StudyRun]) -> str:
    head = ["gate", "detector", "first versions stopped", "sound after one repair", "trained all the same, fitness"]
    rows: list[list[str]] = []
    for (gate, detector), stopped in sorted(_stopped(runs).items()):
        repaired = sum(_accepted(run, id) for run, id in stopped)
        told = [f"{number(mean)} (its run's best {best})" for run, id in stopped for mean, best in _had_been(run, id)]
        rows.append([gate, f"`{detector}`", f"{len(stopped)}", f"{repaired}", "; ".join(told)])
    total = sum(len(run.candidates) for run in runs if run.way != "built-in")
    return f"{_table(head, rows, right=2)}\n\nOf {total} candidates that a language model wrote."


def _had_been(run: StudyRun, id: str) -> list[tuple[float, str]]:
    """What a rejected first version reached when it was trained all the same, and the best of its run's search."""
    file = KEPT / run.name / REJECTED
    values = json.loads(file.read_text()).get(id, []) if file.exists() else []
    best = max((value for value in _values(run) if value is not None), default=None)
    return [(_mean(values), "none" if best is None else number(best))] if values else []


def train_rejected(run: StudyRun) -> None:
    """Train what the critic stopped in a run, for as many seeds and steps as the others: was it right to?

    Args:
        run: The run, kept before. Duplicates are left out: they are what they duplicate.
    """
    if not (config := run.history.config):
        return
    task = str(KEPT / run.name / "task.py") if run.way == WORDS else run.task
    found: dict[str, list[float]] = {}
    for (gate, _), stopped in _stopped([run]).items():
        for _, id in stopped if gate in _CAN_BE_TRAINED else ():
            source = run.history.designed[id, 0].source
            done = train(task, source, steps=config.env_steps, seeds=config.seeds, first_seed=0)
            found[id] = [*done.result.by_seed.values()]
    write_atomic(KEPT / run.name / REJECTED, json.dumps(found, indent=1))


def _stopped(runs: Sequence[StudyRun]) -> dict[tuple[str, str], list[tuple[StudyRun, str]]]:
    """The candidates of language models whose first version a gate stopped, by gate and detector."""
    found: dict[tuple[str, str], list[tuple[StudyRun, str]]] = {}
    for run in runs:
        for (id, repairs), verdict in run.history.reviewed.items():
            if run.way != "built-in" and not repairs and verdict.rejections:
                first = verdict.rejections[0]
                found.setdefault((first.gate, first.detector), []).append((run, id))
    return found


def _costs(runs: Sequence[StudyRun]) -> str:
    head = [
        "task",
        "way",
        "calls",
        "thousand tokens",
        "USD",
        "million control steps",
        "minutes of training",
    ]
    rows: list[list[str]] = []
    for task in _tasks(runs):
        for way in WAYS:
            here = [run for run in runs if (run.task, run.way) == (task, way)]
            if here:
                rows.append(
                    [
                        f"`{task}`",
                        way,
                        f"{_mean(run.history.usage.calls for run in here):.0f}",
                        f"{_mean(sum(_tokens(run)) for run in here) / 1000:.0f}",
                        f"{_mean(_price(run) for run in here):.2f}",
                        f"{_mean(run.history.spent_steps for run in here) / 1e6:.1f}",
                        f"{_mean(run.history.training_s for run in here) / 60:.0f}",
                    ]
                )
    return _table(head, rows, right=2)


def _words(runs: Sequence[StudyRun]) -> str:
    head = [
        "sentence",
        "robot",
        "drafts of the metric",
        "authors of sketches that agree",
        "fitness",
        "success",
        "the reader",
    ]
    rows: list[list[str]] = []
    for run in runs:
        drafted = Drafted.model_validate_json((KEPT / run.name / "draft" / "draft.json").read_text())
        authors, row, judged = drafted.trial.verdict, run.row("winner"), run.history.judgement
        success = "" if not row or row.success_rate is None else f"{100 * row.success_rate:.0f} %"
        agree = f"{authors.agreeing} of {len(authors.authors)}"
        said = (judged.answer if judged else None) or "none"
        rows.append([drafted.words, drafted.robot, f"{drafted.drafts}", agree, _estimate(row), success, said])
    return _table(head, rows, right=2)


def _tokens(run: StudyRun) -> tuple[int, int]:
    """Tokens read and written in a run's calls, by the length of the texts."""
    calls = read_archive(KEPT / run.name / "llm")
    read_ones = sum(tokens_in(message.content) for call in calls for message in call.request.messages)
    return read_ones, sum(tokens_in(call.reply.text) for call in calls if call.reply)


def _price(run: StudyRun) -> float:
    read_ones, written = _tokens(run)
    return (PRICE_IN * read_ones + PRICE_OUT * written) / 1e6


def draw(runs: Sequence[StudyRun], folder: Path = PAGE.parent) -> None:
    """The three pictures of the page.

    Args:
        runs: Of the study.
        folder: Where they go.
    """
    of_tasks = [run for run in runs if run.way in WAYS]
    with rc_context(
        {"svg.hashsalt": "rewardgen", "font.size": 9, "axes.spines.top": False, "axes.spines.right": False}
    ):
        for name, picture in (("fitness", _draw_fitness), ("course", _draw_course), ("gates", _draw_gates)):
            picture(runs if picture is _draw_gates else of_tasks).savefig(
                folder / f"evidence-{name}.svg", metadata={"Date": None}
            )


def _panels(tasks: Sequence[str]) -> tuple[Figure, list[Axes]]:
    """A figure with a part for each task."""
    columns = min(4, len(tasks))
    lines = -(-len(tasks) // columns)
    figure = Figure(figsize=(2.7 * columns, 2.3 * lines), layout="constrained")
    axes: list[Axes] = list(figure.subplots(lines, columns, squeeze=False).flat)
    for unused in axes[len(tasks) :]:
        unused.axis("off")
    for axis, task in zip(axes, tasks, strict=False):
        axis.set_title(task, fontsize=9)
    return figure, axes


def _draw_fitness(runs: Sequence[StudyRun]) -> Figure:
    """Of the winners and of the tasks' own rewards, on fresh seeds."""
    figure, axes = _panels(_tasks(runs))
    for axis, task in zip(axes, _tasks(runs), strict=False):
        here = [run for run in runs if run.task == task]
        for place, name in enumerate(reversed(_COLOURS)):
            if name in WAYS:
                rows = [run.row("winner") for run in here if run.way == name]
            else:
                rows = [_bar([run for run in here if run.seed == seed], name) for _, seed in _cells(here)]
            found = [row.fitness for row in rows if row and row.fitness]
            for number_of, each in enumerate(found):
                y, colour = place + 0.2 * (number_of - (len(found) - 1) / 2), _COLOURS[name]
                axis.plot([each.low, each.high], [y, y], color=colour, linewidth=1.5)
                axis.plot([each.value], [y], "o", color=colour, markersize=4)
        axis.set_yticks(range(len(_COLOURS)), reversed(_COLOURS))
        axis.grid(axis="x", alpha=0.3)
        axis.set_xlim(left=min(0.0, axis.get_xlim()[0]))
        axis.set_xlabel("fitness", fontsize=8)
    return figure


def _draw_course(runs: Sequence[StudyRun]) -> Figure:
    """The best so far over the candidates of the search, by their mean over its seeds."""
    figure, axes = _panels(_tasks(runs))
    for axis, task in zip(axes, _tasks(runs), strict=False):
        here = [run for run in runs if run.task == task]
        for run in here:
            best = [
                max((v for v in _values(run)[: n + 1] if v is not None), default=None) for n in range(len(_values(run)))
            ]
            points = [(n, value) for n, value in enumerate(best, start=1) if value is not None]
            axis.plot(*zip(*points, strict=True), color=_COLOURS[run.way], drawstyle="steps-post", linewidth=1.5)
        for name in ("human", "sparse"):
            for value in {_search_fitness(run, name) for run in here} - {None}:
                axis.axhline(value, color=_COLOURS[name], linestyle=":", linewidth=1)  # pyright: ignore[reportArgumentType]
        axis.set_xlabel("candidates", fontsize=8)
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    for name, colour in _COLOURS.items():
        axes[0].plot([], [], color=colour, label=name, linestyle="-" if name in WAYS else ":")
    axes[0].legend(fontsize=7, frameon=False)
    return figure


def _draw_gates(runs: Sequence[StudyRun]) -> Figure:
    """What stopped the first versions of language models' candidates, and whether a repair helped."""
    stopped = _stopped(runs)
    figure = Figure(figsize=(7.0, 1.1 + 0.3 * len(stopped)), layout="constrained")
    axis = figure.subplots()
    for place, (_, found) in enumerate(sorted(stopped.items())):
        repaired = sum(_accepted(run, id) for run, id in found)
        axis.barh(place, repaired, color="#9cc3e6", label="sound after one repair" if not place else None)
        axis.barh(
            place, len(found) - repaired, left=repaired, color="#1f5fa8", label="not trained" if not place else None
        )
    axis.set_yticks(range(len(stopped)), [f"{gate}: {detector}" for gate, detector in sorted(stopped)])
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    axis.set_xlabel("candidates")
    if stopped:
        figure.legend(fontsize=8, frameon=False, loc="outside upper right", ncols=2)
    return figure


def _values(run: StudyRun) -> list[float | None]:
    return [each.fitness for each in run.candidates]


def _search_fitness(run: StudyRun, name: str) -> float | None:
    found = run.history.result("search", name)
    return found.fitness if found else None


def _accepted(run: StudyRun, id: str) -> bool:
    found = run.history.record(id)
    return found is not None and found.verdict.accepted


def _cells(runs: Sequence[StudyRun]) -> list[tuple[str, int]]:
    return list(dict.fromkeys((run.task, run.seed) for run in runs))


def _tasks(runs: Sequence[StudyRun]) -> list[str]:
    return list(dict.fromkeys(run.task for run in runs))


def _bar(runs: Sequence[StudyRun], id: str) -> FinalRow | None:
    """A row of the task's own reward. Runs with the same seed have the same fresh seeds: of that which opened most."""
    return max((row for run in runs if (row := run.row(id))), key=lambda row: row.seeds, default=None)


def _solved(task: str) -> str:
    value = load_task(task).solved_fitness
    return "" if value is None else number(value)


def _estimate(row: FinalRow | None) -> str:
    if not row or not row.fitness:
        return row.failure if row else ""
    return f"{number(row.fitness.value)} [{number(row.fitness.low)}, {number(row.fitness.high)}]"


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return sum(found) / len(found)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], right: int) -> str:
    """A Markdown table, its columns from the index `right` on to the right."""
    rule = ["---" if place < right else "--:" for place in range(len(head))]
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, rule, *rows))


def compare(runs: Sequence[StudyRun], again: Sequence[StudyRun]) -> str:
    """Whether runs that were made again come to the same verdicts, as a table.

    Args:
        runs: Of the study.
        again: The repeated ones.
    """
    known = {run.name: run for run in runs}
    rows = [
        [run.name, before.verdict, run.verdict, _estimate(before.row("winner")), _estimate(run.row("winner"))]
        for run in again
        if (before := known.get(run.name))
    ]
    same = sum(row[1] == row[2] for row in rows)
    table = _table(["run", "verdict", "again", "fitness", "again"], rows, right=1)
    return f"{table}\n\n{same} of {len(rows)} verdicts are the same."


def main(arguments: Sequence[str]) -> None:
    """See the module."""
    what, *given = arguments or ["page"]
    if what == "keep":
        keep([RunFolder(Path(each)) for each in given])
    runs = read(list_runs(KEPT))
    if what == "rejected":
        for run in runs:
            if run.name in given:
                train_rejected(run)
    if what == "compare":
        print(compare(runs, read(RunFolder(Path(each)) for each in given)))
        return
    write_atomic(PAGE, with_tables(PAGE.read_text(), tables(runs)))
    draw(runs)


if __name__ == "__main__":
    main(sys.argv[1:])
