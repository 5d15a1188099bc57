"""Making films: workers play policies, price their rewards and make the pictures.

This module is the orchestrator's side and loads nothing heavy. The worker that plays is clean, the one that prices
runs a reward and nothing else, and the one that makes pictures runs neither task nor reward.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import Field, FiniteFloat, ValidationError

from rewardgen.core.errors import NeedsConsent, RewardgenError, RunFolderError, TaskError, UsageError, WorkerError
from rewardgen.core.files import read_plain, write_atomic
from rewardgen.core.formatting import number
from rewardgen.core.provenance import usable_cores
from rewardgen.core.schema import Frozen
from rewardgen.film.film_index import FILMS, SCENE, Film, add_films, motion_name
from rewardgen.film.viewers import Recorded
from rewardgen.llm.protocol import Note, silent
from rewardgen.reward.observation import seen_besides
from rewardgen.sandbox.answers import clean
from rewardgen.sandbox.folders import scratch_folder
from rewardgen.sandbox.jobs import register
from rewardgen.sandbox.process import Limits, run_worker
from rewardgen.store.history import History, Phase
from rewardgen.store.names import FileName
from rewardgen.store.records import BASELINES, RewardSpec, SliceResult
from rewardgen.store.run_folder import MOST_POLICY_BYTES, RunFolder
from rewardgen.tasks.fingerprint import changed
from rewardgen.tasks.loading import shipped_tasks
from rewardgen.training.measuring import Play, act
from rewardgen.training.protocol import POLICY_KINDS

PLAY = register(
    "rollout",
    "rewardgen.film.film_jobs:rollout_job",
    reads=("folder",),
    inputs="rewardgen.film.film_jobs:rollout_files",
)
PRICE = register("components", "rewardgen.film.film_jobs:components_job", reads=("file",))
RENDER = register(
    "film", "rewardgen.film.film_jobs:render_job", reads=("folder",), inputs="rewardgen.film.film_jobs:driver_files"
)

SECONDS = 10.0
"""Longest film, unless asked for otherwise."""
NO_OPENGL = "OpenGL renders nothing here without a display"
INSTALL_OPENGL = "install it, as by `apt install libegl1 libgl1-mesa-dri` or `libosmesa6`; no display or GPU is needed"
_LIMITS = Limits(wall_s=900.0, memory_bytes=6 << 30)
_MOST_FILE_BYTES = 16 << 20
POLICIES = "policies"
"""Folder of the policies that are played, in a folder of scratch."""
_KEPT = "keep"
"""Renderer of films whose pictures the environment made."""
_RENDERERS = ("cgl",) if sys.platform == "darwin" else ("egl", "osmesa")
"""Ways to render without a display, in order of preference; `MUJOCO_GL` comes before them."""


class Starts(NamedTuple):
    """Episodes of which one is filmed.

    Attributes:
        seed: Seed of the starts.
        purpose: Purpose of the starts, see `rewardgen.training.shared.seeding.derive_seed`.
        episodes: Number of episodes.
        index: Index of the filmed episode; None for the one with the middle fitness.
    """

    seed: int
    purpose: str
    episodes: int
    index: int | None = None


FILM_STARTS = Starts(seed=0, purpose="film", episodes=5)


class Take(NamedTuple):
    """One policy that is filmed."""

    id: str
    phase: Phase
    slice: SliceResult
    source: str
    """Source of the reward that the policy was trained with."""

    @property
    def name(self) -> str:
        """Name of its files."""
        return f"{self.id}-{self.phase}-s{self.slice.seed}"

    @property
    def seed_words(self) -> str:
        """The seed in words."""
        return f"{'fresh' if self.phase == 'final' else 'search'} seed {self.slice.seed}"


class Plan(NamedTuple):
    """One film to be made."""

    take: Take
    title: str
    beside: Take | None = None
    """Policy on the left."""
    variant: str = ""
    """Suffix of the files, for a film that is not one of the run's own."""

    @property
    def takes(self) -> tuple[Take, ...]:
        """Policies from left to right."""
        return (self.beside, self.take) if self.beside else (self.take,)

    @property
    def name(self) -> str:
        """Name of its files."""
        parts = (self.take.name, f"beside-{self.beside.id}" if self.beside else "", self.variant)
        return "-".join(filter(None, parts))


class Played(Frozen):
    """The recorded episode of a policy, as the worker reports it."""

    name: FileName
    problem: str = ""
    start: int = Field(default=0, ge=0, le=1000)
    """Number of the start with the middle fitness, from 1."""
    fitness: FiniteFloat | None = None
    """None in a task without a fitness."""
    success: bool = False
    ending: str = ""
    episode_s: float = Field(default=0.0, ge=0.0)
    """Length of the whole episode [s]."""
    frame_s: float = Field(default=1.0, gt=0.0)
    step_s: float = Field(default=1.0, gt=0.0)
    """Duration of a control step [s]."""
    steps: tuple[Annotated[int, Field(ge=0)], ...] = Field(default=(), max_length=100_000)
    """Control steps before each frame."""
    so_far: tuple[FiniteFloat, ...] = ()
    """Fitness at each frame, as if the episode had ended there; empty if it cannot be measured."""
    pictured: bool = False
    """True if the environment made the pictures."""

    @property
    def seconds(self) -> float:
        """Filmed time [s]."""
        return (self.steps[-1] if self.steps else 0) * self.step_s

    def ended(self, rated: bool) -> str:
        """Return the episode's end in words, with its success where the task is rated by it."""
        success = ("success, " if self.success else "no success, ") if rated else ""
        result = f"{success}fitness {number(self.fitness)}" if self.fitness is not None else ""
        if self.episode_s > self.seconds + self.frame_s:
            return f"the episode goes on to {number(self.episode_s)} s{result and f': {result}'}"
        return f"{result and f'{result}; '}{clean(self.ending, 40)} after {number(self.episode_s)} s"


def take_of(
    folder: RunFolder,
    history: History,
    id: str,
    *,
    seed: int | None = None,
    phases: Sequence[Phase] = ("final", "search"),
) -> Take:
    """Choose the policy of a reward to film: that of the middle fitness, on the fresh seeds if trained there.

    With a `seed`, choose the training with this seed instead. `phases` are in order of preference.

    Raises:
        UsageError: The reward was not trained, or not with this seed.
        RunFolderError: Its policies are gone.
    """
    record = history.record(id)
    source = record.candidate.source if record else history.baselines.get(id, "")
    trained: dict[Phase, list[SliceResult]] = {phase: _measured(history, phase, id) for phase in phases}
    if not any(trained.values()):
        why = f": {record.outcome}" if record and record.outcome else ""
        raise UsageError(f"{id} has no policy to show, it was not trained{why}", "name a candidate that was trained")
    for phase, slices in trained.items():
        files = [each for each in slices if (folder.policies_of(phase) / str(each.policy)).is_file()]
        choices = [each for each in files if seed in (None, each.seed)]
        if choices:
            return Take(id, phase, choices[(len(choices) - 1) // 2], source)
    seeds = sorted({each.seed for slices in trained.values() for each in slices})
    if seed is not None and seed not in seeds:
        raise UsageError(f"{id} was not trained with seed {seed}", f"its seeds: {', '.join(map(str, seeds))}")
    hint = "put them back, or name another candidate"
    raise RunFolderError(f"the policies of {id} are gone from {folder.policies}", hint)


def _measured(history: History, phase: Phase, id: str) -> list[SliceResult]:
    """A reward's trainings with a policy, by fitness; without those of finals that a later one has replaced."""
    reported = history.seeds(phase, id)
    slices = [history.trained[phase, id, seed] for seed in reported if (phase, id, seed) in history.trained]
    sound = (each for each in slices if each.policy and not each.failure)
    return sorted(sound, key=lambda each: each.final_fitness or 0.0)


def shoot(
    folder: RunFolder,
    history: History,
    plans: Sequence[Plan],
    *,
    seconds: float = SECONDS,
    speed: float = 1.0,
    agreed: bool = False,
    note: Note = silent,
) -> list[Film]:
    """Make films and add them to those of the run; a policy that cannot be played gives a note instead.

    A film has at most so many `seconds`; a `speed` of 1 is real time. `note` receives progress, in a line.

    Raises:
        UsageError: The run comes from elsewhere and the user did not agree; or nothing here renders.
        RewardgenError: The task cannot be simulated, or a file cannot be written.
    """
    require_trust(history, agreed)
    place = folder.place_within(FILMS)
    if changed(history.task_files):
        note("the task has changed since the run began: its policies are filmed in the task as it is now")
    with scratch_folder() as scratch:
        takes = {take.name: take for plan in plans for take in plan.takes}
        played = play(folder, history, list(takes.values()), scratch, seconds, speed)
        for episode in played.values():
            if episode.problem:
                note(f"{episode.name} cannot be shown: {clean(episode.problem, 200)}")
        sound = {name: episode for name, episode in played.items() if not episode.problem}
        possible = [
            plan if plan.beside and plan.beside.name in sound else plan._replace(beside=None)
            for plan in plans
            if plan.take.name in sound
        ]
        paid = {name: _components(history, takes[name], episode, scratch) for name, episode in sound.items()}
        films = [_film_request(plan, sound, paid) | {"speed": speed} for plan in possible]
        if len(films) > 1:
            note(f"making {len(films)} films; Ctrl-C leaves them out")
        if films:
            render_all(films, scratch, any(episode.pictured for episode in sound.values()), note)
        for name in (plan.name for plan in possible):
            for file in (f"{name}.mp4", f"{name}.webp", f"{name}.png"):
                write_atomic(place / file, read_plain(scratch / "film" / name / file, _MOST_FILE_BYTES))
        return add_films(folder, [_filmed(plan, sound[plan.take.name]) for plan in possible])


def require_trust(history: History, agreed: bool) -> None:
    """Refuse to run the task file of a run from elsewhere.

    Raises:
        NeedsConsent: The run comes from elsewhere, and the user did not agree.
    """
    task = history.config.task
    if not (agreed or history.is_own or task in shipped_tasks()):
        raise NeedsConsent(
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
    starts: Starts = FILM_STARTS,
    pictures: bool = True,
) -> dict[str, Played]:
    """Play policies in a clean worker, which leaves model and motions in `rollout` of `scratch`; episodes by take.

    Without `pictures` it leaves the inputs of rewards only, which needs no task that can be filmed.

    Raises:
        RewardgenError: The task cannot be simulated.
    """
    unable = lay_out(folder, history, takes, scratch, starts)
    problems = {name: Played(name=name, problem=problem) for name, problem in unable.items()}
    payload = {
        "task": history.config.task,
        "folder": str(scratch / POLICIES),
        "policies": [take.name for take in takes if take.name not in problems],
        "own": [take.name for take in takes if take.id in BASELINES],
        "kinds": {kind: POLICY_KINDS.get(kind) for kind in POLICY_KINDS.names()},
        "starts": starts._asdict(),
        "seconds": seconds,
        "speed": speed,
    }
    limits = _LIMITS.model_copy(update={"sandbox": history.sandbox})
    answer: dict[str, Any] = {}
    for how in (ways := _renderers() if pictures else [""]):  # one worker each: a process can load one OpenGL only
        asked = payload | {"renderer": "glfw" if how == "cgl" else how}  # Gymnasium's name on macOS
        try:
            answer = run_worker(PLAY, asked, limits=limits, scratch=scratch / "rollout")
            break
        except TaskError:
            if how == ways[-1]:
                raise
    try:
        played = [Played.model_validate(each) for each in answer["played"]]
    except (KeyError, TypeError, ValidationError, UsageError) as error:
        raise WorkerError("the rollout worker answered out of contract") from error
    return {episode.name: episode for episode in played} | problems


def lay_out(
    folder: RunFolder, history: History, takes: Sequence[Take], scratch: Path, starts: Starts
) -> dict[str, str]:
    """Copy policies to `POLICIES` of `scratch`; those with the eyes of their reward as their actions in the episodes.

    Returns:
        Name of a take to the reason why its policy cannot be played.
    """
    policies, problems = scratch / POLICIES, {}
    policies.mkdir(exist_ok=True)
    limits = _LIMITS.model_copy(update={"sandbox": history.sandbox})
    for take in takes:
        name, path = f"{take.name}.npz", folder.policies_of(take.phase) / str(take.slice.policy)
        try:
            write_atomic(policies / name, read_plain(path, MOST_POLICY_BYTES))
        except OSError as error:
            problems[take.name] = f"its policy cannot be read: {error.strerror or error}"
            continue
        if seen_besides(take.source):
            play, place = Play(name, _reward_of(take), starts.purpose), scratch / f"act-{take.name}"
            unable = act(history.config.task, [play], policies, policies, place, limits, starts.seed, starts.episodes)
            problems |= {take.name: unable[name]} if unable else {}
    return problems


def require_films(folder: RunFolder, history: History) -> None:
    """Find out whether the policies of a run can be filmed, before there are any.

    Raises:
        UsageError: Nothing here renders.
        RewardgenError: The task has neither a MuJoCo model nor pictures, or cannot be simulated.
    """
    with scratch_folder() as scratch:
        play(folder, history, [], scratch, SECONDS)
    if history.card.body and renderer() is None:  # words on the body are a model's
        raise UsageError(NO_OPENGL, INSTALL_OPENGL)


def takes_beside(folder: RunFolder, history: History, take: Take) -> list[Take]:
    """Return the policies of a reward from all training seeds of a take's phase, by seed, the take's first."""
    slices = sorted(_measured(history, take.phase, take.id), key=lambda each: (each.seed != take.slice.seed, each.seed))
    kept = [each for each in slices if (folder.policies_of(take.phase) / str(each.policy)).is_file()]
    return [take._replace(slice=each) for each in kept]


@contextmanager
def recorded(
    folder: RunFolder, history: History, takes: Sequence[Take], seconds: float, *, priced: bool, agreed: bool = False
) -> Iterator[tuple[Path, list[Recorded]]]:
    """Play policies; yield the file of the model and the episodes, for a viewer. Those that fail are left out.

    Raises:
        RewardgenError: As for `shoot`; or none of the policies can be played.
    """
    require_trust(history, agreed)
    with scratch_folder() as scratch:
        played = play(folder, history, takes, scratch, seconds)
        sound = [(take, played[take.name]) for take in takes if not played[take.name].problem]
        if not sound:
            problem = played[takes[0].name].problem
            raise RunFolderError(f"{takes[0].id} cannot be shown: {problem}", "name another candidate")
        if sound[0][1].pictured:
            raise RunFolderError("the task has no MuJoCo model of its own to turn about", "film it: `rewardgen film`")
        place = scratch / "rollout"
        yield (
            place / SCENE,
            [
                Recorded(
                    label=f"{take.seed_words}: fitness {number(episode.fitness)}",
                    motion=place / motion_name(take.name),
                    frame_s=episode.frame_s,
                    steps=episode.steps,
                    step_s=episode.step_s,
                    components=_components(history, take, episode, scratch) if priced else {},
                )
                for take, episode in sound
            ],
        )


def _renderers() -> list[str]:
    return sorted(_RENDERERS, key=lambda how: how != os.environ.get("MUJOCO_GL"))


class _Components(Frozen):
    components: dict[Annotated[str, Field(pattern="^[A-Za-z_][A-Za-z0-9_]{0,47}$")], tuple[FiniteFloat, ...]] = Field(
        max_length=33
    )


def _reward_of(take: Take) -> RewardSpec:
    return RewardSpec(candidate_id=take.id, source=take.source, is_baseline=take.id in BASELINES)


def _components(history: History, take: Take, played: Played, scratch: Path) -> dict[str, tuple[float, ...]]:
    """Pay of each component of a reward at each frame; empty if the reward fails."""
    payload = {
        "file": str(scratch / "rollout" / f"{take.name}-steps.npz"),
        "reward": _reward_of(take).model_dump(mode="json"),
        "steps": played.steps,
        "step_s": played.step_s,
    }
    limits = _LIMITS.model_copy(
        update={"sandbox": history.sandbox, "wall_s": 120.0, "memory_bytes": 2 << 30, "answer_bytes": 32 << 20}
    )
    with suppress(RewardgenError, ValidationError):
        answer = run_worker(PRICE, payload, limits=limits, scratch=scratch / "components")
        components = _Components.model_validate(answer).components
        if all(len(values) == len(played.steps) for values in components.values()):
            return components
    return {}


def _film_request(
    plan: Plan, played: dict[str, Played], paid: dict[str, dict[str, tuple[float, ...]]]
) -> dict[str, Any]:
    """One film in the payload of `render_job`."""
    sides = [
        {
            "label": take.id,
            "detail": f"{take.seed_words}, start {played[take.name].start}",
            "components": paid[take.name],
            "so_far": played[take.name].so_far,
        }
        for take in plan.takes
    ]
    motions = [take.name for take in plan.takes]
    frame_s = played[plan.take.name].frame_s
    return {"name": plan.name, "frame_s": frame_s, "motions": motions, "sides": sides}


def render_all(films: list[dict[str, Any]], scratch: Path, pictured: bool, note: Note) -> None:
    """Make films in the first way that works here, each in a worker of its own.

    Raises:
        UsageError: OpenGL renders nothing here.
    """
    if pictured:
        return _render_by(_KEPT, films, scratch, note)
    for how in _renderers():
        with suppress(UsageError, WorkerError):
            return _render_by(how, films, scratch, note)
    raise UsageError(NO_OPENGL, INSTALL_OPENGL)


def _render_by(how: str, films: list[dict[str, Any]], scratch: Path, note: Note) -> None:
    stop, finished = threading.Event(), count(1)

    def make(film: dict[str, Any]) -> None:
        _render(film, scratch, how, stop)
        if len(films) > 1:
            note(f"film {next(finished)} of {len(films)}")

    with ThreadPoolExecutor(min(usable_cores(), len(films)), thread_name_prefix="film") as pool:
        try:
            list(pool.map(make, films))
        except BaseException:
            stop.set()
            raise


def _render(film: dict[str, Any] | None, scratch: Path, how: str, stop: threading.Event | None = None) -> str:
    """Make a film in `film/` of the scratch folder; without one, only the name of the OpenGL driver."""
    payload = {"how": how, "folder": str(scratch / "rollout"), "film": film}
    place = scratch / "film" / (film["name"] if film else "")
    answer = run_worker(RENDER, payload, limits=_LIMITS, scratch=place, cancel=stop)
    return clean(answer.get("renderer", ""), 100)


def renderer() -> str | None:
    """Name of the OpenGL driver that renders here without a display; None if there is none."""
    for how in _renderers():
        with suppress(UsageError, WorkerError), scratch_folder() as scratch:
            (scratch / "rollout").mkdir()
            return f"{how}, {_render(None, scratch, how)}"
    return None


def _filmed(plan: Plan, played: Played) -> Film:
    take = plan.take
    ended = played.ended(take.slice.final_success_rate is not None)
    start = "The start with the middle fitness" if played.fitness is not None else f"Start {played.start}"
    return Film(
        id=take.id,
        beside=plan.beside.id if plan.beside else None,
        phase=take.phase,
        seed=take.slice.seed,
        title=plan.title,
        caption=f"{start} of {FILM_STARTS.episodes}; {take.seed_words}; {ended}.",
        seconds=round(played.seconds, 3),
        fitness=played.fitness,
        success=played.success,
        pictured=played.pictured,
        name=plan.name,
    )
