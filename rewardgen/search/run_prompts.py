"""The prompts of a run: a user's own templates are copied into its folder, so that it goes on with the same words."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from rewardgen.core.config import RunConfig
from rewardgen.core.errors import RunFolderError, UsageError
from rewardgen.core.files import read_plain, write_atomic
from rewardgen.llm.prompts import template_versions, templates_in_use
from rewardgen.llm.templates import ENDING, with_own
from rewardgen.store.run_folder import RunFolder

_MOST_BYTES = 1 << 20


def own_prompts_of(config: RunConfig) -> Path | None:
    """The folder with the user's own templates, if the configuration names one."""
    return Path(config.prompts).expanduser() if config.prompts else None


def keep_prompts(folder: RunFolder) -> dict[str, object]:
    """Copy the user's own templates into the run's folder; what provenance says of all that are in use.

    Args:
        folder: The run's.
    """
    templates = templates_in_use()
    for name in templates.own:
        write_atomic(folder.prompts / (name + ENDING), templates.sources[name])
    return {"prompts": template_versions(), "own_prompts": sorted(templates.own), "prompt_hashes": templates.hashes()}


def kept_prompts(folder: RunFolder, config: RunConfig) -> Path | None:
    """Where a run's own templates are, if it has any.

    Raises:
        RunFolderError: They are gone.
    """
    if folder.prompts.is_dir():
        return folder.prompts
    if config.prompts:
        raise RunFolderError(f"the run's own prompts are not in {folder.prompts} any more", "put them back there")
    return None


def changed_prompts(folder: RunFolder, config: RunConfig) -> Iterator[str]:
    """What is told of prompts that are not what they were when a run began.

    Args:
        folder: The run's; its own templates are in use.
        config: Its configuration.
    """
    templates = templates_in_use()
    with suppress(OSError, ValueError, AttributeError):  # of an older run, nothing is known
        began = json.loads(read_plain(folder.provenance, _MOST_BYTES)).get("prompt_hashes", {})
        others = [name for name, found in templates.hashes().items() if name in began and began[name] != found]
        if others:
            yield f"not the prompts that the run began with: {', '.join(others)}"
    if config.prompts:
        with suppress(UsageError):
            now, names = with_own(Path(config.prompts)), sorted(templates.own)
            others = [name for name in names if now.sources.get(name) != templates.sources[name]]
            others += sorted(now.own - templates.own)
            if others:
                yield f"the prompts in {config.prompts} have changed ({', '.join(others)}); the run keeps its copies"
