"""Prompt templates as text: the shipped ones, and a user's own in their place, which may be somebody else's.

Templates are read once, as plain files within their folder, and rendered in Jinja's sandbox, in which a record gives
its fields and what we defined on it, and nothing of pydantic's.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import DictLoader, Environment, StrictUndefined
from jinja2.sandbox import ImmutableSandboxedEnvironment
from pydantic import BaseModel

from rewardgen.core.errors import UsageError, did_you_mean
from rewardgen.core.files import read_plain
from rewardgen.core.resources import shipped

ENDING = ".md.j2"
_MOST_BYTES, _MOST_FILES = 1 << 18, 200


@dataclass(frozen=True, eq=False)
class Templates:
    """Every template by its name, such as `designer/draft`.

    Args:
        sources: Name to text.
        own: Names of those that are the user's.
        place: Where the user's are.
    """

    sources: Mapping[str, str]
    own: frozenset[str] = frozenset()
    place: Path | None = None

    def file(self, name: str) -> Path:
        """Where a template is, or would be."""
        folder = self.place if self.place is not None and name in self.own else shipped("prompts")
        return folder / (name + ENDING)

    def hashes(self) -> dict[str, str]:
        """A short hash of each, for a run's provenance."""
        return {name: hashlib.sha256(text.encode()).hexdigest()[:16] for name, text in sorted(self.sources.items())}


@cache
def shipped_templates() -> Templates:
    """Those that come with the package."""
    return Templates(_read(shipped("prompts")))


def with_own(folder: Path) -> Templates:
    """The shipped templates with a user's in place of those of the same name.

    Raises:
        UsageError: The folder holds none, or one that cannot be read.
    """
    known = shipped_templates().sources
    try:
        own = _read(folder)
    except OSError as error:
        raise UsageError(
            f"cannot read the prompts in {folder}: {error.strerror}", "give a folder, as `prompts eject DIR` makes one"
        ) from error
    if not own:
        hint = f"put copies of shipped ones there with `rewardgen prompts eject {folder}`, and change them"
        raise UsageError(f"there is no prompt in {folder}, where files end in `{ENDING}`", hint)
    return Templates({**known, **own}, frozenset(own), folder)


def _read(folder: Path) -> dict[str, str]:
    paths = sorted(path for path in folder.rglob(f"*{ENDING}"))[:_MOST_FILES]
    root = folder.resolve()
    texts = {}
    for path in paths:
        if not path.parent.resolve().is_relative_to(root):
            raise OSError(1, f"{path} leads out of it", str(path))
        texts[path.relative_to(folder).as_posix().removesuffix(ENDING)] = read_plain(path, _MOST_BYTES).decode()
    return texts


class _Sandbox(ImmutableSandboxedEnvironment):
    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        if not super().is_safe_attribute(obj, attr, value):
            return False
        if not isinstance(obj, BaseModel):
            return True
        own = [each for each in type(obj).__mro__ if each.__module__.startswith("rewardgen.")]
        return attr in type(obj).model_fields or any(attr in vars(each) for each in own)


def environment(templates: Templates, filters: Mapping[str, Any]) -> Environment:
    """Jinja for these templates.

    Args:
        templates: The templates.
        filters: What they may apply, by name.
    """
    made = _Sandbox(
        loader=DictLoader({name + ENDING: text for name, text in templates.sources.items()}),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,
    )
    made.filters.update(filters)
    return made


def unknown(name: str, templates: Templates) -> UsageError:
    """What is told of a name that no template has."""
    return UsageError(f"there is no prompt `{name}`", did_you_mean(name, templates.sources))
