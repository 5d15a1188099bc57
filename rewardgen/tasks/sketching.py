"""Trying a task's metric on sketches by authors that do not know it: asking them, and holding it against them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rewardgen.core.errors import ModelError, TaskError
from rewardgen.core.files import read_plain, write_atomic
from rewardgen.core.schema import Frozen, Text
from rewardgen.llm.prompts import render
from rewardgen.llm.protocol import LLM
from rewardgen.sandbox.jobs import register
from rewardgen.store.messages import LLMRequest, Message
from rewardgen.tasks.measure import TASK_FILES, measure
from rewardgen.tasks.metric_verdict import MetricVerdict, SketchResult, TaskLook, judge_metric
from rewardgen.tasks.sketches import Sketches, read_sketches

LOOK = register("look", "rewardgen.tasks.metric_trial:look_job", inputs=TASK_FILES)
TRIAL = register("trial", "rewardgen.tasks.metric_trial:trial_job", inputs=TASK_FILES)

_MANNERS = (
    "Draw what somebody who works with such robots would have in mind.",
    "Think first of how the words could be met to the letter and missed in their sense; draw cheats from that.",
    "Think first of how the motion goes (take-off, contact, coming to rest), and draw it as it would be measured.",
)
"""What makes authors differ who share a model."""
AUTHORS = len(_MANNERS)
_ATTEMPTS = 3
_FEWEST = 5
"""Sketches of an author that are left when those are taken out that cannot be."""
_MOST_TOKENS = 16_384
"""Of a reply: whole episodes take room."""
_SKETCHES = "sketches.json"
_MOST_BYTES = 4 << 20


class Trial(Frozen):
    """A metric on the sketches of several authors."""

    words: Text
    """What the authors were told that is wanted."""
    questions: tuple[Text, ...] = ()
    """What they would ask."""
    authors: tuple[tuple[SketchResult, ...], ...] = ()
    verdict: MetricVerdict


def look_at(task: str) -> TaskLook:
    """A task's problems, or its card and how policies fare that know nothing; by a confined worker.

    Args:
        task: Its reference.

    Raises:
        RewardgenError: The worker failed.
    """
    return TaskLook.model_validate(measure(LOOK, {"task": task}))


class NothingDrafted(ModelError):
    """Nothing that a model wrote of a task can be used."""


async def ask_authors(llm: LLM, task: str, look: TaskLook, words: str, description: str, label: str) -> list[Sketches]:
    """Sketches by several authors at once, each asked again for what cannot be.

    Args:
        llm: The model.
        task: Reference of the task.
        look: What was seen of it.
        words: What is wanted, in a person's words.
        description: Of the robot and its world.
        label: Beginning of the calls' labels.

    Raises:
        NothingDrafted: No author drew anything of use.
        CallFailed: No answer.
    """
    manners = enumerate(_MANNERS, start=1)
    asked = [_ask(llm, task, look, (words, description, manner), f"{label}/sketches-{n}") for n, manner in manners]
    drawn = [each for each in await asyncio.gather(*asked) if each]
    if not drawn:
        raise NothingDrafted("no author drew sketches that could be used", "ask another model")
    return drawn


async def _ask(llm: LLM, task: str, look: TaskLook, told: tuple[str, str, str], label: str) -> Sketches | None:
    assert look.card is not None
    card, (words, description, manner) = look.card, told
    shapes = {each.name: each.shape for each in card.variables}
    request = render(
        "task/sketch",
        words=words,
        description=description,
        card=card,
        start=look.start,
        follows=look.follows,
        manner=manner,
    )
    thread = [Message(role="system", content=render("task/sketch_system")), Message(role="user", content=request)]
    author = None
    for attempt in range(1, _ATTEMPTS + 1):
        reply = await llm.complete(_request(f"{label}-{attempt}", thread))
        found = read_sketches(reply.text, shapes, card.episode_seconds)
        faults = found
        if isinstance(found, Sketches):
            ((results,), _) = await asyncio.to_thread(_try, task, look, [found])
            faults = tuple(f"sketch `{each.name}`: {fault}" for each in results for fault in each.faults)
            author = _possible(found, results) or author
        if isinstance(found, Sketches) and not faults:
            return author
        told_wrong = render("task/sketch_repair", faults=faults)
        thread += [Message(role="assistant", content=reply.text), Message(role="user", content=told_wrong)]
    return author


def _request(label: str, thread: Sequence[Message]) -> LLMRequest:
    return LLMRequest(label=label, messages=tuple(thread), max_tokens=_MOST_TOKENS)


def _possible(drawn: Sketches, results: Sequence[SketchResult]) -> Sketches | None:
    """The sketches that can be, if enough of them can."""
    kept = tuple(sketch for sketch, each in zip(drawn.sketches, results, strict=True) if not each.faults)
    if len(kept) < _FEWEST or not {"right", "cheat"} <= {sketch.kind for sketch in kept}:
        return None
    return drawn.model_copy(update={"sketches": kept})


def hold_against(task: str, look: TaskLook, words: str, authors: Sequence[Sketches], asked: int = AUTHORS) -> Trial:
    """A task's metric held against sketches that are there.

    Args:
        task: Its reference; it has every variable that the sketches name.
        look: What was seen of it.
        words: What is wanted.
        authors: The sketches.
        asked: How many authors were asked for some.

    Raises:
        RewardgenError: The worker failed.
    """
    results, faults = _try(task, look, authors)
    return Trial(
        words=words,
        questions=tuple(each.question for each in authors if each.question),
        authors=tuple(map(tuple, results)),
        verdict=judge_metric(look, results, asked, faults),
    )


class _Kept(Frozen):
    words: Text
    sketches: tuple[Sketches, ...]


def keep_sketches(folder: Path, words: str, authors: Sequence[Sketches]) -> None:
    """Keep sketches, to try later versions of a metric on them.

    Args:
        folder: Where.
        words: What is wanted.
        authors: The sketches.
    """
    kept = _Kept(words=words, sketches=tuple(authors))
    write_atomic(folder / _SKETCHES, kept.model_dump_json(indent=1))


def has_sketches(folder: Path) -> bool:
    """Whether sketches were kept.

    Args:
        folder: Where.
    """
    return (folder / _SKETCHES).exists()


def try_kept(task: str, folder: Path, look: TaskLook) -> Trial:
    """A task's metric held against sketches that were kept.

    Args:
        task: Its reference.
        folder: Where they were kept.
        look: What was seen of it.

    Raises:
        TaskError: They do not fit the task, or cannot be read.
    """
    path = folder / _SKETCHES
    assert look.card is not None
    hint = f"delete {path}, or have new sketches drawn with `--model`"
    try:
        kept = _Kept.model_validate_json(read_plain(path, _MOST_BYTES))
    except (OSError, ValueError) as error:
        raise TaskError(f"cannot read the sketches in {path}: {type(error).__name__}", hint) from error
    frames = [frame for each in kept.sketches for one in each.sketches for _, frame in one.keyframes]
    named = {(name, len(v) if isinstance(v, tuple) else 0) for frame in frames for name, v in frame.items()}
    parts = {each.name: each.parts for each in look.card.variables}
    wrong = sorted(name for name, count in named if name not in parts or len(parts[name]) != count)
    if wrong:
        raise TaskError(f"the sketches in {path} do not fit the task's variable `{wrong[0]}`, or it has none", hint)
    return hold_against(task, look, kept.words, kept.sketches, len(kept.sketches))


def _try(task: str, look: TaskLook, sketches: Sequence[Sketches]) -> tuple[list[list[SketchResult]], list[str]]:
    """What a metric says of each author's sketches, and where it contradicts its task."""
    authors = [each.model_dump(mode="json") for each in sketches]
    payload: dict[str, Any] = {"task": task, "start": look.start, "authors": authors}
    found = measure(TRIAL, payload)
    return [[SketchResult.model_validate(each) for each in one] for one in found["authors"]], found["faults"]
