"""A reward's text as static detectors see it, and how they tell what they found."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from rewardgen.reward.parsing import parse_source
from rewardgen.reward.scope import Scope
from rewardgen.reward.signature import ENTRY
from rewardgen.store.records import Finding, Severity, TaskCard


@dataclass(frozen=True)
class ParsedReward:
    """A reward that parses and has one entry function; parsing bounds its size and depth.

    Attributes:
        tree: The syntax.
        source: The text.
        entry: Its `compute_reward`.
        card: The task.
    """

    tree: ast.Module
    source: str
    entry: ast.FunctionDef
    card: TaskCard

    @cached_property
    def inputs(self) -> frozenset[str]:
        """Names of its inputs."""
        return frozenset(each.arg for each in self.entry.args.args)

    @cached_property
    def scope(self) -> Scope:
        """What its names stand for."""
        return Scope(self.tree)

    @cached_property
    def read(self) -> frozenset[str]:
        """All names that are read somewhere."""
        return frozenset(names_read(self.tree))


def parse_reward(source: str, card: TaskCard) -> ParsedReward | None:
    """Parse a reward; None if that fails, or if it has not exactly one entry function.

    Args:
        source: Any text.
        card: Its task.
    """
    tree = parse_source(source)
    if isinstance(tree, Finding):
        return None
    entries = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == ENTRY]
    return ParsedReward(tree, source, entries[0], card) if len(entries) == 1 else None


def names_read(node: ast.AST) -> set[str]:
    """Names that are read in a piece of syntax."""
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)}


def finding(
    detector: str,
    at: ast.AST | None,
    message: str,
    hint: str,
    severity: Severity = "warn",
    evidence: Mapping[str, float] | None = None,
) -> Finding:
    """A finding of the gate `static`.

    Args:
        detector: Its name.
        at: Where it is seen.
        message: What, after "the reward".
        hint: The fix.
        severity: `reject` only for what surely is wrong.
        evidence: The numbers that the message rests on, by name.
    """
    return Finding(
        gate="static",
        detector=detector,
        severity=severity,
        message=f"the reward {message}",
        hint=hint,
        line=getattr(at, "lineno", None),
        evidence=dict(evidence or {}),
    )
