"""Prompts and replies of language models, by the candidate or question they are about."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from rewardgen.core.errors import RewardgenError
from rewardgen.llm.archive import ArchivedCall, read_call
from rewardgen.store.messages import Usage
from rewardgen.store.run_folder import RunFolder

_ROLES = ("designer", "critic", "analyzer")

Calls = Mapping[str, Sequence[ArchivedCall]]
"""Owner, a candidate's id or `goal` and the like, to the calls about it in their order."""


def read_calls(folder: RunFolder) -> Calls:
    """All calls of a run, failed ones included; other files are ignored."""
    by_owner: defaultdict[str, list[ArchivedCall]] = defaultdict(list)
    paths = [] if folder.calls.is_symlink() else sorted(folder.calls.glob("*.json"), key=lambda path: path.name)
    for path in paths:
        try:
            call = read_call(path)
        except RewardgenError:
            continue
        by_owner[call.request.label.split("/")[0]].append(call)
    return {owner: sorted(calls, key=_order) for owner, calls in by_owner.items()}


def _order(call: ArchivedCall) -> tuple[int, bool]:
    role = role_of(call)
    return _ROLES.index(role) if role in _ROLES else len(_ROLES), "repair" in call.request.label


def role_of(call: ArchivedCall) -> str:
    """The asking role: `designer`, `critic`, `analyzer`, or the first part of a label without an owner."""
    parts = call.request.label.split("/")
    return parts[1] if len(parts) > 2 else parts[0]


def usage_by_role(calls: Calls) -> dict[str, Usage]:
    """Usage of the calls by role."""
    usages: dict[str, Usage] = {}
    for call in (call for about in calls.values() for call in about):
        usages[role_of(call)] = usages.get(role_of(call), Usage()) + call.usage
    return usages


def call_data(call: ArchivedCall) -> dict[str, Any]:
    """A call as a page shows it."""
    usage, reply = call.usage, call.reply
    return {
        "label": call.request.label,
        "messages": [message.model_dump(exclude={"pictures"}) for message in call.request.messages],
        "reply": reply.text if reply else None,
        "model": reply.model if reply else "",
        "failure": call.failure,
        "tokens": usage.tokens,
        "cost": usage.cost_usd,
        "seconds": round(reply.latency_s, 1) if reply else None,
    }
