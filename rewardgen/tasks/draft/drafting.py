"""The conversations of a drafting: a model writes a task, others sketch episodes, and the author fixes the faults."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from rewardgen.core.asynchrony import run_coroutine
from rewardgen.core.errors import ModelError
from rewardgen.core.files import write_atomic
from rewardgen.core.schema import Frozen, Text
from rewardgen.llm.budget import tokens_in
from rewardgen.llm.prompts import render
from rewardgen.llm.protocol import LLM, CallFailed, Note
from rewardgen.reward.extraction import extract_class
from rewardgen.sandbox.jobs import register
from rewardgen.store.messages import LLMRequest, Message
from rewardgen.store.records import Finding
from rewardgen.tasks.draft.language import Draft, about_draft, read_draft
from rewardgen.tasks.draft.sketches import (
    MetricTest,
    Sketches,
    SketchResult,
    TaskLook,
    judge_metric,
    read_sketches,
)
from rewardgen.tasks.measure import TASK_FILES, measure
from rewardgen.tasks.robots import Catalogue, Entry, control_of, model_named, require_actuators

LOOK = register("look", "rewardgen.tasks.draft.trial:look_job", inputs=TASK_FILES)
TRIAL = register("trial", "rewardgen.tasks.draft.trial:trial_job", inputs=TASK_FILES)

_MANNERS = (
    "Draw what somebody who works with such robots would have in mind.",
    "Think first of how the words could be met to the letter and missed in their sense; draw cheats from that.",
    "Think first of how the motion goes (take-off, contact, coming to rest), and draw it as it would be measured.",
)
"""One sentence per author, so that authors differ who share a model."""
_ATTEMPTS, _REPAIRS, _REDRAFTS = 3, 3, 2
_SKETCH_TOKENS = 16_384
"""Longest reply with sketches."""
_CATALOGUE_TOKENS = 6_000
_MORE = re.compile(r"\s*MORE:(.{1,400})", re.DOTALL)
_WORD = re.compile(r"[a-z]{3,}")
SKETCHES = "sketches.json"


class NothingDrafted(ModelError):
    """No reply of a model is a usable task or sketch."""


class DraftRequest(NamedTuple):
    """A request for a task, in a person's words."""

    words: str
    robot: str
    catalogue: Catalogue
    folder: Path
    """Folder that keeps all drafts and sketches."""
    measured: bool = True
    """True for a task with a metric, which is tried on sketches; False for a task without a fitness."""


class DraftedTask(Frozen):
    """A drafted task with the evidence for and against it."""

    words: Text
    robot: Text
    task: str
    """Path of the draft, in the folder of the drafting."""
    source: str
    name: Text
    description: Text
    questions: Text
    """The author's questions, with the answers that the draft assumes."""
    misses: Text
    """Blind spots of the metric, by its author."""
    trial: MetricTest | None
    """None for a task without a fitness."""
    drafts: int
    """Number of drafts so far."""

    @property
    def holds(self) -> bool:
        """True if its metric passes on the sketches, or if there is none."""
        return self.trial is None or self.trial.verdict.passed


Confirm = Callable[[DraftedTask], bool | str]
"""Decides about a draft: True accepts it, False declines it, a text asks for changes."""


def draft_task(llm: LLM, request: DraftRequest, note: Note, confirm: Confirm) -> tuple[DraftedTask, Draft, bool]:
    """Draft a task, test its metric, and have the draft confirmed.

    Returns:
        The draft with its evidence, its form, and True if it was accepted.

    Raises:
        TaskError: The robot has no actuator that a policy could use.
        NothingDrafted: The model wrote no usable task or sketch.
        CallFailed: The model did not answer.
        RunFolderError: The folder cannot be written.
    """
    require_actuators(request.robot, request.catalogue)
    return run_coroutine(_Drafting(llm, request, note, confirm).work())


class _Attempt(NamedTuple):
    """A sound draft with its file, the first look at it, and the reply that held it."""

    draft: Draft
    path: Path
    look: TaskLook
    reply: str


class _Drafting:
    """The conversation with the author of a task."""

    def __init__(self, llm: LLM, request: DraftRequest, note: Note, confirm: Confirm) -> None:
        self._llm, self._request, self._note, self._confirm = llm, request, note, confirm
        system = render("task/draft_system", measured=request.measured)
        self._thread = [Message(role="system", content=system), self._request_message("")]
        self._calls = self._drafts = 0
        self._variables: dict[str, str] = {}
        self._authors: list[Sketches] = []

    async def work(self) -> tuple[DraftedTask, Draft, bool]:
        """Draft, repair, test and redraft, until the metric passes or no redraft is left."""
        repairs = redrafts = 0
        best: tuple[DraftedTask, _Attempt] | None = None
        while True:
            self._note("drafting the task" if not self._calls else "drafting it again, with what was found")
            reply = await self._reply()
            attempt = await self._attempt(reply)
            if isinstance(attempt, _Attempt):
                drafted = self._drafted(attempt, await self._tested(attempt) if self._request.measured else None)
                best = max(best or (drafted, attempt), (drafted, attempt), key=lambda pair: _standing(pair[0]))
                # An author who disagrees may have seen a fault, or read the words otherwise: worth one more draft.
                limit = 1 if best[0].holds else _REDRAFTS
                if drafted.trial and redrafts < limit and not drafted.trial.verdict.unanimous:
                    redrafts += 1
                    self._answer(reply, _evidence(drafted.trial, attempt.look))
                    continue
            elif repairs < _REPAIRS:
                repairs += 1
                lines = extract_class(reply).split("\n")
                self._answer(reply, render("task/draft_repair", findings=attempt, lines=lines))
                continue
            elif not (best and best[0].holds):
                message = f"what the model drafted is no task, after {self._calls} answers: {attempt[0].message}"
                raise NothingDrafted(message, "ask another model")
            assert best is not None
            decision = self._confirm(best[0])
            if isinstance(decision, bool):
                return best[0], best[1].draft, decision
            self._answer(best[1].reply, render("task/draft_answer", said=decision))
            # All who read the words from now on know the correction: new sketches, the goal of the run, its verdict.
            self._request = self._request._replace(words=f"{self._request.words}\n\nCorrection: {decision}")
            repairs, redrafts, best, self._authors = 0, 0, None, []

    async def _attempt(self, reply: str) -> _Attempt | Sequence[Finding]:
        """Return a draft that is a sound task but for its metric, or its faults."""
        draft = read_draft(reply, measured=self._request.measured)
        if not isinstance(draft, Draft):
            return draft
        path = self._written(draft)
        look = await asyncio.to_thread(look_at, str(path))
        return [about_draft(*problem) for problem in look.problems] or _Attempt(draft, path, look, reply)

    async def _reply(self) -> str:
        self._calls += 1
        label = f"task/draft/{self._calls}"
        reply = await self._llm.complete(LLMRequest(label=label, messages=tuple(self._thread)))
        if self._calls == 1 and (more := _MORE.match(reply.text)):
            self._thread += [Message(role="assistant", content=reply.text), self._request_message(more[1])]
            return await self._reply()
        return reply.text

    def _answer(self, reply: str, answer: str) -> None:
        self._thread += [Message(role="assistant", content=reply), Message(role="user", content=answer)]

    def _request_message(self, more: str) -> Message:
        catalogue = self._request.catalogue
        entries = chosen_entries(catalogue.entries, f"{self._request.words} {more}")
        text = render(
            "task/draft",
            words=self._request.words,
            robot=self._request.robot,
            control_step_s=control_of(catalogue)[1],
            actuators=catalogue.actuators,
            bodies=catalogue.robot[:60],
            objects=catalogue.objects[:40],
            geoms=catalogue.sizes[:60],
            sites=catalogue.sites[:60],
            keyframes=catalogue.keyframes[:20],
            entries=entries,
            left_out=0 if more else len(catalogue.entries) - len(entries),
        )
        return Message(role="user", content=text)

    def _written(self, draft: Draft) -> Path:
        self._drafts += 1
        path = self._request.folder / f"draft-{self._drafts}.py"
        text = task_file(draft, self._request, path)
        if path.exists() and path.read_text() != text:  # a person may have edited it
            path.replace(path.with_suffix(".before.py"))
        write_atomic(path, text)
        return path.resolve()

    async def _tested(self, attempt: _Attempt) -> MetricTest:
        draft, path, look, _ = attempt
        words, catalogue = self._request.words, self._request.catalogue
        if not self._authors or not self._variables.items() <= draft.variables.items():
            self._note("asking for sketches of episodes, from authors that do not see the metric")
            lists = {
                "bodies of the robot": catalogue.robot,
                "objects": catalogue.objects,
                "geoms": catalogue.sizes,
                "sites": catalogue.sites,
            }
            scene = "\n".join(f"{name}: {', '.join(parts[:60]) or 'none'}" for name, parts in lists.items())
            label = f"task/draft-{self._drafts}"
            self._authors = await ask_authors(self._llm, look, words, scene, label)
            self._variables = draft.variables
            kept = {"words": words, "sketches": [author.model_dump(mode="json") for author in self._authors]}
            write_atomic(self._request.folder / SKETCHES, json.dumps(kept, indent=1))
        self._note("trying the metric on the sketches")
        test = await asyncio.to_thread(try_metric, str(path), look, words, self._authors)
        write_atomic(path.with_suffix(".trial.json"), test.model_dump_json(indent=1))
        return test

    def _drafted(self, attempt: _Attempt, test: MetricTest | None) -> DraftedTask:
        assert attempt.look.card is not None
        return DraftedTask(
            words=self._request.words,
            robot=self._request.robot,
            task=str(attempt.path),
            source=attempt.path.read_text(),
            name=attempt.draft.name,
            description=attempt.look.card.description,
            questions=attempt.draft.questions,
            misses=attempt.draft.misses,
            trial=test,
            drafts=self._drafts,
        )


def task_file(draft: Draft, request: DraftRequest, path: Path, read: str = "") -> str:
    """Return the text of the task file at `path`; the sentence `read` says who has read it."""
    title = (
        f"Drafted by a language model for: {json.dumps(' '.join(request.words.split()), ensure_ascii=False)}. {read}"
    )
    return draft.file(title, model_named(request.robot, path), control_of(request.catalogue)[0])


def chosen_entries(entries: Sequence[Entry], words: str) -> list[Entry]:
    """Return the entries of a catalogue that fit into a prompt, in its order; entries that share its words go first."""
    asked = {word.removesuffix("s") for word in _WORD.findall(words.lower())}

    def shared(entry: Entry) -> int:
        named = f"{entry.name} {entry.code}".lower().replace("_", " ")
        return len(asked & {word.removesuffix("s") for word in _WORD.findall(named)})

    tokens, chosen = _CATALOGUE_TOKENS, []
    for index in sorted(range(len(entries)), key=lambda index: -shared(entries[index])):
        entry = entries[index]
        tokens -= tokens_in(f"{entry.code}{entry.unit}{entry.meaning}") + 12 * max(1, len(entry.parts)) + 12
        if tokens < 0:
            break
        chosen.append(index)
    return [entries[index] for index in sorted(chosen)]


def _standing(drafted: DraftedTask) -> tuple[bool, int, int]:
    return drafted.holds, drafted.trial.verdict.agreeing if drafted.trial else 0, drafted.drafts


def _evidence(test: MetricTest, look: TaskLook) -> str:
    verdict = test.verdict
    faults = [
        *verdict.faults,
        *(f"author {number}: {fault}" for number, author in enumerate(verdict.authors, 1) for fault in author.faults),
        *verdict.notes,
    ]
    drawn = [
        (
            f"author {number}, `{result.name}`",
            {
                name: [values[round(quarter * (len(values) - 1) / 4)] for quarter in range(5)]
                for name, values in result.course.items()
            },
        )
        for number, (results, judged) in enumerate(zip(test.authors, verdict.authors, strict=True), 1)
        for result in results
        if any(f"`{result.name}` (" in fault for fault in judged.faults)
    ]
    parts = list(test.authors[0][0].parts)
    return render(
        "task/draft_evidence", authors=test.authors, rollouts=look.rollouts, faults=faults, parts=parts, drawn=drawn
    )


# The authors of sketches, and the test of a metric.


def look_at(task: str) -> TaskLook:
    """Return a task's problems, or its card and the results of policies that know nothing, from a confined worker."""
    return TaskLook.model_validate(measure(LOOK, {"task": task}))


async def ask_authors(llm: LLM, look: TaskLook, words: str, scene: str, label: str) -> list[Sketches]:
    """Ask several authors for sketches at once, and each again to fix faults.

    Raises:
        NothingDrafted: No author drew anything usable.
        CallFailed: The model answered no author.
    """
    assert look.card is not None
    card, system = look.card, Message(role="system", content=render("task/sketch_system"))
    asked = []
    for number, manner in enumerate(_MANNERS, start=1):
        facts = {"words": words, "description": scene, "card": card, "start": look.start, "follows": look.follows}
        request = Message(role="user", content=render("task/sketch", manner=manner, **facts))
        asked.append(_ask_author(llm, look, [system, request], f"{label}/sketches-{number}"))
    # Replies to the others are paid too: all end, and an author without a reply is left out.
    drawn = await asyncio.gather(*asked, return_exceptions=True)
    failures = [result for result in drawn if isinstance(result, BaseException)]
    authors = [result for result in drawn if isinstance(result, Sketches)]
    grave = [failure for failure in failures if not isinstance(failure, CallFailed)]
    if grave or (failures and not authors):
        raise (grave or failures)[0]
    if not authors:
        raise NothingDrafted("no author drew sketches that could be used", "ask another model")
    return authors


async def _ask_author(llm: LLM, look: TaskLook, thread: list[Message], label: str) -> Sketches | None:
    assert look.card is not None
    shapes = {variable.name: variable.shape for variable in look.card.variables}
    for attempt in range(1, _ATTEMPTS + 1):
        request = LLMRequest(label=f"{label}-{attempt}", messages=tuple(thread), max_tokens=_SKETCH_TOKENS)
        reply = await llm.complete(request)
        sketches = read_sketches(reply.text, shapes, look.card.episode_seconds)
        if isinstance(sketches, Sketches):
            return sketches
        repair = render("task/sketch_repair", faults=sketches)
        thread += [Message(role="assistant", content=reply.text), Message(role="user", content=repair)]
    return None


def try_metric(task: str, look: TaskLook, words: str, authors: Sequence[Sketches]) -> MetricTest:
    """Test a task's metric on sketches."""
    drawings = [author.model_dump(mode="json") for author in authors]
    answer = measure(TRIAL, {"task": task, "start": look.start, "authors": drawings})
    results = [[SketchResult.model_validate(result) for result in author] for author in answer["authors"]]
    return MetricTest(
        words=words,
        questions=tuple(author.question for author in authors if author.question),
        authors=tuple(map(tuple, results)),
        verdict=judge_metric(look, results, len(_MANNERS), answer["faults"]),
    )
