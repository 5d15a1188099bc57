"""Making films: policies of a run are played, their rewards priced, and the pictures made, each in workers.

The orchestrator's side; it loads nothing heavy. The worker that plays is clean, the one that prices runs a reward and
nothing else, and the one that makes pictures runs neither task nor reward.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from itertools import accumulate, count
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field, FiniteFloat, ValidationError

from rewardgen.core.errors import RewardgenError, RunFolderError, TaskError, UsageError, WorkerError
from rewardgen.core.files import read_plain, write_atomic
from rewardgen.core.formatting import number
from rewardgen.core.provenance import usable_cores
from rewardgen.core.schema import Frozen
from rewardgen.film.film_index import SCENE, Film, Shot, add_films, films_folder, motion_name
from rewardgen.sandbox.answers import clean
from rewardgen.sandbox.folders import scratch_folder
from rewardgen.sandbox.jobs import register
from rewardgen.sandbox.process import Limits, run_worker
from rewardgen.store.history import History
from rewardgen.store.names import FileName
from rewardgen.store.records import BASELINES, RewardSpec, SliceResult
from rewardgen.store.run_folder import MOST_POLICY_BYTES, RunFolder
from rewardgen.tasks.fingerprint import changed
from rewardgen.tasks.loading import shipped_tasks
from rewardgen.training.protocol import POLICY_KINDS

PLAY = register(
    "rollout",
    "rewardgen.film.film_jobs:rollout_job",
    reads=("folder",),
    inputs="rewardgen.film.film_jobs:rollout_files",
)
PRICE = register("components", "rewardgen.film.film_jobs:components_job", reads=("file",))
RENDER = register(
    "film",
    "rewardgen.film.film_jobs:render_job",
    reads=("folder",),
    inputs="rewardgen.film.film_jobs:driver_files",
)

SECONDS = 10.0
"""Of an episode that are shown at most, unless asked for otherwise."""
_LIMITS = Limits(wall_s=900.0, memory_bytes=6 << 30)
_MOST_FILE_BYTES = 16 << 20
_DRAWN = "draw"
_KEPT = "keep"
"""The pictures that the environment made itself."""
_RENDERERS = ("cgl",) if sys.platform == "darwin" else ("egl", "osmesa")
"""Ways to render without a display, in the order in which they are tried; that of `MUJOCO_GL` is before them."""
_SUFFIXES = (".mp4", ".webp", ".png")

Note = Callable[[str], None]
TakePhase = Literal["search", "final"]
"""Of which policies are shown."""


class Take(NamedTuple):
    """One policy that is filmed."""

    id: str
    phase: TakePhase
    slice: SliceResult
    source: str
    """Of the reward that it was trained with."""

    @property
    def name(self) -> str:
        """Of its files while it is filmed, and of its film."""
        return f"{self.id}-{self.phase}-s{self.slice.seed}"


class Plan(NamedTuple):
    """One film to be made."""

    take: Take
    title: str
    beside: Take | None = None
    """Shown on the left."""
    sentence: str = ""
    """Above the picture."""
    variant: str = ""
    """Tells the files of a film that somebody asked for from those of the run's own."""

    @property
    def takes(self) -> tuple[Take, ...]:
        """From left to right."""
        return (self.beside, self.take) if self.beside else (self.take,)

    @property
    def name(self) -> str:
        """Of its files."""
        parts = (self.take.name, f"beside-{self.beside.id}" if self.beside else "", self.variant)
        return "-".join(each for each in parts if each)


class Played(Frozen):
    """The episode of a policy that is shown, as the worker tells it."""

    name: FileName
    problem: str = ""
    start: int = Field(default=0, ge=0, le=1000)
    """Which of the few starts it is, from 1: that with the middle fitness."""
    starts: int = Field(default=0, ge=0, le=1000)
    fitness: FiniteFloat = 0.0
    success: bool = False
    ending: str = ""
    episode_s: float = Field(default=0.0, ge=0.0)
    """Length of the whole episode [s]."""
    frame_s: float = Field(default=1.0, gt=0.0)
    step_s: float = Field(default=1.0, gt=0.0)
    """A control step [s]."""
    steps: tuple[Annotated[int, Field(ge=0)], ...] = Field(default=(), max_length=100_000)
    """Control steps before each frame."""
    so_far: tuple[FiniteFloat, ...] = ()
    """The fitness at each frame, as if the episode had ended there; empty if it cannot be measured."""
    pictured: bool = False
    """Whether its environment made the pictures itself."""

    @property
    def seconds(self) -> float:
        """That are shown."""
        return (self.steps[-1] if self.steps else 0) * self.step_s

    @property
    def ended(self) -> str:
        """What is said when it is over."""
        how = "success" if self.success else "no success"
        told = f"{how}, fitness {number(self.fitness)}"
        if self.episode_s > self.seconds + self.frame_s:
            return f"the episode goes on to {number(self.episode_s)} s: {told}"
        return f"{told}; {clean(self.ending, 40)} after {number(self.episode_s)} s"


def take_of(
    folder: RunFolder,
    history: History,
    id: str,
    *,
    seed: int | None = None,
    phases: Sequence[TakePhase] = ("final", "search"),
) -> Take:
    """The policy of a reward that speaks for it: of the fresh seeds if it has any, the middle one by fitness.

    Args:
        folder: The run's.
        history: What is known of it.
        id: A candidate, `human` or `sparse`.
        seed: Of its training, to have that one.
        phases: In which it may have been trained, the one to be preferred first.

    Raises:
        UsageError: It was not trained, or not with this seed.
        RunFolderError: Its policies are gone.
    """
    record = history.record(id)
    source = record.candidate.source if record else history.baselines.get(id, "")
    trained: dict[TakePhase, list[SliceResult]] = {phase: _measured(history, phase, id) for phase in phases}
    if not any(trained.values()):
        why = f": {record.outcome}" if record and record.outcome else ""
        raise UsageError(f"{id} has no policy to show, it was not trained{why}", "name a candidate that was trained")
    for phase, slices in trained.items():
        here = [each for each in slices if (folder.policies / phase / str(each.policy)).is_file()]
        if seed is not None:
            here = [each for each in here if each.seed == seed]
        if here:
            return Take(id, phase, here[(len(here) - 1) // 2], source)
    seeds = sorted({each.seed for slices in trained.values() for each in slices})
    if seed is not None and seed not in seeds:
        raise UsageError(f"{id} was not trained with seed {seed}", f"its seeds: {', '.join(map(str, seeds))}")
    raise RunFolderError(
        f"the policies of {id} are gone from {folder.policies}",
        f"put them back, or train it again: `rewardgen train {folder.word}:{id}`",
    )


def _measured(history: History, phase: TakePhase, id: str) -> list[SliceResult]:
    """Its trainings with a policy, by fitness."""
    found = [each for (known, name, _), each in history.trained.items() if known == phase and name == id]
    return sorted(
        (each for each in found if each.policy and not each.failure), key=lambda each: each.final_fitness or 0.0
    )


def shoot(
    folder: RunFolder,
    history: History,
    plans: Sequence[Plan],
    *,
    seconds: float = SECONDS,
    speed: float = 1.0,
    draw: bool = False,
    agreed: bool = False,
    note: Note = lambda text: None,
    announcement: str = "",
) -> list[Film]:
    """Make films and add them to those of the run.

    Args:
        folder: The run's.
        history: What is known of it.
        plans: What to film.
        seconds: Of an episode that are shown at most.
        speed: Of what is shown, 1 in real time.
        draw: Whether to draw the model where OpenGL could render it.
        agreed: Whether the user agreed to run the task file of a run that they did not start here.
        note: Is told how it goes, in a line.
        announcement: What it is told as soon as it is known that the task can be filmed.

    Returns:
        The films that were made; of a policy that cannot be played there is none, and a note.

    Raises:
        UsageError: The run was not started here, and the user did not agree to run its task file.
        RewardgenError: The task cannot be simulated, or a file cannot be written.
    """
    require_trust(history, agreed)
    place = films_folder(folder)
    if changed(history.task_files):
        note("the task has changed since the run began: its policies are filmed in the task as it is now")
    with scratch_folder() as scratch:
        takes = {take.name: take for plan in plans for take in plan.takes}
        ready = lambda: note(announcement) if announcement else None  # noqa: E731
        played = play(folder, history, list(takes.values()), scratch, seconds, speed, ready)
        for each in played.values():
            if each.problem:
                note(f"{each.name} cannot be shown: {clean(each.problem, 200)}")
        sound = {name: each for name, each in played.items() if not each.problem}
        kept = [each for plan in plans if (each := _possible(plan, sound))]
        paid = {name: _components(history, takes[name], each, scratch) for name, each in sound.items()}
        films = [_asked(plan, sound, paid) | {"speed": speed} for plan in kept]
        if any(each.pictured for each in sound.values()):
            _render(films, scratch, how := _KEPT, note)
        else:
            how = _rendered(films, scratch, draw, note) if films else _DRAWN
        for plan in kept:
            for suffix in _SUFFIXES:
                name = f"{plan.name}{suffix}"
                made = next((scratch / "film").glob(f"*/{name}"), scratch / name)
                write_atomic(place / name, read_plain(made, _MOST_FILE_BYTES))
        return add_films(folder, [_shot(plan, sound[plan.take.name], how) for plan in kept])


def require_trust(history: History, agreed: bool) -> None:
    """Refuse to run the task file of a run that came from elsewhere.

    Raises:
        UsageError: It did, and the user did not agree.
    """
    task = history.config.task if history.config else ""
    if not (agreed or history.is_own or task in shipped_tasks()):
        raise UsageError(
            f"run {history.run_id} was not started here, and its task file would run as your own code: {task}",
            "read that file, then add `--yes`",
        )


def play(
    folder: RunFolder,
    history: History,
    takes: Sequence[Take],
    scratch: Path,
    seconds: float,
    speed: float = 1.0,
    ready: Callable[[], None] = lambda: None,
) -> dict[str, Played]:
    """Play policies in a clean worker.

    Args:
        folder: The run's.
        history: What is known of it.
        takes: The policies.
        scratch: An own folder: in its `rollout`, there are the model and the motions afterwards.
        seconds: That are recorded at most.
        speed: In which they are to be shown, 1 in real time.
        ready: Called once it is known that the task can be filmed.

    Returns:
        Name of a take to its episode.

    Raises:
        RewardgenError: The task cannot be simulated.
    """
    assert history.config is not None
    policies = scratch / "policies"
    policies.mkdir()
    problems = {}
    for take in takes:
        path = folder.policies / take.phase / str(take.slice.policy)
        try:
            write_atomic(policies / f"{take.name}.npz", read_plain(path, MOST_POLICY_BYTES))
        except OSError as error:
            problems[take.name] = Played(
                name=take.name, problem=f"its policy cannot be read: {error.strerror or error}"
            )
    payload = {
        "task": history.config.task,
        "folder": str(policies),
        "policies": [take.name for take in takes if take.name not in problems],
        "own": [take.name for take in takes if take.id in BASELINES],
        "kinds": {kind: POLICY_KINDS.get(kind) for kind in POLICY_KINDS.names()},
        "seconds": seconds,
        "speed": speed,
    }
    answer: dict[str, Any] = {}
    for how in (ways := _renderers()):  # each in its own worker: a process can load one only
        asked = payload | {"renderer": "glfw" if how == "cgl" else how}  # which Gymnasium has on macOS
        place = scratch / "rollout"
        try:
            limits = _limits(history)
            answer = run_worker(PLAY, asked, limits=limits, scratch=place, on_message=lambda message: ready())
            break
        except TaskError:
            if how == ways[-1]:
                raise
    try:
        played = [Played.model_validate(each) for each in answer["played"]]
    except (KeyError, TypeError, ValidationError, UsageError) as error:
        raise WorkerError("the rollout worker answered out of contract") from error
    return {each.name: each for each in played} | problems


@contextmanager
def play_files(
    folder: RunFolder, history: History, take: Take, seconds: float, *, agreed: bool = False
) -> Iterator[tuple[str, str, str]]:
    """What a viewer needs of a policy: files with the model and the positions at each frame, and the time between two.

    Args:
        folder: The run's.
        history: What is known of it.
        take: The policy.
        seconds: That are recorded at most.
        agreed: See `shoot`.

    Raises:
        RewardgenError: As for `shoot`; or the policy cannot be played.
    """
    require_trust(history, agreed)
    with scratch_folder() as scratch:
        played = play(folder, history, [take], scratch, seconds)[take.name]
        if played.problem:
            raise RunFolderError(f"{take.id} cannot be shown: {played.problem}", "name another candidate")
        if played.pictured:
            raise RunFolderError("the task has no MuJoCo model of its own to turn about", "film it: `rewardgen film`")
        place = scratch / "rollout"
        yield str(place / SCENE), str(place / motion_name(take.name)), str(played.frame_s)


def _renderers() -> list[str]:
    return sorted(_RENDERERS, key=lambda how: how != os.environ.get("MUJOCO_GL"))


def _limits(history: History) -> Limits:
    return _LIMITS.model_copy(update={"sandbox": history.sandbox})


class _Components(Frozen):
    components: dict[Annotated[str, Field(pattern="^[A-Za-z_][A-Za-z0-9_]{0,47}$")], tuple[FiniteFloat, ...]] = Field(
        max_length=33
    )


def _components(history: History, take: Take, played: Played, scratch: Path) -> dict[str, tuple[float, ...]]:
    """What each component of its reward pays at each frame; empty if that cannot be told."""
    payload = {
        "file": str(scratch / "rollout" / f"{take.name}-steps.npz"),
        "reward": RewardSpec(candidate_id=take.id, source=take.source, own=take.id in BASELINES).model_dump(
            mode="json"
        ),
        "steps": played.steps,
        "step_s": played.step_s,
    }
    limits = _limits(history).model_copy(update={"wall_s": 120.0, "memory_bytes": 2 << 30, "answer_bytes": 32 << 20})
    with suppress(RewardgenError, ValidationError):
        answer = run_worker(PRICE, payload, limits=limits, scratch=scratch / "components")
        found = _Components.model_validate(answer).components
        if all(len(values) == len(played.steps) for values in found.values()):
            return found
    return {}


def _possible(plan: Plan, played: dict[str, Played]) -> Plan | None:
    if plan.take.name not in played:
        return None
    return plan if plan.beside and plan.beside.name in played else plan._replace(beside=None)


def _asked(plan: Plan, played: dict[str, Played], paid: dict[str, dict[str, tuple[float, ...]]]) -> dict[str, Any]:
    """What the worker that makes the pictures is asked for."""
    sides = [
        {
            "label": take.id,
            "detail": f"{_of_seed(take)}, start {played[take.name].start}",
            "components": paid[take.name],
            "so_far": played[take.name].so_far,
            "ended": played[take.name].ended,
            "frames": len(played[take.name].steps),
        }
        for take in plan.takes
    ]
    return {
        "name": plan.name,
        "title": plan.sentence,
        "frame_s": played[plan.take.name].frame_s,
        "motions": [take.name for take in plan.takes],
        "sides": sides,
    }


def _of_seed(take: Take) -> str:
    return f"{'fresh' if take.phase == 'final' else 'search'} seed {take.slice.seed}"


def _rendered(films: list[dict[str, Any]], scratch: Path, draw: bool, note: Note) -> str:
    """Have the pictures made in the first way that works here; which one that was."""
    for how in () if draw else _renderers():
        with suppress(UsageError, WorkerError):
            _render(films, scratch, how, note)
            return how
    if not draw:
        note("OpenGL renders nothing here, so the model is drawn; `rewardgen doctor` says what to install")
    _render(films, scratch, _DRAWN, note)
    return _DRAWN


def _render(films: list[dict[str, Any]], scratch: Path, how: str, note: Note = lambda text: None) -> str:
    """Have the pictures made in one way, in `film/*/`, by a worker for each core; what made them."""
    workers = max(1, min(usable_cores(), len(films)))
    shares: dict[int, list[dict[str, Any]]] = {0: []}
    sides = [len(film["motions"]) for film in films]
    # Neighbours stay together: they show the same policies, and a worker renders each of these once.
    for film, own, end in zip(films, sides, accumulate(sides), strict=True):
        shares.setdefault((2 * end - own) * workers // (2 * sum(sides)), []).append(film)
    stop, finished = threading.Event(), count(1)

    def done(message: dict[str, Any]) -> None:
        if "done" in message and len(films) > 1:
            note(f"film {next(finished)} of {len(films)}")

    def make(number: int) -> str:
        payload = {"how": how, "folder": str(scratch / "rollout"), "films": shares[number]}
        place = scratch / "film" / str(number)
        answer = run_worker(RENDER, payload, limits=_LIMITS, scratch=place, on_message=done, cancel=stop)
        return clean(answer.get("renderer", ""), 100)

    with ThreadPoolExecutor(workers, thread_name_prefix="film") as pool:
        try:
            told, *_ = pool.map(make, shares)
            return told
        except BaseException:
            stop.set()
            raise


def renderer() -> str | None:
    """What renders here, in the words of its driver; None if OpenGL does not, so that films are drawn."""
    for how in _renderers():
        with suppress(UsageError, WorkerError), scratch_folder() as scratch:
            (scratch / "rollout").mkdir()
            return f"{how}, {_render([], scratch, how)}"
    return None


def _shot(plan: Plan, played: Played, how: str) -> Shot:
    take = plan.take
    caption = f"The start with the middle fitness of {played.starts}; {_of_seed(take)}; {played.ended}."
    return Shot(
        id=take.id,
        beside=plan.beside.id if plan.beside else None,
        phase=take.phase,
        seed=take.slice.seed,
        title=plan.title,
        caption=caption,
        seconds=round(played.seconds, 3),
        fitness=played.fitness,
        success=played.success,
        drawn=how == _DRAWN,
        pictured=played.pictured,
        name=plan.name,
    )
