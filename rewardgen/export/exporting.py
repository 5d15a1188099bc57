"""`export`: a reward, its policy or its environment as files that work without this package.

To add a kind, register a function from `Exported` to `Export` in `KINDS`. Files are compared with the run before they
are written.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections.abc import Callable, Iterator
from importlib.metadata import requires
from importlib.util import find_spec
from itertools import groupby
from operator import attrgetter, eq, itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from rewardgen import __version__
from rewardgen.core.config import RunConfig
from rewardgen.core.errors import RewardgenError, UsageError
from rewardgen.core.extras import DISTRIBUTION
from rewardgen.core.files import read_plain, write_atomic
from rewardgen.core.formatting import count, number, percent
from rewardgen.core.registry import Registry
from rewardgen.core.resources import PACKAGE
from rewardgen.export.vendor import bases_of, task_source, vendored
from rewardgen.film.shooting import POLICIES, SECONDS, Starts, lay_out, require_trust, take_of
from rewardgen.llm.prompts import fenced
from rewardgen.reward.export import reward_file
from rewardgen.reward.stages import stage_names
from rewardgen.sandbox.folders import scratch_folder
from rewardgen.sandbox.jobs import Job, register
from rewardgen.sandbox.process import Limits, run_worker
from rewardgen.sim.arrays import MOST_BYTES, read_arrays
from rewardgen.store.history import History
from rewardgen.store.measurements import STARTS
from rewardgen.store.records import TaskCard
from rewardgen.store.run_folder import MOST_POLICY_BYTES, RunFolder
from rewardgen.tasks.loading import resolve_task
from rewardgen.tasks.measure import TASK_FILES
from rewardgen.training.artifacts import EVALUATION_SEED, evaluation_starts
from rewardgen.training.setup import policies_see, policy_loader
from rewardgen.view.facts import MEASURED, fitness_text

_REWARD = register("export reward", "rewardgen.export.jobs:reward_job", reads=("inputs",))
_POLICY = register("export policy", "rewardgen.export.jobs:policy_job", reads=("policy",))
_TASK = register("export task", "rewardgen.export.jobs:task_job", reads=("policy",), inputs=TASK_FILES)

_EPISODES = register("export episodes", "rewardgen.export.jobs:episodes_job", reads=("policies",), inputs=TASK_FILES)

_LIMITS = Limits(wall_s=900.0)
_SEED, _STARTS = 7, "export"
"""Seed of the episode that `check.py` plays again, and the purpose for which it is derived."""
EXPECTED = "expected.npz"
"""Recorded numbers that `check.py` compares with."""

_COLUMNS = ("number", "generation", "left", "right", "seed", "start", "answer", "teacher", "why", "seconds", "repeats")

Files = dict[str, str | bytes]


class Exported(NamedTuple):
    """A reward of a run, as every kind of export reads it."""

    folder: RunFolder
    history: History
    id: str
    """A candidate's id, `human` or `sparse`."""
    source: str
    policy: Path | None
    """Policy with the median fitness of the fresh seeds, or of the search without fresh seeds."""
    scratch: Path
    agreed: bool = False
    """True to run the task file of a run from elsewhere."""

    @property
    def card(self) -> TaskCard:
        """Card of the run's task."""
        return self.history.card

    @property
    def algorithm(self) -> str:
        """Class of Stable-Baselines3 whose policies act alike."""
        return {"sac": "SAC", "sb3-sac": "SAC", "sb3-td3": "TD3"}.get(self.history.training.trainer, "PPO")

    @property
    def eyes(self) -> str:
        """Words for what its policies see besides the task's observation; empty if they see no more."""
        return policies_see(self.history.training, self.source)

    @property
    def slug(self) -> str:
        """The task's name as a Python name."""
        name = re.sub(r"[^a-z0-9]+", "_", self.card.name.lower()).strip("_")[:40] or "task"
        return name if name[0].isalpha() else f"task_{name}"

    def work(self, job: Job, **payload: Any) -> tuple[dict[str, Any], Path]:
        """Run a job in a worker, and return its answer and the folder of its files."""
        folder = (self.scratch / job.name).resolve()
        limits = _LIMITS.model_copy(update={"sandbox": self.history.sandbox})
        return run_worker(job, {**payload, "folder": str(folder)}, limits=limits, scratch=folder), folder


class Export(NamedTuple):
    """Files of an export, and the texts of its README."""

    files: Files
    use: str
    """Instructions in Markdown."""
    tested: str
    needs: tuple[str, ...]
    """Packages that the files import."""


_CHOICES = {
    "policy.zip": "`action` is the number of the chosen option, counted from 0: one for each choice.",
    "policy.onnx": "Of each choice, `actions` has 1 for the chosen option and 0 for the others.",
}
KINDS: Registry[Callable[[Exported], Export]] = Registry("kind of export")


def export(
    folder: RunFolder, history: History, id: str, target: Path, kind: str = "torch", *, agreed: bool = False
) -> list[Path]:
    """Write a reward, its policy or its environment for other programs into a new or an empty folder.

    Raises:
        UsageError: The kind or candidate is unknown, the reward lacks what the kind needs, or the folder is not empty.
        RewardgenError: A file cannot be read or written, or a worker failed.
    """
    make = KINDS.get(kind)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UsageError(f"{target} exists and is not empty", "name a new folder, or delete it")
    record = history.record(id)
    source = history.baselines.get(id) or (record.candidate.source if record else "")
    if not source:
        raise UsageError(f"{folder.id}:{id} has no code", "take another candidate, or a run with a chosen one")
    if kind == "gymnasium":
        require_trust(history, agreed)
    with scratch_folder() as scratch:
        exported = Exported(folder, history, id, source, _policy(folder, history, id), scratch, agreed)
        bundle = make(exported)
    files: Files = {**bundle.files, "README.md": _readme(exported, kind, bundle)}
    for name, content in files.items():
        write_atomic(target / name, content)
    return [target / name for name in sorted(files)]


def _readme(exported: Exported, kind: str, export: Export) -> str:
    """The README of an export, in Markdown. Texts of the run cannot become markup."""
    card = exported.card
    cells = [(_code(var.name), *map(_cell, (var.unit, ", ".join(var.parts), var.meaning))) for var in card.variables]
    action_range = _cell(f"{list(card.action_low)} to {list(card.action_high)}")
    measures = f"fitness: {card.fitness}\nsuccess: {card.success}\n" if card.has_fitness else ""
    objective = f"{measures}an observation: {card.observation}"
    lines = [
        f"# {_cell(card.name)} for {kind}\n",
        f"{fenced(card.description, 'text')}\n",
        f"From run `{exported.history.run_id}`, reward `{exported.id}`, by rewardgen {__version__}.\n",
        *_trained_otherwise(exported.history.config),
        f"## Results\n\n{_results(exported.history, exported.id)}\n",
        f"## Use\n\n{export.use}\n",
        f"## Tests\n\n{export.tested} Needs Python 3.11 or later, {', '.join(map(_bounded, export.needs))}.\n",
        f"## Task\n\nA control step takes {card.control_step_s:g} s; an episode has {card.episode_steps} steps.\n",
        "| variable | unit | parts | meaning |\n|---|---|---|---|",
        *(f"| {' | '.join(row)} |" for row in cells),
        f"\n`action`: {card.action_size} entries, {_cell(', '.join(card.action_parts))}, from {action_range}.\n",
        f"{fenced(objective, 'text')}\n",
    ]
    return "\n".join(lines)


def _bounded(package: str) -> str:
    """Add the versions that rewardgen itself needs to the name of a package."""
    stated = [re.match(r"([\w.-]+)(?:\[.*?\])?([^;]*)", text) for text in requires(DISTRIBUTION) or ()]
    return package + {each[1]: each[2].strip() for each in stated if each}.get(package.partition("[")[0], "")


def _trained_otherwise(config: RunConfig) -> Iterator[str]:
    """Yield a line on training episodes that differ from the task's own."""
    options = ["--levels"] * config.levels + [f"--randomise {part}" for part in config.randomise]
    if options:
        yield f"Policies were trained with `{' '.join(options)}`; an exported environment is the task without.\n"


def _results(history: History, id: str) -> str:
    row = history.summary.row(id) if history.summary else None
    result = history.result("search", id)
    if row and row.fitness:
        fitness = f"{fitness_text(row)} (IQM, 95 % interval) over {count(row.seeds, 'fresh seed')}"
        rate = row.success_rate
    elif row and not row.failure:  # a task without a fitness
        return history.summary.conclusion if history.summary else ""
    elif result is None or result.fitness is None:
        return "Not trained to the end: no results."
    else:
        fitness = f"{number(result.fitness)} over {count(len(result.slices), 'seed')} of the search, not on fresh seeds"
        rate = result.success_rate
    success = "" if rate is None else f"\n- success rate {percent(rate)}"
    return f"- fitness {fitness}{success}\n\n{MEASURED}"


def _code(name: str) -> str:
    return f"`{re.sub('[^A-Za-z0-9_]', '', name)}`"


def _cell(text: str) -> str:
    """One line without markup."""
    return re.sub(r"([\\`*_{}\[\]<>()#+!|~&])", r"\\\1", " ".join(text.split()))


def _policy(folder: RunFolder, history: History, id: str) -> Path | None:
    try:
        take = take_of(folder, history, id)
    except RewardgenError:
        return None
    path = folder.policies_of(take.phase) / str(take.slice.policy)
    return None if path.is_symlink() else path


def _shipped(name: str, **words: str) -> str:
    text = (PACKAGE / "export" / "shipped" / name).read_text()
    for word, value in words.items():
        text = text.replace(word, value)
    return text


def _use(name: str, **words: str) -> str:
    return _shipped(name, **words).strip()


def _priced(exported: Exported, inputs: Path) -> tuple[int, Path]:
    """Compare the reward's file with the run: number of rows compared, and the file of the run's rewards there."""
    answer, folder = exported.work(_REWARD, source=exported.source, inputs=str(inputs.resolve()))
    _require_same("the reward's file", answer["difference"], 1e-6)
    return answer["rows"], folder / EXPECTED


def _require_same(name: str, difference: float, most: float) -> None:
    if not difference <= most:
        raise UsageError(f"{name} differs from the run by {difference:.3g}", "report it with the candidate's folder")


def _torch(exported: Exported) -> Export:
    files: Files = {"reward.py": reward_file(exported.source)}
    tested = "Nothing: the run's recorded transitions were deleted."
    if exported.folder.transitions.is_file():
        rows, _ = _priced(exported, exported.folder.transitions)
        tested = f"`reward.py` equals the run in {rows} recorded transitions, to 1e-6."
    call, rows = "reward, components = reward_and_components(inputs)", "N steps"
    if stage_names(exported.source):
        call = "reward, components, stage = reward_and_components(inputs, stage)  # stage None where episodes begin"
        rows = "one step of N environments"
    use = _use("torch.md", CALL=call, ROWS=rows)
    if exported.eyes:
        use += f"\n\n{exported.eyes} `seen_besides(inputs, stage)` computes them, from the inputs of `SEES`."
    return Export(files, use, tested, ("torch",))


def _acting(exported: Exported, name: str, use: str, *needs: str) -> Export:
    """Export a policy as one file, which a worker writes and compares with the run."""
    if exported.policy is None:
        raise UsageError(
            f"{exported.folder.id}:{exported.id} has no policy: it was not trained, or its file was deleted",
            "put its file back, or name another candidate",
        )
    if not policy_loader(exported.history.training):
        raise UsageError("policies of this trainer cannot be exported", "export the reward: `--as torch`")
    payload = {"policy": str(exported.policy.resolve()), "name": name, "discount": exported.card.discount}
    answer, folder = exported.work(_POLICY, **payload, algorithm=exported.algorithm)
    _require_same(name, answer["difference"], 1e-4)
    tested = f"The actions equal the run's for 256 observations, to {answer['difference']:.1g}."
    if exported.eyes:
        use += f"\n\n{exported.eyes} `seen_besides` of an export `--as torch` computes them."
    if exported.card.choices:
        use += f"\n\n{_CHOICES[name]}"
    return Export({name: read_plain(folder / name, MOST_BYTES)}, use, tested, needs)


def _sb3(exported: Exported) -> Export:
    return _acting(exported, "policy.zip", _use("sb3.md", ALGORITHM=exported.algorithm), "stable-baselines3")


def _onnx(exported: Exported) -> Export:
    if not (find_spec("onnx") and find_spec("onnxruntime")):
        raise UsageError("ONNX files need two more packages", "pip install onnx onnxruntime")
    return _acting(exported, "policy.onnx", _use("onnx.md"), "onnxruntime")


def _gymnasium(exported: Exported) -> Export:
    reference = exported.history.config.task
    task, package = resolve_task(reference), f"{exported.slug}_env"
    loader = policy_loader(exported.history.training) if exported.policy else ""
    policy = {"policy": str(_player(exported))} if loader else {}
    answer, folder = exported.work(_TASK, task=reference, seed=_SEED, starts=_STARTS, **policy)
    if answer["fingerprint"] != exported.card.fingerprint:
        raise UsageError(f"the task {reference} has changed since the run", "restore its files, or start a new run")
    if answer["reads"]:
        raise UsageError(
            f"the task reads further files: {', '.join(answer['reads'])}", "export the reward alone: `--as torch`"
        )
    rows, priced = _priced(exported, folder / EXPECTED)
    model, model_files = _model_files([Path(name) for name in answer["model"]]) if answer["model"] else ("", {})
    words = {"ENVIRONMENT_ID": f"rewardgen/{exported.slug}-v0", "MODEL_FILE": json.dumps(model)[1:-1]}
    words["WITH_EYES"] = "yes" if exported.eyes else ""
    needs = tuple(sorted({"gymnasium", "numpy", "pydantic", "torch", *map(str, answer["needs"])}))
    bases = bases_of(task.read_text())
    inside: Files = {
        **vendored([task.read_text(), *bases.values()]),
        **model_files,
        "reward.py": reward_file(exported.source),
    }
    inside |= {f"{name}.py": task_source(source, name) for name, source in bases.items()}
    inside["task.py"] = task_source(task.read_text(), task.name)
    inside |= {"__init__.py": _shipped("environment.py", **words)}
    files: Files = {f"{package}/{name}": content for name, content in inside.items()}
    files |= {
        "check.py": _shipped("check.py", PACKAGE=package),
        EXPECTED: _episode(folder / EXPECTED, priced),
        "requirements.txt": "".join(f"{_bounded(name)}\n" for name in needs),
    }
    if policy and exported.policy:
        files |= {"policy.npz": read_plain(exported.policy, MOST_POLICY_BYTES), "policy.py": loader}
    acts = "\n`from policy import load` has the trained policy: `load().act(observation)`." if policy else ""
    acts += " An action is the number of an option, or one-hot as the policy gives it." if exported.card.choices else ""
    acts += f" {exported.eyes}" if exported.eyes else ""
    has_fitness = exported.card.has_fitness
    measures = f"{', '.join(f'`{name}`' for name in answer['measures'])} and " if answer["measures"] else ""
    fitness = f", fitness {answer['fitness']:.4g}" if has_fitness else ""
    use = _use("gymnasium.md", PACKAGE=package, MEASURES=measures, ENVIRONMENT_ID=words["ENVIRONMENT_ID"]) + acts
    tested = (
        f"One episode{fitness}: `reward.py` equals the run in {rows} steps, to 1e-6. `python check.py` plays it again."
    )
    return Export(files, use, tested, needs)


def _player(exported: Exported) -> Path:
    """Return the file of a policy that acts in the task's envs: of one with eyes, its actions in the episode."""
    folder, history, scratch = exported.folder, exported.history, exported.scratch
    take = take_of(folder, history, exported.id)
    if unable := lay_out(folder, history, [take], scratch, Starts(_SEED, _STARTS, episodes=1)):
        raise UsageError(unable[take.name], "export the reward alone: `--as torch`")
    return (scratch / POLICIES / f"{take.name}.npz").resolve()


def _model_files(files: list[Path]) -> tuple[str, Files]:
    """Path of the model in the package, and the files of the model, placed among each other as they were."""
    root = Path(os.path.commonpath([path.absolute().parent for path in files]))
    places = {path: f"model/{path.absolute().relative_to(root).as_posix()}" for path in files}
    return places[files[0]], {
        place: read_plain(Path(os.path.realpath(path)), MOST_BYTES) for path, place in places.items()
    }


def _episode(played: Path, priced: Path) -> bytes:
    import numpy as np

    episode = read_arrays(played)
    arrays: dict[str, Any] = {"rewards": read_arrays(priced)["total"]}
    arrays |= {
        name: episode[name] for name in ("observations", "actions", "fitness", "success", "seed") if name in episode
    }
    content = io.BytesIO()
    np.savez(content, **arrays)
    return content.getvalue()


def _comparisons(exported: Exported) -> Export:
    comparisons = exported.history.comparisons
    if not comparisons:
        raise UsageError(
            f"run {exported.folder.id} has no comparisons", "take a run with a judge such as `--judge human`"
        )
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(_COLUMNS)
    for each in comparisons:
        repeats = "" if each.repeats is None else each.repeats
        clip, seconds = each.left, round(each.seconds, 1)
        words = (*each.ids, clip.seed, clip.start, each.answer, _no_formula(each.teacher), _no_formula(each.why))
        rows.writerow((each.number, each.generation, *words, seconds, repeats))
    use = _use("comparisons.md")
    files: Files = {"comparisons.csv": text.getvalue()}
    try:
        content, tested = _preferences(exported)
    except RewardgenError as error:  # the answers are there without their episodes
        tested = _cell(f"The episodes cannot be played again: {error.message}. {error.hint}")
        return Export(files, use, tested, ("a reader of CSV",))
    filmed = round(SECONDS / exported.card.control_step_s)
    files |= {"preferences.npz": content, "load_imitation.py": _shipped("load_imitation.py")}
    use += "\n\n" + _use("preferences.md", FILMED=str(filmed))
    return Export(files, use, tested, ("a reader of CSV", "numpy and imitation (1.0)"))


def _preferences(exported: Exported) -> tuple[bytes, str]:
    """Play the compared episodes again; return the file for `imitation`, and words on how they went."""
    folder, history = exported.folder, exported.history
    require_trust(history, exported.agreed)
    decided = [each for each in history.comparisons if each.answer != "unclear"]
    if not decided:
        raise UsageError("no answer decides", "go on with the run: `rewardgen resume`")
    place = attrgetter("candidate_id", "seed", "start")
    places, plays = sorted({place(clip) for each in decided for clip in (each.left, each.right)}), []
    for (id, seed), group in groupby(places, key=itemgetter(0, 1)):
        take = take_of(folder, history, id, seed=seed, phases=("search",))
        starts = Starts(EVALUATION_SEED, evaluation_starts(seed), STARTS)
        if unable := lay_out(folder, history, [take], exported.scratch, starts):
            raise UsageError(f"{id}: {unable[take.name]}", "put its policy back")
        plays.append((f"{take.name}.npz", starts.purpose, [start for _, _, start in group]))
    answers = {
        "left": [places.index(place(each.left)) for each in decided],
        "right": [places.index(place(each.right)) for each in decided],
        "preference": [{"left": 1.0, "right": 0.0}.get(each.answer, 0.5) for each in decided],
    }
    payload = {"task": history.config.task, "seed": EVALUATION_SEED, "episodes": STARTS, "plays": plays}
    policies = str((exported.scratch / POLICIES).resolve())
    answer, written = exported.work(_EPISODES, **payload, policies=policies, answers=answers)
    measured = [history.trained["search", id, seed].outcomes[start].steps for id, seed, start in places]
    same = sum(map(eq, answer["lengths"], measured))
    tested = f"{same} of {count(len(places), 'episode')} have the measured length when they are played again."
    return read_plain(written / EXPECTED, MOST_BYTES), tested


def _no_formula(text: str) -> str:
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


_KINDS = {"torch": _torch, "gymnasium": _gymnasium, "sb3": _sb3, "onnx": _onnx, "comparisons": _comparisons}
for _name, _make in _KINDS.items():
    KINDS.register(_name, _make)
