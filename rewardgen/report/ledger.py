"""Costs of a run, savings by rejections and early stops, and the origin of its numbers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

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


def spent(history: History, calls: Calls) -> list[Line]:
    """Costs of a run so far."""
    trained = history.trained
    lines = [
        ("Time", duration(history.elapsed_s)),
        ("Trainings", f"{len(trained)}, of {len({id for _, id, _ in trained})} rewards"),
        ("Control steps", f"{history.spent_steps:,}{_raced(history)}"),
    ]
    usage = history.usage
    if usage.calls or history.config.model != BUILTIN:
        lines.append(("Language model calls", _usage(usage)))
        lines += [(f"… of them {role}", _usage(usage)) for role, usage in usage_by_role(calls).items()]
        lines += _designers(history, calls)
    else:
        lines.append(("Language model calls", "none: the built-in designer needs none"))
    return lines


def _raced(history: History) -> str:
    steps = history.race.env_steps if history.race else 0
    return f", {steps:,} of them to choose settings" if steps else ""


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
    if usage.calls and not usage.tokens:
        return f"{count(usage.calls, 'call')}, tokens and price not counted"
    return f"{count(usage.calls, 'call')}, {tokens(usage.tokens)} tokens{told}, {money(usage.cost_usd)}"


def saved(history: History) -> list[Line]:
    """Trainings of rejected rewards, and the remaining steps of stopped trainings."""
    seeds, steps = len(history.search_seeds), history.training.env_steps
    records = [record for id in history.ids() if (record := history.record(id))]
    rejected = [record for record in records if not record.candidate.failure and not record.verdict.accepted]
    repaired = [record for record in records if record.candidate.repairs and record.verdict.accepted]
    stops = [run.stopped for run in history.trained.values() if run.stopped]
    saved_steps = sum(stop.of_env_steps - stop.env_steps for stop in stops)
    lines = []
    if rejected:
        trainings = f"{count(len(rejected) * seeds, 'training')}, {len(rejected) * seeds * steps:,} steps not spent"
        lines.append((f"{count(len(rejected), 'reward')} rejected before any training", trainings))
    if repaired:
        trainings = f"{count(len(repaired) * seeds, 'training')} of a first version not spent"
        lines.append((f"{count(len(repaired), 'reward')} rejected, repaired and then trained", trainings))
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
    """Origin of the numbers: seeds, task, command, versions, machine."""
    card = history.card
    further = sorted({seed for phase, _, seed in history.trained if phase == "search"} - {*history.search_seeds})
    lines = [
        ("Run", f"{folder.id}, {status}"),
        (
            "Search seeds",
            f"{_listed(history.search_seeds)}{f'; of leaders also {_listed(further)}' if further else ''}",
        ),
        ("Fresh seeds", f"from {history.final_seeds[0]} on, {len(history.final_seeds)} at most"),
        ("Task", f"{card.name}, fingerprint {card.fingerprint}"),
        *_provenance(folder),
    ]
    return [(name, text) for name, text in lines if text]


def _provenance(folder: RunFolder) -> list[Line]:
    """Command, versions and machine; nothing if the file, which anybody may have written, is not as a run writes it."""
    try:
        known = json.loads(read_plain(folder.provenance, _MOST_BYTES))
        commit, sandbox = known["commit"], known["sandbox"]
        missing = ", ".join(layer["name"] for layer in sandbox["layers"] if not layer["active"])
        modified = ", with uncommitted changes" if commit and commit["modified"] else ""
        return [
            ("Command", str(known["command"])),
            ("Versions", ", ".join(f"{name} {version}" for name, version in known["packages"].items() if version)),
            ("Commit", f"{commit['id']}{modified}" if commit else ""),
            ("Machine", f"{known['platform']}, Python {known['python']}, {count(known['cores'], 'core')}"),
            ("Sandbox", f"{sandbox['mode']}, {f'without {missing}' if missing else 'all layers in force'}"),
        ]
    except (OSError, ValueError, RecursionError, LookupError, TypeError, AttributeError):
        return []


def _listed(seeds: Iterable[int]) -> str:
    return ", ".join(map(str, seeds))
