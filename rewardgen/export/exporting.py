"""`export`: a reward, its policy or its environment as files that other programs use without this package.

Each kind is a function that makes files, by name; to add one, register it in `KINDS`. Whatever is written was checked:
rewards by the reward language, names by what they may be, and the rest are files of this package.
"""

from __future__ import annotations

import io
import json
import os
import re
from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, requires
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from rewardgen.core.errors import RunFolderError, UsageError
from rewardgen.core.extras import DISTRIBUTION, install_hint
from rewardgen.core.files import read_plain, write_atomic
from rewardgen.core.registry import Registry
from rewardgen.core.resources import PACKAGE
from rewardgen.export.cards import card_text
from rewardgen.export.vendor import task_source, vendored
from rewardgen.reward.export import reward_file
from rewardgen.reward.signature import read_signature
from rewardgen.sandbox.folders import scratch_folder
from rewardgen.sandbox.jobs import Job, register
from rewardgen.sandbox.process import Limits, run_worker
from rewardgen.sim.arrays import MOST_BYTES, read_arrays
from rewardgen.store.history import History
from rewardgen.store.records import TaskCard
from rewardgen.store.run_folder import MOST_POLICY_BYTES, RunFolder
from rewardgen.tasks.loading import resolve_task, shipped_tasks
from rewardgen.tasks.measure import TASK_FILES
from rewardgen.training.setup import policy_loader

_REWARD = register("export reward", "rewardgen.export.jobs:reward_job", reads=("inputs",))
_POLICY = register("export policy", "rewardgen.export.jobs:policy_job", reads=("policy",))
_TASK = register("export task", "rewardgen.export.jobs:task_job", reads=("policy",), inputs=TASK_FILES)

_LIMITS = Limits(wall_s=300.0)
_LARGEST_DIFFERENCE = 1e-6
EXPECTED = "expected.npz"
"""What `check.py` compares with."""
_SHIPPED = PACKAGE / "export" / "shipped"

Files = dict[str, str | bytes]


class Exported(NamedTuple):
    """What is exported.

    Attributes:
        folder: The run's.
        history: What is known of the run.
        id: A candidate's id, `human` or `sparse`.
        source: Its reward.
        phase: In which it was trained: `final` on the fresh seeds if it was, else `search`; empty if it was not.
        policy: The best of its policies; None if there is none.
        scratch: A folder to work in.
    """

    folder: RunFolder
    history: History
    id: str
    source: str
    phase: str
    policy: Path | None
    scratch: Path

    @property
    def card(self) -> TaskCard:
        """Of the task."""
        assert self.history.card is not None
        return self.history.card

    @property
    def trainer(self) -> str:
        """Name of the trainer."""
        return self.history.training.trainer if self.history.training else ""

    @property
    def algorithm(self) -> str:
        """The class of Stable-Baselines3 that acts as its policies do."""
        return {"sb3-sac": "SAC", "sb3-td3": "TD3"}.get(self.trainer, "PPO")

    @property
    def slug(self) -> str:
        """The task's name as a name of Python."""
        found = re.sub(r"[^a-z0-9]+", "_", self.card.name.lower()).strip("_")[:40] or "task"
        return found if found[0].isalpha() else f"task_{found}"

    def work(self, job: Job, **payload: Any) -> tuple[dict[str, Any], Path]:
        """Have a worker do a job in a folder of its own; its answer, and the folder."""
        folder = (self.scratch / job.name).resolve()
        limits = _LIMITS.model_copy(update={"sandbox": self.history.sandbox})
        return run_worker(job, {**payload, "folder": str(folder)}, limits=limits, scratch=folder), folder


class Made(NamedTuple):
    """The files of an export, and what its card says of them.

    Attributes:
        files: Path to content.
        use: In Markdown: how they are used.
        tested: In Markdown: what was tried when they were made.
        needs: Packages that they need.
    """

    files: Files
    use: str
    tested: str
    needs: tuple[str, ...]


KINDS: Registry[Callable[[Exported], Made]] = Registry("kind of export")


def export(
    folder: RunFolder, history: History, id: str, target: Path, kind: str = "torch", *, agreed: bool = False
) -> list[Path]:
    """Write a reward, its policy or its environment for other programs.

    Args:
        folder: The run's.
        history: What is known of the run.
        id: A candidate's id, `human` or `sparse`.
        target: A new or an empty folder.
        kind: One of `KINDS`.
        agreed: Whether the task file that a run from elsewhere names may be run, as the user's own code.

    Returns:
        The files.

    Raises:
        UsageError: There is no such kind or candidate, it lacks what the kind needs, or the folder is not empty.
        RewardgenError: A file cannot be read or written, or a worker failed.
    """
    make = KINDS.get(kind)
    if history.card is None:
        raise RunFolderError(f"run {folder.id} has not begun", "take another run")
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UsageError(f"{target} is there already", "name a new folder, or delete it")
    source = history.baselines[id] if id in history.baselines else _source(folder, history, id)
    if kind == "gymnasium":
        _require_agreement(folder, history, agreed)
    with scratch_folder() as scratch:
        phase, policy = _policy(folder, history, id)
        exported = Exported(folder, history, id, source, phase, policy, scratch)
        made = make(exported)
    files: Files = {**made.files, "README.md": card_text(history, id, phase, kind, made.use, made.tested, made.needs)}
    for name, content in files.items():
        write_atomic(target / name, content)
    return [target / name for name in sorted(files)]


def _source(folder: RunFolder, history: History, id: str) -> str:
    record = history.record(id)
    if record is None or not record.candidate.source:
        raise UsageError(f"{folder.id}:{id} has no code", "take another candidate, or a run that has chosen one")
    return record.candidate.source


def _require_agreement(folder: RunFolder, history: History, agreed: bool) -> None:
    task = history.config.task if history.config else ""
    if not (agreed or history.is_own or task in shipped_tasks()):
        raise UsageError(
            f"run {folder.id} was not started here, and the task file {task} would be run",
            "read that file, then add `--yes`",
        )


def _policy(folder: RunFolder, history: History, id: str) -> tuple[str, Path | None]:
    """In which phase a reward was trained, and the best of its policies there."""
    for phase in ("final", "search"):
        result = history.result(phase, id)
        if result and result.best:
            path = folder.policies / phase / str(result.best.policy)
            return phase, path if path.is_file() and not path.is_symlink() else None
    return "", None


def _shipped(name: str, **words: str) -> str:
    """A file of `shipped` with words filled in."""
    text = (_SHIPPED / name).read_text()
    for word, value in words.items():
        text = text.replace(word, value)
    return text


def _reward_words(text: str) -> dict[str, str]:
    """What a reward's file calls its two own names, in which there may be `_` added."""
    found = {name: re.findall(rf"^(?:def )?({name}_*)\b", text, re.MULTILINE)[-1] for name in _OWN_NAMES}
    return {"REWARD_AND_COMPONENTS": found["reward_and_components"], "INPUT_NAMES": found["INPUTS"]}


_OWN_NAMES = ("reward_and_components", "INPUTS")


def _priced(exported: Exported, inputs: Path, rows: int = 256) -> tuple[dict[str, Any], Path]:
    """What a worker says of a reward, and the file of its numbers, which are plain arrays.

    Raises:
        UsageError: The file of the reward computes something else than the run did.
    """
    found, folder = exported.work(_REWARD, source=exported.source, inputs=str(inputs.resolve()), rows=rows)
    if not found["difference"] <= _LARGEST_DIFFERENCE:
        raise UsageError(
            f"the reward's file differs from what the run computed by {found['difference']:.3g}",
            "please report it with the reward; its text is in its candidate's folder",
        )
    try:
        read_arrays(folder / EXPECTED)
    except (OSError, ValueError) as error:
        raise UsageError(f"the reward cannot be checked: {error}", "try it again") from error
    return found, folder / EXPECTED


def _reward_files(exported: Exported) -> tuple[Files, str, list[str]]:
    """`reward.py` and, where the run has recorded transitions, what to check it with; what was tested; components."""
    text = reward_file(exported.source)
    inputs = exported.folder.transitions
    if not inputs.is_file():
        return {"reward.py": text}, "Nothing: the run has no recorded transitions any more.", []
    found, expected = _priced(exported, inputs)
    names = [name for name in found["components"] if re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,47}", name)]
    check = _shipped("check_reward.py", **_reward_words(text))
    files: Files = {"reward.py": text, "check.py": check, EXPECTED: read_plain(expected, MOST_BYTES)}
    told = f"In {found['rows']} recorded transitions, `reward.py` gives what the run computes, to 1e-6."
    return files, f"{told} `python check.py` repeats it where you are.", names


def _torch(exported: Exported) -> Made:
    files, tested, _ = _reward_files(exported)
    words = _reward_words(str(files["reward.py"]))
    use = f"""```python
from reward import {words["INPUT_NAMES"]}, {words["REWARD_AND_COMPONENTS"]}

reward, components = {words["REWARD_AND_COMPONENTS"]}(inputs)
```

`inputs` is a dict with the variables below that `{words["INPUT_NAMES"]}` names, tensors (N,) or (N, k) for N steps."""
    return Made(files, use, tested, ("torch",))


def _terms(exported: Exported, framework: str, module: str, notes: str) -> Made:
    files, tested, names = _reward_files(exported)
    names = names or _component_names(exported)
    if not names:
        raise UsageError(
            f"what components {exported.folder.id}:{exported.id} has is not known: the run has no recorded transitions"
            " any more, and it was not trained",
            "take a candidate that was trained",
        )
    bindings = [f'            "{name}": ...,' for name in _bound(exported)]
    functions = [_TERM.format(name=name) for name in names]
    table = "TERMS = {\n" + "".join(f'    "{name}": term_{name},\n' for name in names) + "}"
    words = _reward_words(str(files["reward.py"]))
    text = _shipped(
        "reward_terms.py",
        FRAMEWORK=framework,
        TERM_MODULE=module,
        BINDINGS="\n".join(bindings),
        FURTHER_NOTES=notes,
        **words,
    )
    text = text.replace("STEP_S = 0.0", f"STEP_S = {exported.card.control_step_s!r}")
    text = text.replace("TERMS: dict[str, Any] = {}\n", "\n\n\n".join([*functions, table]) + "\n")
    files |= {"__init__.py": "", "reward_terms.py": text}
    use = f"""Put this folder where your environment's configuration can import it, then:

```python
from {exported.slug}_reward.reward_terms import reward_terms  # or whatever you call this folder

def variables(env):
    robot = env.scene["robot"].data
    return {{...}}  # each of {", ".join(f"`{each}`" for each in _bound(exported))}

cfg.rewards = reward_terms(variables)
```

You bind the variables of the table below: in their units, frames and signs. `reward_terms.py` says the rest."""
    return Made(files, use, f"{tested} {_TERMS_TESTED}", ("torch", framework))


_TERM = """def term_{name}(env: Any, variables: Variables) -> torch.Tensor:
    return _components(env, variables)["{name}"]"""
_TERMS_TESTED = (
    "The terms were tried against a stand-in for the reward manager, not against your scene: whether what you bind is"
    " what the task measures, nobody but you can check."
)


def _bound(exported: Exported) -> list[str]:
    """What has to be bound: the inputs of a reward without `prev_`, once each."""
    return list(dict.fromkeys(name.removeprefix("prev_") for name in read_signature(exported.source).inputs))


def _component_names(exported: Exported) -> list[str]:
    """As a training has told them."""
    result = exported.history.result("final", exported.id) or exported.history.result("search", exported.id)
    return list(dict.fromkeys(name for each in (result.slices if result else ()) for name in each.components))


def _mjlab(exported: Exported) -> Made:
    notes = (
        "A `scale_rewards_by_dt=False` of the environment is such a case. mjlab takes a term that is not finite for 0."
    )
    return _terms(exported, "mjlab", "mjlab.managers.reward_manager", notes)


def _isaaclab(exported: Exported) -> Made:
    notes = "A `RewardsCfg` class takes the same terms as its attributes: `speed = reward_terms(variables)['speed']`."
    return _terms(exported, "Isaac Lab", "isaaclab.managers", notes)


def _policy_files(exported: Exported, kind: str, *made: str) -> Files:
    """What a worker makes of a policy, by the names of the files, and what to check it with."""
    if exported.policy is None:
        raise UsageError(
            f"{exported.folder.id}:{exported.id} has no policy: it was not trained, or its file is gone",
            "take a candidate that was trained, such as the chosen one",
        )
    if not policy_loader(exported.history.training):
        raise UsageError("policies of another package's trainer are not exported", "take its reward: `--as torch`")
    payload = {"policy": str(exported.policy.resolve()), "kind": kind, "discount": exported.card.discount}
    _, folder = exported.work(_POLICY, **payload, algorithm=exported.algorithm)
    files: Files = {name: read_plain(folder / name, MOST_BYTES) for name in (EXPECTED, *made)}
    return files | {"check.py": _shipped("check_policy.py", ALGORITHM=exported.algorithm)}


def _sb3(exported: Exported) -> Made:
    files, name = _policy_files(exported, "sb3", "policy.zip"), exported.algorithm
    use = f"""```python
from stable_baselines3 import {name}

model = {name}.load("policy.zip")
action, _ = model.predict(observation, deterministic=True)
```

The normaliser of observations, where it has one, and the range of actions are inside the policy.
`{name}.load("policy.zip", env=env)` goes on training it, with SB3's settings"""
    if name == "PPO":
        files["policy_sb3.py"] = _shipped("sb3_policy.py")
        use += """ and a normaliser that stays as it is. Under another version of Python than that below,
give it the class: `PPO.load("policy.zip", custom_objects={"policy_class": policy_sb3.NormalisedPolicy})`"""
    kept = "" if exported.trainer == "ppo" else " What else a training learns, such as values of states, begins anew."
    return Made(files, f"{use}.{kept}", _POLICY_TESTED, ("stable-baselines3",))


def _onnx(exported: Exported) -> Made:
    if find_spec("onnx") is None:
        raise UsageError("ONNX files need the package `onnx`", install_hint("onnx"))
    files = _policy_files(exported, "onnx", "policy.onnx", "policy.pt")
    use = """```python
import onnxruntime

session = onnxruntime.InferenceSession("policy.onnx")
(actions,) = session.run(None, {"observation": observations})  # (N, O) float32 -> (N, A)
```

`torch.jit.load("policy.pt")(observations)` is the same in TorchScript. The normaliser of observations and the range of
actions are inside; actions are in units of the actuators."""
    return Made(files, use, _POLICY_TESTED, ("onnxruntime", "torch"))


_POLICY_TESTED = "`python check.py` compares actions with the run's, for 256 observations, to 1e-5."


def _gymnasium(exported: Exported) -> Made:
    reference = exported.history.config.task if exported.history.config else ""
    task, package = resolve_task(reference), f"{exported.slug}_env"
    loader = policy_loader(exported.history.training) if exported.policy else ""
    policy = {"policy": str(exported.policy.resolve())} if exported.policy and loader else {}
    found, folder = exported.work(_TASK, task=reference, **policy)
    if found["fingerprint"] != exported.card.fingerprint:
        raise UsageError(
            f"the task {reference} is not what it was in the run", "put back its files, or start a new run"
        )
    if found["reads"]:
        raise UsageError(
            f"the task reads further files: {', '.join(found['reads'])}", "export the reward alone: `--as torch`"
        )
    text = reward_file(exported.source)
    priced, rewards = _priced(exported, folder / EXPECTED, rows=10**9)
    files: Files = {f"{package}/{name}": content for name, content in vendored().items()}
    model, copied = _model_files([Path(each) for each in found["model"]]) if found["model"] else ("", {})
    files |= {f"{package}/{name}": content for name, content in copied.items()}
    needs = tuple(sorted({*_ENVIRONMENT_NEEDS, *map(str, found["needs"])}))
    words = _reward_words(text) | {
        "ENVIRONMENT_ID": f"rewardgen/{exported.slug}-v0",
        "MODEL_FILE": json.dumps(model)[1:-1],
    }
    files |= {
        f"{package}/reward.py": text,
        f"{package}/task.py": task_source(task.read_text(), task.name),
        f"{package}/__init__.py": _shipped("environment.py", **words),
        "check.py": _shipped("check_environment.py", PACKAGE=package),
        EXPECTED: _episode(folder / EXPECTED, rewards),
        "requirements.txt": "".join(f"{each}\n" for each in _required(needs)),
    }
    if policy and exported.policy:
        files |= {"policy.npz": read_plain(exported.policy, MOST_POLICY_BYTES), "policy.py": loader}
    use = f"""```python
from {package} import make_env

env = make_env()  # a gymnasium.Env; or gymnasium.make("rewardgen/{exported.slug}-v0") once it is imported
```

{_ACTS if policy else ""}Its reward is `{package}/reward.py`. `info` holds `components` and `variables` at
every step, and `fitness`, `success` and `cause` at the end of an episode. It draws nothing: `rewardgen film` shows what
a policy does. {_WRAPPED if model else ""}`{package}/_rewardgen` is copied from rewardgen."""
    acted = "the policy" if policy else "random actions"
    tested = (
        f"An episode of {found['steps']} steps with {acted}, fitness {found['fitness']:.4g}: `reward.py` gives what the"
        f" run computes, to 1e-6, in {priced['rows']} of them. `python check.py` plays it again where you are."
    )
    return Made(files, use, tested, needs)


_ACTS = """With `from policy import load` in this folder, `load().act(observation)` is what the trained policy does:
actions in actuator units.

"""
_WRAPPED = """`RewardWrapper(env)` pays the reward in another MuJoCo environment of Gymnasium
with the same model, whose observations and episodes stay its own. """
_ENVIRONMENT_NEEDS = ("gymnasium", "numpy", "pydantic", "torch")


def _required(names: tuple[str, ...]) -> list[str]:
    """The packages with the versions that this one needs of them."""
    try:
        own = {
            re.split(r"[^A-Za-z0-9_.-]", each)[0]: each for each in requires(DISTRIBUTION) or () if "extra" not in each
        }
    except PackageNotFoundError:
        own = {}
    return [own.get(name, name) for name in names]


def _model_files(files: list[Path]) -> tuple[str, Mapping[str, bytes]]:
    """Where the model is in the package, and its files, which lie to each other as they did."""
    root = Path(os.path.commonpath([each.absolute().parent for each in files]))
    places = {each: f"model/{each.absolute().relative_to(root).as_posix()}" for each in files}
    return places[files[0]], {
        place: read_plain(Path(os.path.realpath(each)), MOST_BYTES) for each, place in places.items()
    }


def _episode(played: Path, paid: Path) -> bytes:
    """What to check an environment with: the episode as it was played, and the rewards of the run in it."""
    import numpy as np

    episode, rewards = read_arrays(played), read_arrays(paid)
    kept = {name: episode[name] for name in ("observations", "actions", "fitness", "success", "seed")}
    content = io.BytesIO()
    arrays: dict[str, Any] = {**kept, "rewards": rewards["total"]}
    np.savez(content, **arrays)
    return content.getvalue()


for _name, _make in {
    "torch": _torch,
    "gymnasium": _gymnasium,
    "sb3": _sb3,
    "onnx": _onnx,
    "mjlab": _mjlab,
    "isaaclab": _isaaclab,
}.items():
    KINDS.register(_name, _make)
