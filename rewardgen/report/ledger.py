"""Costs of a run, savings by rejections and early stops, and the origin of its numbers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from rewardgen.core.config import BUILTIN
from rewardgen.core.files import read_plain
from rewardgen.core.formatting import count, duration, money, number, tokens
from rewardgen.report.transcripts import Calls, role_of, usage_by_role
from rewardgen.store.history import History, Status
from rewardgen.store.messages import Usage
from rewardgen.store.run_folder import RunFolder
from rewardgen.view.rows import search_rows

_MOST_BYTES = 1 << 20
"""Largest provenance file."""

Line = tuple[str, str]
"""Name and amount."""


class Ledger(NamedTuple):
    """Costs and savings."""

    spent: tuple[Line, ...]
    saved: tuple[Line, ...]


def ledger_of(history: History, calls: Calls) -> Ledger:
    """The ledger of a run so far."""
    return Ledger(tuple(_spent(history, calls)), tuple(_saved(history)))


def _spent(history: History, calls: Calls) -> list[Line]:
    trained = history.trained
    lines = [
        ("Time", duration(history.elapsed_s)),
        ("Trainings", f"{len(trained)}, of {len({id for _, id, _ in trained})} rewards"),
        ("Control steps", f"{history.spent_steps:,}"),
    ]
    usage = history.usage
    if usage.calls or (history.config and history.config.model != BUILTIN):
        lines.append(("Language model calls", _usage(usage)))
        lines += [(f"… of them {role}", _usage(usage)) for role, usage in usage_by_role(calls).items()]
        lines += _designers(history, calls)
    else:
        lines.append(("Language model calls", "none: the built-in designer needs none"))
    return lines


def _designers(history: History, calls: Calls) -> list[Line]:
    """Fitness or strength that the candidates of each model reached, where several models designed in turn."""
    by_model: dict[str, list[str]] = {}
    for id in history.ids():
        designs = [call for call in calls.get(id, ()) if role_of(call) == "designer" and call.model]
        if designs:
            by_model.setdefault(designs[-1].model, []).append(id)
    return [(f"Designed by {model}", _reached(history, ids)) for model, ids in by_model.items() if len(by_model) > 1]


def _reached(history: History, ids: Sequence[str]) -> str:
    rows = search_rows(history, ids, {})
    reached = sorted((row.merit, row.id) for row in rows if row.merit is not None)
    designed = f"{count(len(ids), 'candidate')}, {len(reached)} with a {rows[0].measure}"
    mean = sum(merit for merit, _ in reached) / max(1, len(reached))
    return f"{designed}: mean {number(mean)}, best {number(reached[-1][0])} ({reached[-1][1]})" if reached else designed


def _usage(usage: Usage) -> str:
    parts = {"cached": usage.cached_tokens, "estimated": usage.estimated_tokens}
    of_them = ", ".join(f"{tokens(part)} {name}" for name, part in parts.items() if part)
    told = f" ({of_them})" if of_them else ""
    return f"{count(usage.calls, 'call')}, {tokens(usage.tokens)} tokens{told}, {money(usage.cost_usd)}"


def _saved(history: History) -> list[Line]:
    """Trainings of rejected rewards, and the remaining steps of stopped trainings."""
    if history.training is None:
        return []
    seeds, steps = len(history.search_seeds), history.training.env_steps
    records = [record for id in history.ids() if (record := history.record(id))]
    rejected = [record for record in records if not record.candidate.failure and not record.verdict.accepted]
    repaired = [record for record in records if record.candidate.repairs and record.verdict.accepted]
    stops = [run.stopped for run in history.trained.values() if run.stopped]
    saved_steps = sum(stop.of_env_steps - stop.env_steps for stop in stops)
    lines = []
    if rejected:
        saved = f"{count(len(rejected) * seeds, 'training')}, {len(rejected) * seeds * steps:,} steps not spent"
        lines.append((f"{count(len(rejected), 'reward')} rejected before any training", saved))
    if repaired:
        saved = f"{count(len(repaired) * seeds, 'training')} of a first version not spent"
        lines.append((f"{count(len(repaired), 'reward')} rejected, repaired and then trained", saved))
    if stops:
        lines.append((f"{count(len(stops), 'training')} stopped early", f"{saved_steps:,} steps not spent"))
    opened = len(history.seeds("final", history.finalists[0])) if history.finalists else 0
    if history.has_fitness and history.summary and 0 < opened < len(history.final_seeds):
        seeds_used = f"{opened} of at most {len(history.final_seeds)} fresh seeds, for each of the two compared"
        lines.append(("Finals that ended before all seeds were used", seeds_used))
    per_step = [run.wall_s / run.env_steps for run in history.trained.values() if run.env_steps and run.wall_s]
    not_spent = len(rejected) * seeds * steps + saved_steps
    if not_spent and per_step:
        worker_s = not_spent * sum(per_step) / len(per_step)
        lines.append(("In time of a training process, at this run's mean", f"about {duration(worker_s)}"))
    return lines


def origins(folder: RunFolder, history: History, status: Status) -> list[Line]:
    """Origin of the numbers: seeds, task, command, versions, machine. Files of the folder are not trusted."""
    card, provenance = history.card, _provenance(folder)
    further = sorted({seed for phase, _, seed in history.trained if phase == "search"} - {*history.search_seeds})
    packages, commit, sandbox = (_mapping(provenance.get(name)) for name in ("packages", "commit", "sandbox"))
    layers = sandbox.get("layers")
    reports = [_mapping(layer) for layer in layers] if isinstance(layers, list) else []
    missing = [str(layer.get("name")) for layer in reports if not layer.get("active")]
    in_force = f"without {', '.join(missing)}" if missing else "all layers in force"
    command = provenance.get("command")
    lines = [
        ("Run", f"{folder.id}, {status}"),
        (
            "Search seeds",
            f"{_listed(history.search_seeds)}{f'; of leaders also {_listed(further)}' if further else ''}",
        ),
        ("Fresh seeds", f"from {history.final_seeds[0]} on, {len(history.final_seeds)} at most" if card else ""),
        ("Task", f"{card.name}, fingerprint {card.fingerprint}" if card else ""),
        ("Examples for the designer", ", ".join(example.name for example in history.examples)),
        ("Command", command if isinstance(command, str) else ""),
        ("Versions", ", ".join(f"{name} {version}" for name, version in packages.items() if version)),
        (
            "Commit",
            f"{commit.get('id')}{', with uncommitted changes' if commit.get('modified') else ''}" if commit else "",
        ),
        (
            "Machine",
            f"{provenance.get('platform')}, Python {provenance.get('python')}, {provenance.get('cores')} cores"
            if provenance
            else "",
        ),
        ("Sandbox", f"{sandbox.get('mode')}, {in_force}" if sandbox else ""),
    ]
    return [(name, text) for name, text in lines if text]


def _provenance(folder: RunFolder) -> dict[str, Any]:
    try:
        return _mapping(json.loads(read_plain(folder.provenance, _MOST_BYTES)))
    except (OSError, ValueError, RecursionError):
        return {}


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _listed(seeds: Iterable[int]) -> str:
    return ", ".join(map(str, seeds))
