"""`rewardgen prompts`."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from rewardgen.cli.output import Json, next_steps, print_json
from rewardgen.core.errors import UsageError
from rewardgen.core.files import write_atomic
from rewardgen.core.formatting import count
from rewardgen.llm.prompts import ENDING, Templates, shipped_templates, template_versions, using_prompts
from rewardgen.ui.console import messages, results
from rewardgen.ui.tables import plain_table


def prompts(
    *names: Annotated[str, Parameter(help="Prompts such as `designer/draft`; all of them if none is named.")],
    own: Annotated[Path | None, Parameter(name="--prompts", help="Folder with your own templates.")] = None,
    eject: Annotated[Path | None, Parameter(help="Copy the prompts into this folder, to edit them.")] = None,
    json: Json = False,
) -> int:
    """List the prompts, show the named ones, or copy them to edit."""
    if eject is not None:
        return _eject(eject, names, json)
    with using_prompts(own) as templates:
        if not names:
            return _list(templates, json)
        texts = {name: templates.text(name) for name in names}
        if json:
            print_json({name: {"path": str(templates.file(name)), "text": text} for name, text in texts.items()})
        for text in () if json else texts.values():
            results().print_data(text.rstrip("\n"))
    return 0


def _list(templates: Templates, json: bool) -> int:
    rows = [
        {"name": name, "version": version, "about": _about(templates, name), "path": str(templates.file(name))}
        for name, version in template_versions().items()
    ]
    if json:
        print_json({"prompts": rows})
        return 0
    table = plain_table("prompt", "version", "about")
    for row in rows:
        table.add_row(row["name"], f"{row['version']}{' (own)' if row['name'] in templates.own else ''}", row["about"])
    results().print(table)
    next_steps(
        ("prompts designer/draft", "shows a prompt"),
        ("prompts --eject my_prompts", "copies them, to edit for `run --prompts my_prompts`"),
    )
    return 0


def _eject(folder: Path, names: tuple[str, ...], json: bool) -> int:
    templates = shipped_templates()
    texts = {folder / (name + ENDING): templates.text(name) for name in names or templates.sources}
    for file in texts:
        if file.exists():
            raise UsageError(f"{file} exists", "name the missing prompts, or delete the file")
    for file, text in texts.items():
        write_atomic(file, text)
    if json:
        print_json({"files": [str(file) for file in texts]})
        return 0
    messages().print(f"{count(len(texts), 'prompt')} in {folder}; delete those that you do not edit", soft_wrap=True)
    next_steps((f"run hopper --model openai/gpt-5.1 --prompts {shlex.quote(str(folder))}", "uses them"))
    return 0


def _about(templates: Templates, name: str) -> str:
    """The description in a template's first line."""
    head = templates.sources[name].partition("\n")[0]
    return head.partition(":")[2].removesuffix("#}").strip().split(". ")[0].rstrip(".") if head.startswith("{#") else ""
