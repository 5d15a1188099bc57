"""Films of a run: what they are, and which of them there are.

They lie in `films/` of the run's folder, and `films/index.json` lists them: `Index`, as JSON.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pydantic import ValidationError

from rewardgen.core.errors import RewardgenError
from rewardgen.core.files import read_plain, write_atomic
from rewardgen.core.schema import Frozen, Text
from rewardgen.store.history import Phase
from rewardgen.store.names import CandidateId, FileName
from rewardgen.store.run_folder import RunFolder

FILMS = "films"
"""Folder of a run in which its films lie."""
INDEX = "index.json"
SCENE = "scene.mjb"
"""Name of the file with a model as it is filmed, while it is filmed."""
_MOST_INDEX_BYTES = 1 << 20


class Shot(Frozen):
    """One film, as the index of a run's films has it: one policy in one episode, or two beside each other."""

    id: CandidateId
    """Whose policy it shows: a candidate, `human` or `sparse`; of two, the one on the right."""
    beside: CandidateId | None = None
    """Whose policy is on the left: a parent's, or `human`; None if it shows one alone."""
    phase: Phase
    """In which the policy was trained."""
    seed: int
    """That it was trained with."""
    title: Text
    """What it shows, in a line."""
    caption: Text
    """Which episode it is, of what length, and what it reached, in a sentence or two."""
    seconds: float
    fitness: float
    """Of the whole episode."""
    success: bool
    drawn: bool = False
    """Whether it was drawn from the model's shapes, because nothing here renders."""
    pictured: bool = False
    """Whether the pictures are those that the task's environment makes itself."""
    name: FileName
    """Of its files, without their suffixes."""


class Index(Frozen):
    """The films of a run: the content of `films/index.json`."""

    films: tuple[Shot, ...] = ()


class Film(Shot):
    """One film, with where its files lie."""

    folder: Path

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


def motion_name(name: str) -> str:
    """Name of the file with a policy's positions at each frame, while it is filmed."""
    return f"{name}-motion.npy"


def films_folder(folder: RunFolder) -> Path:
    """Where the films of a run lie; asked for before anything is written there.

    Args:
        folder: The run's.

    Raises:
        RunFolderError: It is a link, or no folder.
    """
    return folder.place_within(FILMS)


def films_of(folder: RunFolder) -> list[Film]:
    """The films that there are of a run, in the order of their making; those whose files are gone are left out.

    Only the index is read. Read the files themselves with `read_plain`: anybody may have made the folder.

    Args:
        folder: The run's.
    """
    try:
        place = films_folder(folder)
        index = Index.model_validate_json(read_plain(place / INDEX, _MOST_INDEX_BYTES))
    except (OSError, ValidationError, RewardgenError):
        return []
    films = [Film.model_validate({**each.model_dump(), "folder": place}) for each in index.films]
    return [each for each in films if all(map(_is_plain, (each.video, each.picture, each.still)))]


def _is_plain(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def add_films(folder: RunFolder, shots: Sequence[Shot]) -> list[Film]:
    """Put films into the index of a run, in place of earlier ones of the same name.

    Args:
        folder: The run's.
        shots: The films; their files are there.

    Returns:
        These films.

    Raises:
        RunFolderError: The index cannot be written.
    """
    new = {each.name: each for each in shots}
    place, fields = films_folder(folder), set(Shot.model_fields)
    known = {each.name: each for each in films_of(folder)} | new
    index = Index(films=tuple(Shot.model_validate(each.model_dump(include=fields)) for each in known.values()))
    write_atomic(place / INDEX, index.model_dump_json(indent=1))
    return [each for each in films_of(folder) if each.name in new]
