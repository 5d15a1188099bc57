"""Collecting the refusals of the reward language, each with its line and what to write instead."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from rewardgen.core.errors import nearest
from rewardgen.reward.vocabulary import INSTEAD, NO_REACH
from rewardgen.store.records import Finding

_MAX_FINDINGS = 20

_MAKE_NEW = "make a new tensor, as with `torch.where(...)` or `x.clone()` first; inputs are never changed"
_IN_SCOPE = "remove it: `torch`, `math`, `F`, `np` and `tolerance` are in scope"
_LISTED = "write it with elementwise torch functions"


class Refusals(ast.NodeVisitor):
    """A visitor of a reward's syntax tree that collects refusals."""

    def __init__(self) -> None:
        self._findings: list[Finding] = []

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The first refusals, in the order of their lines."""
        return tuple(sorted(self._findings, key=lambda finding: finding.line or 0)[:_MAX_FINDINGS])

    def refuse(self, node: ast.AST, detector: str, message: str, hint: str) -> None:
        """Refuse a construct.

        Args:
            node: Where it is.
            detector: Stable name of the rule.
            message: What the reward does there, to follow "the reward".
            hint: What to write instead.
        """
        line = getattr(node, "lineno", None)
        self._findings.append(
            Finding(
                gate="language",
                detector=detector,
                severity="reject",
                message=f"the reward {message}",
                hint=hint,
                line=line,
            )
        )

    def refuse_name(self, node: ast.AST, detector: str, name: str, valid: Iterable[str], form: str = "`{}`") -> None:
        """Refuse a name that the language does not have, with what is usually meant, or the nearest one that it has.

        Args:
            node: Where it is.
            detector: Stable name of the rule.
            name: The name, dotted where it is reached from a module.
            valid: The names that could stand there.
            form: How names of this kind are shown.
        """
        first, last = name.split(".")[0], name.split(".")[-1]
        instead = NO_REACH if "__" in last else INSTEAD.get(last) or INSTEAD.get(first)
        if instead is None and last.endswith("_"):
            instead = "use the function without the `_` at its end, and give the result a name"
        close = nearest(name, valid) if instead is None else None
        hint = instead or (f"did you mean {form.format(close)}?" if close else _LISTED)
        self.refuse(node, detector, f"uses {form.format(name)}, which is not in the reward language", hint)

    def refuse_import(self, node: ast.AST, name: str) -> None:
        """Refuse an import of a module or name."""
        instead = INSTEAD.get(name.split(".")[0], _IN_SCOPE)
        self.refuse(node, "forbidden-import", f"imports `{name}`", instead)

    def refuse_change(self, node: ast.AST, how: str) -> None:
        """Refuse a change in place of something that the function did not make."""
        self.refuse(node, "changes-input", f"changes a value that it did not make, by {how}", _MAKE_NEW)
