"""Films of a run as values: MP4, WebP and PNG in `films/` of the run's folder, listed in `films/index.json`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pydantic import Field, ValidationError

from rewardgen.core.errors import RewardgenError
from rewardgen.core.files import read_plain, write_atomic
from rewardgen.core.schema import Frozen, Text
from rewardgen.store.history import Phase
from rewardgen.store.names import CandidateId, FileName
from rewardgen.store.run_folder import RunFolder

FILMS, INDEX = "films", "index.json"
SCENE = "scene.mjb"
"""File with the model as it is filmed, in the worker's folder."""
_MOST_INDEX_BYTES = 1 << 20


class Film(Frozen):
    """One film: one policy in one episode, or two policies beside each other."""

    retired = frozenset({"drawn"})
    id: CandidateId
    """The filmed policy's reward: a candidate, `human` or `sparse`; of two policies, the one on the right."""
    beside: CandidateId | None = None
    """The reward of the policy on the left, if there are two."""
    phase: Phase
    """Phase in which the policy was trained."""
    seed: int
    """Seed of its training."""
    title: Text
    caption: Text
    """The episode, its length and what it reached, in a sentence or two."""
    seconds: float
    fitness: float | None
    """Fitness of the whole episode; None in a task without one."""
    success: bool
    pictured: bool = False
    """True if the task's environment made the pictures."""
    name: FileName
    """Name of the files, without suffix."""
    folder: Path = Field(default=Path(), exclude=True)
    """Folder of the files; not in the index."""

    @property
    def video(self) -> Path:
        """MP4, H.264."""
        return self.folder / f"{self.name}.mp4"

    @property
    def picture(self) -> Path:
        """Animated WebP."""
        return self.folder / f"{self.name}.webp"

    @property
    def still(self) -> Path:
        """PNG."""
        return self.folder / f"{self.name}.png"


class Index(Frozen):
    """Content of `films/index.json`."""

    films: tuple[Film, ...] = ()


def motion_name(name: str) -> str:
    """File with a policy's positions or pictures at each frame, in the worker's folder."""
    return f"{name}-motion.npy"


def films_of(folder: RunFolder) -> list[Film]:
    """The films of a run in the order of their making, without those whose files are gone.

    Only the index is read. Read the files with `read_plain`: the folder may come from anybody.
    """
    try:
        place = folder.place_within(FILMS)
        index = Index.model_validate_json(read_plain(place / INDEX, _MOST_INDEX_BYTES))
    except (OSError, ValidationError, RewardgenError):
        return []
    films = [film.model_copy(update={"folder": place}) for film in index.films]
    files = {film.name: (film.video, film.picture, film.still) for film in films}
    return [film for film in films if all(path.is_file() and not path.is_symlink() for path in files[film.name])]


def add_films(folder: RunFolder, films: Sequence[Film]) -> list[Film]:
    """Add films whose files exist to the index, replacing those of the same name; the added films.

    Raises:
        RunFolderError: The index cannot be written.
    """
    new = {film.name: film for film in films}
    index = Index(films=tuple(({film.name: film for film in films_of(folder)} | new).values()))
    write_atomic(folder.place_within(FILMS) / INDEX, index.model_dump_json(indent=1))
    return [film for film in films_of(folder) if film.name in new]
