"""Prompt templates as text: the shipped ones, and a user's own in their place, which may be somebody else's.

Templates are read once, as plain files within their folder, and rendered in Jinja's sandbox, in which a record gives
its fields and what we defined on it, and nothing of pydantic's.
"""

from __future__ import annotations

import hashlib
import re
import resource
import shlex
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import DictLoader, Environment, StrictUndefined
from jinja2.exceptions import SecurityError
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment
from pydantic import BaseModel

from rewardgen.core.errors import UsageError, did_you_mean
from rewardgen.core.files import read_plain
from rewardgen.core.resources import shipped

ENDING = ".md.j2"
_MOST_BYTES, _MOST_FILES = 1 << 18, 200
_MOST_MEMORY_BYTES, _LARGEST_EXPONENT = 512 << 20, 64
_WIDE = re.compile(r"\d{5}|%[-+ #0-9.]*\*")
_LIMITED = threading.RLock()


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
        eject = shlex.join(["rewardgen", "prompts", "eject", str(folder)])
        hint = f"put copies of shipped ones there with `{eject}`, and change them; a run that had its own keeps them in"
        hint += " its folder: `--prompts RUN/prompts`"
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
    intercepted_binops = frozenset({"**", "%"})

    def call_binop(self, context: Context | None, operator: str, left: Any, right: Any) -> Any:
        if operator == "%":
            if isinstance(left, str) and _WIDE.search(left):  # Python takes seconds to fill it
                raise SecurityError("a width in a format is too large")
            return left % right
        if not -_LARGEST_EXPONENT <= right <= _LARGEST_EXPONENT:
            raise SecurityError(f"an exponent of {right} is too large")
        return left**right

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        if not super().is_safe_attribute(obj, attr, value):
            return False
        if not isinstance(obj, BaseModel):
            return True
        own = [each for each in type(obj).__mro__ if each.__module__.startswith("rewardgen.")]
        return attr in type(obj).model_fields or any(attr in vars(each) for each in own)


@contextmanager
def memory_limit(templates: Templates) -> Iterator[None]:
    """Have whatever a user's templates do in this block fail where it takes much memory, of this whole process.

    A width, a repetition or a text that doubles is one of many ways to ask for it, so that it is what is limited. Only
    Linux counts it.

    Args:
        templates: Those that are read or rendered; the shipped ones have no limit.

    Raises:
        MemoryError: They take more.
    """
    if not templates.own or sys.platform != "linux":
        yield
        return
    with _LIMITED:
        soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
        pages = int(Path("/proc/self/statm").read_text().split()[5])
        most = pages * resource.getpagesize() + _MOST_MEMORY_BYTES
        given = [each for each in (soft, hard) if each != resource.RLIM_INFINITY]
        resource.setrlimit(resource.RLIMIT_DATA, (min([most, *given]), hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


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
    made.filters["format"] = lambda text, *given, **named: made.call_binop(None, "%", text, named or given)
    made.filters.update(filters)
    return made


def unknown(name: str, templates: Templates) -> UsageError:
    """What is told of a name that no template has."""
    return UsageError(f"there is no prompt `{name}`", did_you_mean(name, templates.sources))
