"""From a person's words and a robot to a task: drafted by a model, tried on sketches, redrafted with what they show."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from rewardgen.core.files import explain_os_error, write_atomic
from rewardgen.core.schema import Frozen, Text
from rewardgen.llm.budget import tokens_in
from rewardgen.llm.prompts import render
from rewardgen.llm.protocol import LLM
from rewardgen.reward.extraction import extract_class
from rewardgen.store.messages import LLMRequest, Message
from rewardgen.store.records import Finding
from rewardgen.tasks.draft_language import Draft, read_draft
from rewardgen.tasks.metric_verdict import TaskLook
from rewardgen.tasks.robots import Catalogue, Entry, model_named
from rewardgen.tasks.scaffold import control_of, require_actuators
from rewardgen.tasks.sketches import Sketches
from rewardgen.tasks.sketching import NothingDrafted, Trial, ask_authors, hold_against, keep_sketches, look_at

_CATALOGUE_TOKENS = 6_000
_REPAIRS, _REDRAFTS = 3, 2
_MORE = re.compile(r"\s*MORE:(.{1,400})", re.DOTALL)
_WORD = re.compile(r"[a-z]{3,}")
LABEL = "task"
"""Beginning of the labels of calls."""

Note = Callable[[str], None]
Ask = Callable[["Drafted"], str]
"""Shows a person a draft, and gives their words for another; empty if there is to be none."""


class Wanted(NamedTuple):
    """What a person asked for.

    Attributes:
        words: In their words.
        robot: The robot, as they named it.
        catalogue: What it offers.
        folder: Where everything is kept that was drafted and tried.
    """

    words: str
    robot: str
    catalogue: Catalogue
    folder: Path


class Drafted(Frozen):
    """A drafted task with all that speaks for it and against it."""

    words: Text
    robot: Text
    task: str
    """Path of the last draft, in the folder of the drafting."""
    source: str
    name: Text
    description: Text
    questions: Text
    """What its author would ask, with the answers that it assumed."""
    misses: Text
    """What its metric does not see, in its author's words."""
    trial: Trial
    drafts: int
    """How many drafts there were."""


def draft_task(llm: LLM, wanted: Wanted, note: Note, ask: Ask) -> tuple[Drafted, Draft]:
    """Draft a task, and try its metric.

    Args:
        llm: The model.
        wanted: What for.
        note: Is told what is being done.
        ask: Asks a person, once a draft holds, or nothing more is to be tried.

    Returns:
        What a person is shown of it, and the draft itself.

    Raises:
        TaskError: The robot has no actuator that a policy could use.
        NothingDrafted: What the model writes is no task, or no sketch.
        CallFailed: No answer.
        RunFolderError: The folder cannot be written.
    """
    require_actuators(wanted.robot, wanted.catalogue)
    return asyncio.run(_Drafting(llm, wanted, note, ask).work())


class _Sound(NamedTuple):
    """A draft that is a task, with where it was written and what was seen of it."""

    draft: Draft
    path: Path
    look: TaskLook


class _Tried(NamedTuple):
    """A draft whose metric was tried: the reply that it came in, and the sketches."""

    reply: str
    draft: Draft
    authors: list[Sketches]


class _Drafting:
    """One conversation with the author of a task, and with those of the sketches.

    Args:
        llm: The model.
        wanted: What for.
        note: Is told what is being done.
        ask: Asks a person.
    """

    def __init__(self, llm: LLM, wanted: Wanted, note: Note, ask: Ask) -> None:
        self._llm, self._wanted, self._note, self._ask = llm, wanted, note, ask
        self._thread = [Message(role="system", content=render("task/draft_system")), self._request("")]
        self._calls = self._drafts = 0
        self._variables: dict[str, str] = {}
        self._authors: list[Sketches] = []
        self._history: dict[int, _Tried] = {}

    async def work(self) -> tuple[Drafted, Draft]:
        """Draft, repair, try and redraft, until the metric holds or nothing more is to be tried."""
        repairs = redrafts = 0
        best: Drafted | None = None
        while True:
            self._note("drafting the task" if not self._calls else "drafting it anew, with what was found")
            text = await self._asked()
            found = await self._looked_at(text)
            if not isinstance(found, _Sound):
                if repairs == _REPAIRS and best and best.trial.verdict.passed:
                    return self._chosen(best)
                if repairs == _REPAIRS:
                    what = f"what the model drafted is no task, after {self._calls} answers: {found[0].message}"
                    raise NothingDrafted(what, "ask another model")
                repairs += 1
                self._answer(text, render("task/draft_repair", findings=found, lines=extract_class(text).split("\n")))
                continue
            trial = await self._tried(found)
            drafted = self._drafted(found, trial)
            self._history[self._drafts] = _Tried(text, found.draft, self._authors)
            best = max((best or drafted, drafted), key=_standing)
            # One who does not agree may have seen something, or read the words otherwise: that is worth one more draft.
            if redrafts < (1 if best.trial.verdict.passed else _REDRAFTS) and not trial.verdict.unanimous:
                redrafts += 1
                self._answer(text, _evidence(trial, found.look))
                continue
            said = self._ask(best)  # nothing else is going on, and Ctrl-C ends it at once
            if not said:
                return self._chosen(best)
            repairs = redrafts = 0
            text, best = self._history[best.drafts].reply, None
            self._answer(text, render("task/draft_answer", said=said))

    def _chosen(self, drafted: Drafted) -> tuple[Drafted, Draft]:
        """A draft that may be taken, beside the sketches that it was tried on."""
        tried = self._history[drafted.drafts]
        keep_sketches(self._wanted.folder, self._wanted.words, tried.authors)
        return drafted, tried.draft

    async def _looked_at(self, reply: str) -> _Sound | Sequence[Finding]:
        """A draft that is a sound task, but for its metric; or what is wrong with it."""
        draft = read_draft(reply)
        if not isinstance(draft, Draft):
            return draft
        path = self._written(draft)
        look = await asyncio.to_thread(look_at, str(path))
        return [_finding(what, hint) for what, hint in look.problems] or _Sound(draft, path, look)

    async def _asked(self) -> str:
        self._calls += 1
        reply = await self._llm.complete(LLMRequest(label=f"{LABEL}/draft/{self._calls}", messages=tuple(self._thread)))
        asked = _MORE.match(reply.text)
        if asked and self._calls == 1:
            self._thread += [Message(role="assistant", content=reply.text), self._request(asked[1])]
            return await self._asked()
        return reply.text

    def _answer(self, reply: str, answer: str) -> None:
        self._thread += [Message(role="assistant", content=reply), Message(role="user", content=answer)]

    def _request(self, more: str) -> Message:
        found = self._wanted.catalogue
        entries = chosen_entries(found.entries, f"{self._wanted.words} {more}")
        request = render(
            "task/draft",
            words=self._wanted.words,
            robot=self._wanted.robot,
            control_step_s=control_of(found)[1],
            actuators=found.actuators,
            bodies=found.robot[:60],
            objects=found.objects[:40],
            geoms=found.sizes[:60],
            sites=found.sites[:60],
            keyframes=found.keyframes[:20],
            entries=entries,
            left_out=0 if more else len(found.entries) - len(entries),
        )
        return Message(role="user", content=request)

    def _written(self, draft: Draft) -> Path:
        self._drafts += 1
        path = self._wanted.folder / f"draft-{self._drafts}.py"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise explain_os_error(path, error) from error
        write_atomic(path, task_file(draft, self._wanted, path))
        return path.resolve()

    async def _tried(self, found: _Sound) -> Trial:
        draft, path, look = found
        if not self._authors or not self._variables.items() <= draft.variables.items():
            self._note("asking for sketches of episodes, from authors that do not see the metric")
            words, label = self._wanted.words, f"{LABEL}/draft-{self._drafts}"
            has = self._wanted.catalogue
            lists = {"bodies of the robot": has.robot, "objects": has.objects, "geoms": has.sizes, "sites": has.sites}
            world = "\n".join(f"{name}: {', '.join(each[:60]) or 'none'}" for name, each in lists.items())
            self._authors = await ask_authors(self._llm, str(path), look, words, world, label)
            self._variables = draft.variables
        self._note("trying the metric on the sketches")
        trial = await asyncio.to_thread(hold_against, str(path), look, self._wanted.words, self._authors)
        write_atomic(path.with_suffix(".trial.json"), trial.model_dump_json(indent=1))
        return trial

    def _drafted(self, found: _Sound, trial: Trial) -> Drafted:
        draft, path, look = found
        assert look.card is not None
        return Drafted(
            words=self._wanted.words,
            robot=self._wanted.robot,
            task=str(path),
            source=path.read_text(),
            name=draft.name,
            description=look.card.description,
            questions=draft.questions,
            misses=draft.misses,
            trial=trial,
            drafts=self._drafts,
        )


def task_file(draft: Draft, wanted: Wanted, path: Path, read: str = "") -> str:
    """The text of the task file of a draft.

    Args:
        draft: The draft.
        wanted: What it is for.
        path: Where the file is to be.
        read: Who has read it, in a sentence.
    """
    title = f"Drafted by a language model for: {json.dumps(wanted.words, ensure_ascii=False)}. {read}"
    return draft.file(title, model_named(wanted.robot, path), control_of(wanted.catalogue)[0])


def chosen_entries(entries: Sequence[Entry], words: str) -> list[Entry]:
    """The entries of a catalogue that fit into a prompt, in its order; those that share its words come first.

    Args:
        entries: Of the catalogue, what matters most to most tasks first.
        words: The sentence.
    """
    asked = {word.removesuffix("s") for word in _WORD.findall(words.lower())}

    def shared(entry: Entry) -> int:
        named = f"{entry.name} {entry.code}".lower().replace("_", " ")
        return len(asked & {word.removesuffix("s") for word in _WORD.findall(named)})

    ranked = sorted(range(len(entries)), key=lambda index: -shared(entries[index]))
    left, chosen = _CATALOGUE_TOKENS, []
    for index in ranked:
        each = entries[index]
        left -= tokens_in(f"{each.code}{each.unit}{each.meaning}") + 12 * max(1, len(each.parts)) + 12
        if left < 0:
            break
        chosen.append(index)
    return [entries[index] for index in sorted(chosen)]


def _standing(drafted: Drafted) -> tuple[bool, int, int]:
    verdict = drafted.trial.verdict
    return verdict.passed, verdict.agreeing, drafted.drafts


def _finding(what: str, hint: str) -> Finding:
    return Finding(gate="language", detector="draft", severity="reject", message=what, hint=hint)


def _evidence(trial: Trial, look: TaskLook) -> str:
    verdict = trial.verdict
    faults = [
        *verdict.faults,
        *(f"author {number}: {fault}" for number, one in enumerate(verdict.authors, 1) for fault in one.faults),
        *verdict.notes,
    ]
    parts = list(trial.authors[0][0].parts)
    drawn = [
        (
            f"author {number}, `{each.name}`",
            {
                name: [values[round(q * (len(values) - 1) / 4)] for q in range(5)]
                for name, values in each.course.items()
            },
        )
        for number, (one, judged) in enumerate(zip(trial.authors, verdict.authors, strict=True), 1)
        for each in one
        if any(f"`{each.name}` (" in fault for fault in judged.faults)
    ]
    return render(
        "task/draft_evidence", authors=trial.authors, rollouts=look.rollouts, faults=faults, parts=parts, drawn=drawn
    )
