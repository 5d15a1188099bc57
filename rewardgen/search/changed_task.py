"""A run whose task file was changed on purpose: whether what it knows still holds, because only the judging changed."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, cast

from rewardgen.core.config import RunConfig
from rewardgen.core.errors import RunFolderError
from rewardgen.sandbox.folders import scratch_folder
from rewardgen.search.assembly import measuring
from rewardgen.store.history import ChangedTask
from rewardgen.store.records import TaskCard, Training
from rewardgen.store.run_folder import RunFolder
from rewardgen.training.cache import get_or_record_transitions
from rewardgen.training.setup import card_for

_FACTS = "facts.npy"
_ALIKE = (
    *("action_size", "action_parts", "action_low", "action_high", "observation_size"),
    *("control_step_s", "episode_steps", "termination_causes", "success_terminates"),
)
"""Fields of a card that tell of physics; its other numbers are measured, its texts are for the designer."""


def measured_anew(
    folder: RunFolder, config: RunConfig, card: TaskCard, training: Training, baselines: Mapping[str, str]
) -> ChangedTask:
    """A changed task, if a run can go on with it: the same variables, episodes and transitions, judged differently.

    Args:
        folder: The run's.
        config: Of the run.
        card: Of the task as it was.
        training: Of the run.
        baselines: The task's own rewards as they were.

    Raises:
        RunFolderError: More has changed than the fitness; says what.
        TaskError: The task cannot be simulated.
    """
    with scratch_folder() as scratch:
        path = scratch / folder.transitions.name
        task = get_or_record_transitions(config.task, path, measuring(config))
        found = [*_in_cards(card, task.card), *_in_transitions(folder.transitions, path)]
    found += ["the human or the sparse reward"] if dict(baselines) != task.baselines else []
    if found:
        raise RunFolderError(
            f"more than the fitness of {card.name} has changed since the run began: {', '.join(found)}",
            "start a new run: what was trained before cannot be compared with what would be trained now",
        )
    return ChangedTask(card=card_for(training.trainer, task, training.env_steps, config.seeds), task_files=task.files)


def _in_cards(before: TaskCard, now: TaskCard) -> Iterator[str]:
    """What differs in two cards, of what physics decides."""
    old, new = (
        {each.name: each.model_copy(update={"meaning": ""}) for each in card.variables} for card in (before, now)
    )
    yield from (f"the variable {name}" for name in (old | new) if old.get(name) != new.get(name))
    yield from (f"the {name.replace('_', ' ')}" for name in _ALIKE if getattr(before, name) != getattr(now, name))
    lived = [{each.policy: (each.episode_steps, each.terminations) for each in card.probes} for card in (before, now)]
    if lived[0] != lived[1]:
        yield "how episodes end"


def _in_transitions(before: Path, now: Path) -> Iterator[str]:
    """What differs in two files of recorded transitions, bit for bit; of their facts only what policies saw."""
    try:
        with zipfile.ZipFile(before) as old, zipfile.ZipFile(now) as new:
            sizes = [{each.filename: each.file_size for each in file.infolist()} for file in (old, new)]
            names = [name for name in sizes[1] if name != _FACTS]
            if any(sizes[0].get(name) != sizes[1][name] for name in names) or len(sizes[0]) != len(sizes[1]):
                yield "the recorded transitions"
                return
            differing = [name for name in names if old.read(name) != new.read(name)]
            yield from (f"the recorded transitions of {name.removesuffix('.npy')}" for name in differing)
            if _observations(old) != _observations(new):
                yield "what a policy observes"
    except FileNotFoundError as error:
        raise RunFolderError(
            f"{before} is gone: nothing tells whether the task's physics is as it was", "start a new run"
        ) from error
    except (OSError, ValueError, LookupError, AttributeError, MemoryError, zipfile.BadZipFile) as error:
        raise RunFolderError(f"cannot read the recorded transitions {before}: {error}", "start a new run") from error


def _observations(file: zipfile.ZipFile) -> str:
    import numpy as np  # not at the top of the module, for the commands that only list or explain

    with file.open(_FACTS) as member:
        array = np.lib.format.read_array(cast("IO[bytes]", member), allow_pickle=False)
    return json.loads(str(array)).get("observations", "")
