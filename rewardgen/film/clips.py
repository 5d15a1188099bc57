"""Clips: the two episodes of a question as films or as text, without what would tell whose they are or how fit.

A clip is an episode that the clean evaluation measured. Its policy plays it again from the same start.
"""

from __future__ import annotations

import json
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import TypeAdapter, ValidationError

from rewardgen.analyzer.episode_text import card_rows, episode_tables, lasted
from rewardgen.core.errors import RunFolderError
from rewardgen.core.files import read_plain, write_atomic
from rewardgen.film.shooting import SECONDS, Played, Starts, Take, play, render_all, take_of
from rewardgen.llm.protocol import Note, silent
from rewardgen.sandbox.answers import clean
from rewardgen.sandbox.folders import scratch_folder
from rewardgen.store.comparisons import Question
from rewardgen.store.history import History
from rewardgen.store.measurements import STARTS
from rewardgen.store.records import TaskCard
from rewardgen.store.run_folder import RunFolder
from rewardgen.tasks.measure import MEASURING
from rewardgen.training.artifacts import EVALUATION_SEED, evaluation_starts

CLIPS, _INDEX = "clips", "index.json"
FRAMES = 8
"""Small pictures of a clip at most."""
_MOST_BYTES, _MOST_INDEX_BYTES = 16 << 20, 1 << 16
_MOST_MOMENTS = 150
"""Times at which curves have a value at most."""


class ClipFilm(NamedTuple):
    """Film of a clip.

    Attributes:
        video: MP4 without text; missing if only the frames were asked for.
        curves: JSON with `times_s` since the start [s], and `values` at these times by variable or part of one, with
            the unit, null where they are not finite; missing as the video is.
        frames: PNG files of 320 x 180 pixels, evenly spaced from start to end; at most `FRAMES`.
        times_s: Time of each frame since the start [s].
    """

    video: Path
    curves: Path
    frames: tuple[Path, ...]
    times_s: tuple[float, ...]


_TIMES = TypeAdapter(dict[str, tuple[float, ...]])
"""Content of `index.json`, written last: candidate to the times of its frames [s]."""


def film_clips(
    folder: RunFolder, history: History, question: Question, *, videos: bool = True, note: Note = silent
) -> tuple[ClipFilm, ClipFilm]:
    """Film the clips of a question, left and right, with the same camera, unless they are filmed already.

    Films of a question with exchanged sides are the same. Without `videos` there are only frames, which is several
    times as fast.

    Raises:
        UsageError: Nothing here renders.
        RewardgenError: The task cannot be filmed, a policy cannot be played, or a file cannot be written.
    """
    place = _place(folder, question)
    if (films := _filmed(place, question, videos)) is None:
        note("filming two episodes to compare")
        _film(folder, history, question, place, videos, note)
        films = _filmed(place, question, videos)
    assert films is not None
    return films


def clip_texts(folder: RunFolder, history: History, question: Question, *, note: Note = silent) -> tuple[str, str]:
    """Describe the clips of a question, left and right, by their lengths, endings and variables; see `film_clips`.

    A task needs no pictures for this.
    """
    config, card = history.config, history.card
    limits, texts = MEASURING.model_copy(update={"sandbox": history.sandbox}), []
    with scratch_folder() as scratch:
        for take, played in _played(folder, history, question, scratch, False, note):
            (table,) = episode_tables(_steps_file(scratch, take), 1, config.task, card, limits, scratch / "digest")
            texts.append(f"{lasted(played.steps[-1], clean(played.ending, 40), card)}\n{table.text}")
    return texts[0], texts[1]


def _steps_file(scratch: Path, take: Take) -> Path:
    return scratch / "rollout" / f"{take.name}-steps.npz"


def _place(folder: RunFolder, question: Question) -> Path:
    return folder.place_within(CLIPS, f"{'-'.join(sorted(question.ids))}-s{question.left.seed}-t{question.left.start}")


def _filmed(place: Path, question: Question, videos: bool) -> tuple[ClipFilm, ClipFilm] | None:
    try:
        times = _TIMES.validate_json(read_plain(place / _INDEX, _MOST_INDEX_BYTES))
        names = {id: [place / f"{id}-{number}.png" for number in range(len(times[id]))] for id in question.ids}
    except (OSError, ValidationError, KeyError):
        return None
    left, right = (
        ClipFilm(place / f"{id}.mp4", place / f"{id}.json", tuple(names[id]), times[id]) for id in question.ids
    )
    files = [file for film in (left, right) for file in (*film.frames, *[film.video, film.curves] * videos)]
    return (left, right) if all(file.is_file() and not file.is_symlink() for file in files) else None


def _film(folder: RunFolder, history: History, question: Question, place: Path, videos: bool, note: Note) -> None:
    with scratch_folder() as scratch:
        clips = _played(folder, history, question, scratch, True, note)
        stills = [_spread(len(played.steps)) for _, played in clips]
        film = {
            "name": CLIPS,
            "frame_s": clips[0][1].frame_s,
            "speed": 1.0,
            "motions": [take.name for take, _ in clips],
            "stills": stills,
            "moves": videos,
        }
        render_all([film], scratch, clips[0][1].pictured, note)
        times = {}
        for (take, played), frames in zip(clips, stills, strict=True):
            for suffix in (*(f"-{number}.png" for number in range(len(frames))), *[".mp4"] * videos):
                content = read_plain(scratch / "film" / CLIPS / f"{take.name}{suffix}", _MOST_BYTES)
                write_atomic(place / f"{take.id}{suffix}", content)
            if videos:
                curves = _curves(_steps_file(scratch, take), played, history.card)
                write_atomic(place / f"{take.id}.json", json.dumps(curves))
            times[take.id] = tuple(round(played.steps[frame] * played.step_s, 3) for frame in frames)
    write_atomic(place / _INDEX, _TIMES.dump_json(times))


def _curves(file: Path, played: Played, card: TaskCard) -> dict[str, Any]:
    """Return the variables after the steps that a film shows, at most `_MOST_MOMENTS` of them, the last included."""
    from rewardgen.sim.arrays import read_arrays  # imports numpy

    arrays, values = read_arrays(file), {}
    steps = played.steps[:0:-1]  # latest first, without the start, at which no variable is recorded
    steps = steps[:: -(-len(steps) // _MOST_MOMENTS)][::-1]
    for title, row in card_rows(card).items():
        at_steps = arrays[row.variable][[step - 1 for step in steps]]
        parts = at_steps.reshape(len(steps), -1)
        whole = parts[:, 0] if at_steps.ndim == 1 else (parts**2).sum(1) ** 0.5
        curve = whole if row.part is None else parts[:, row.part]
        values[title] = [float(f"{value:.4g}") if isfinite(value) else None for value in curve]
    return {"times_s": [round(step * played.step_s, 3) for step in steps], "values": values}


def _spread(frames: int) -> list[int]:
    """Return the indices of at most `FRAMES` evenly spaced frames, the first and the last included."""
    return sorted({round(number * (frames - 1) / (FRAMES - 1)) for number in range(FRAMES)})


def _played(
    folder: RunFolder, history: History, question: Question, scratch: Path, pictures: bool, note: Note
) -> list[tuple[Take, Played]]:
    """Play the clips of a question again, left and right; whole episodes, or as much as films show."""
    card, seed, start = history.card, question.left.seed, question.left.start
    takes = [take_of(folder, history, id, seed=seed, phases=("search",)) for id in question.ids]
    seconds = SECONDS if pictures else card.episode_steps * card.control_step_s
    starts = Starts(EVALUATION_SEED, evaluation_starts(seed), STARTS, start)
    episodes = play(folder, history, takes, scratch, seconds, starts=starts, pictures=pictures)
    for take in takes:
        played, measured = episodes[take.name], take.slice.outcomes[start]
        if played.problem:
            hint = "put its policy back, or name another candidate"
            raise RunFolderError(f"{take.id} cannot be shown: {clean(played.problem, 200)}", hint)
        if (round(played.episode_s / played.step_s), played.ending) != (measured.steps, measured.ending):
            note(f"{take.id}: start {start} of seed {seed} goes otherwise here than when it was measured")
    return [(take, episodes[take.name]) for take in takes]
