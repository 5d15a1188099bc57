"""`rewardgen prompts`: list, show, eject."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from rewardgen.cli.completion import prompt_names
from rewardgen.cli.output import Json, next_steps, print_json
from rewardgen.core.errors import UsageError
from rewardgen.core.files import write_atomic
from rewardgen.core.formatting import count
from rewardgen.llm.prompts import template_versions, using_prompts
from rewardgen.llm.templates import ENDING, Templates, shipped_templates, unknown
from rewardgen.ui.console import messages, results
from rewardgen.ui.tables import plain_table

Prompts = Annotated[Path | None, Parameter(name="--prompts", help="Folder with templates of your own, to look at too.")]
Name = Annotated[str, Parameter(help="Name of a prompt, such as `designer/draft`.", completer=prompt_names)]


def list_all(*, prompts: Prompts = None, json: Json = False) -> int:
    """List the prompts."""
    with using_prompts(prompts) as templates:
        versions = template_versions()
    rows = [
        {"name": name, "version": version, "about": _about(templates, name), "path": str(templates.file(name))}
        for name, version in versions.items()
    ]
    if json:
        print_json({"prompts": rows})
        return 0
    table = plain_table("prompt", "version", "about")
    for row in rows:
        table.add_row(row["name"], f"{row['version']}{' (own)' if row['name'] in templates.own else ''}", row["about"])
    results().print(table)
    next_steps(
        ("prompts show designer/draft", "one of them"),
        ("prompts eject my_prompts", "copies to change, for `--prompts my_prompts`"),
    )
    return 0


def show(name: Name, /, *, prompts: Prompts = None, json: Json = False) -> int:
    """Show a prompt as it is before it is filled in."""
    with using_prompts(prompts) as templates:
        if name not in templates.sources:
            raise unknown(name, templates)
        text = templates.sources[name]
    if json:
        print_json({"name": name, "path": str(templates.file(name)), "text": text})
    else:
        results().print_data(text.rstrip("\n"))
    return 0


def eject(
    folder: Annotated[Path, Parameter(help="Where to put the copies.")],
    /,
    *names: Annotated[str, Parameter(help="Names of prompts; all if not given.", completer=prompt_names)],
    json: Json = False,
) -> int:
    """Copy prompts into a folder, to change them there."""
    templates = shipped_templates()
    for name in names:
        if name not in templates.sources:
            raise unknown(name, templates)
    files = {name: folder / (name + ENDING) for name in names or sorted(templates.sources)}
    for file in files.values():
        if file.exists():
            raise UsageError(f"{file} exists, and is left as it is", "name the prompts that are missing, or delete it")
    for name, file in files.items():
        write_atomic(file, templates.sources[name])
    if json:
        print_json({"files": [str(file) for file in files.values()]})
        return 0
    messages().print(
        f"{count(len(files), 'prompt')} in {folder}; what you leave as it is can be deleted", soft_wrap=True
    )
    next_steps((f"run hopper --model openai/gpt-5.1 --prompts {shlex.quote(str(folder))}", "runs with them"))
    return 0


def _about(templates: Templates, name: str) -> str:
    """What its first line says of it."""
    head = templates.sources[name].partition("\n")[0]
    return head.partition(":")[2].removesuffix("#}").strip().split(". ")[0].rstrip(".") if head.startswith("{#") else ""
