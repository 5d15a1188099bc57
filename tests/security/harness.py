"""Running an attack with layer 1 switched off, in a worker or without any layer, and what is then seen from outside."""

import json
import os
from pathlib import Path
from typing import Any, NamedTuple

from rewardgen.core.errors import WorkerError
from rewardgen.sandbox.jobs import register
from rewardgen.sandbox.process import Limits, run_worker
from rewardgen.tasks.measure import TASK_FILES
from tests.sandbox.confined import SECRET, World, in_child, without
from tests.security import host
from tests.training.builders import POINT

_ATTACKED = register(
    "attacked", "rewardgen.training.evaluation:evaluate_job", reads=("folder",), device=("device",), inputs=TASK_FILES
)
HONEST_ANSWER = {"slices": []}
"""What the worker's job says of slices when nobody meddles: it was given none."""
TOLD = "told.json"
BEGUN = "begun"

_TASK = '''

import torch as _torch
from rewardgen import MujocoTask, Var


class Attacked(MujocoTask):
    """A point, in whose place the reward of a plain trainer runs."""

    model = "point.xml"
    episode_steps = 2
    x = Var("m", "position")

    def reset(self, sim, draw):
        return _torch.zeros(draw.num_envs, 1), draw.uniform(0.0, 1.0, 1)

    def variables(self, sim):
        if not os.path.exists("BEGUN"):
            open("BEGUN", "w").close()
            tell("TOLD", PLAY, ARGUMENTS)
        return {"x": sim.qpos[:, 0]}

    def observe(self, sim, variables):
        return sim.qpos

    def terminated(self, sim, variables):
        return {}

    def fitness(self, episode):
        return episode.lengths.float()

    def success(self, episode):
        return episode.terminated
'''


class Seen(NamedTuple):
    """What an attack left behind, as its surroundings see it."""

    world: World
    told: dict[str, Any]
    """What the attacked trainer says; empty if it could not say anything."""
    answer: object = HONEST_ANSWER
    """The result of the job; None if there was none."""
    messages: tuple[Any, ...] = ()
    failure: str = ""
    """`timeout`, `memory` or `crash` if the process was ended or ended itself."""
    words: str = ""
    """All text that came out."""


def placed(text: str, world: World) -> str:
    """A source with the places of this world."""
    places = {
        "@KEY@": world.key,
        "@OUT@": world.outside,
        "@OWN@": world.scratch,
        "@PORT@": world.port,
        "@UDP@": world.udp.getsockname()[1],
        "@ABSTRACT@": world.abstract_name[1:],
        "@VICTIM@": world.victim.pid,
    }
    for name, value in places.items():
        text = text.replace(name, str(value))
    return text


def without_layers(source: str, calls: int, world: World) -> Seen:
    """Run an attack in a forked child that nothing confines."""

    def attempt():
        os.environ["API_KEY"] = SECRET
        os.chdir(world.scratch)
        host.tell(TOLD, host.play_as_python, source, calls)

    outcome = in_child(lambda: without(world), attempt)
    return _seen(world, words=str(outcome.answer))


def in_worker(play: str, arguments: tuple[object, ...], world: World, limits: Limits, device: str = "cpu") -> Seen:
    """Run an attack in a worker process like any other, with layer 2 as the limits say and as the device has it."""
    task = _task_file(play, arguments, world)
    payload = {"task": str(task), "folder": str(world.scratch), "slices": [], "seed": 0, "episodes": 1}
    payload["device"] = device
    messages: list[Any] = []
    try:
        answer = run_worker(_ATTACKED, payload, limits=limits, scratch=world.scratch, on_message=messages.append)
    except WorkerError as error:
        words = f"{error.message} {messages}"
        return _seen(world, None, tuple(messages), error.kind, words)
    return _seen(world, answer, tuple(messages), "", f"{answer} {messages}")


def _task_file(play: str, arguments: tuple[object, ...], world: World) -> Path:
    folder = world.outside.parent / "task"
    folder.mkdir(exist_ok=True)
    (folder / "point.xml").write_text(POINT)
    parts = {"BEGUN": BEGUN, "TOLD": TOLD, "PLAY": play, "ARGUMENTS": ", ".join(map(repr, arguments))}
    text = _TASK
    for name, value in parts.items():
        text = text.replace(name, value)
    (folder / "attacked.py").write_text(Path(host.__file__).read_text() + text)
    return folder / "attacked.py"


def _seen(world, answer=HONEST_ANSWER, messages=(), failure="", words="") -> Seen:
    told = _read(world.scratch / TOLD)
    log = _read(world.scratch / "worker.log")[: 4 << 20]
    return Seen(world, _parsed(told), answer, messages, failure, f"{words} {told} {log}")


def _parsed(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):  # the attack may have written there too
        return {}
    return found if isinstance(found, dict) else {}


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
