"""The language of drafted tasks: the part of a task file that a language model may write.

A class whose body declares quantities of the robot, settings in literals, and a metric in the reward language. Each
statement is checked by its syntax tree, and nothing is executed here. Loading an accepted file only makes such objects,
so a drafted file can do no more than a reward can. Loads no torch.
"""

from __future__ import annotations

import ast
import copy
import re
import textwrap
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from rewardgen.core.errors import nearest
from rewardgen.core.text import plain, quoted
from rewardgen.reward.extraction import extract_class
from rewardgen.reward.language import check_language
from rewardgen.reward.parsing import MAX_FINDINGS, parse_source
from rewardgen.reward.signature import ENTRY, check_signature
from rewardgen.reward.vocabulary import words
from rewardgen.store.records import Finding
from rewardgen.tasks.protocol import METRIC, metric_input_names

QUANTITIES = {
    "Body": ("position", "height", "velocity", "local_velocity", "angular_velocity", "upright", "heading", "turns"),
    "Site": ("position", "height", "velocity"),
    "Geom": ("position", "height", "velocity"),
    "CentreOfMass": ("position", "velocity"),
    "Hinge": ("angle", "velocity", "torque"),
    "Slide": ("position", "velocity", "force"),
    "Tendon": ("length", "velocity"),
    **dict.fromkeys(("Distance", "Direction", "Touching", "ContactForce", "Energy", "Effort", "Sensor"), ()),
}
"""Classes that declare a variable, with the attributes to choose from; none if the class is the variable itself."""
_SETTINGS = {
    "episode_steps": int,
    "start": dict,
    "keyframe": str,
    "start_noise": float,
    "success_terminates": bool,
    "sees_place": bool,
    "best_fitness": float,
}
_DECLARED = {"ends": ("Outside",), "pairs": ("Pair",), "invariances": ("Shift", "Flip", "Wrap")}
_OURS = ("model", "frame_skip", "fitness")
RESERVED = frozenset(
    words("""
path training reads make_envs fitness success measured model_files declared model simulator frame_skip read
staticmethod needs_contact_forces current_fields edit_model reset variables observe terminated default_words
make_simulator model_file metric human_reward sparse_reward scripted action lived time torch math F np tolerance
rewardgen annotations solved_fitness slow on_device varies prepare environment_id sources packages call_problems
has_fitness has_success signals levels
""")
)
"""Names that no variable may have."""
NOT_VARIABLES = RESERVED | {*_SETTINGS, *_DECLARED}
_EPISODE = range(10, 5001)
_MOST_VARIABLES = 24
_NOTE = "`metric` is in the language of rewards: `torch`, `math`, `F` and `tolerance` are there without an import."
_UNMEASURED = "It has no metric: people or models compare films of its episodes."
_SECTION = re.compile(r"^[#>*_ \t]*(QUESTIONS|MISSES)[*_ \t]*:[*_ \t]*", re.MULTILINE)
_MOST_PROSE = 2_000


class Draft(NamedTuple):
    """A task class as a language model wrote it."""

    name: str
    source: str
    variables: dict[str, str]
    """Name of each variable to the expression that declares it."""
    metric: str
    """Source of the metric, as a reward; empty in a task without a fitness."""
    settles: int
    """Line of the class after which the model is inserted."""
    uses: tuple[str, ...]
    """Names to import from `rewardgen`."""
    questions: str = ""
    """The author's questions."""
    misses: str = ""
    """Blind spots of the metric, by its author."""

    def file(self, title: str, model: str, frame_skip: int) -> str:
        """Return the text of the task file, with `title` as its docstring."""
        lines = self.source.split("\n")
        ours = ["", f"    model = {quoted(model)}", f"    frame_skip = {frame_skip}"]
        ours += [] if self.metric else ["    fitness = None"]
        body = "\n".join([*lines[: self.settles], *ours, *lines[self.settles :]])
        imports = ", ".join(sorted({*self.uses, "MujocoTask"}))
        note = _NOTE if self.metric else _UNMEASURED
        head = f'"""{plain(title)}\n\n{note}\n"""\n\nfrom __future__ import annotations\n'
        return f"{head}\nfrom rewardgen import {imports}\n\n\n{body}\n"


def read_draft(reply: str, *, measured: bool = True) -> Draft | tuple[Finding, ...]:
    """Return the task in a language model's reply, with a metric if it is `measured`, or the reasons against it."""
    source = extract_class(reply)
    if not source:
        return (_refusal("holds no class", "answer with one Python block that defines the class of the task"),)
    if source.split("\n") != [*source.splitlines(), *([""] if source.endswith("\n") else [])]:
        return (_refusal("has line ends that Python does not count", "end lines with a newline only"),)
    tree = parse_source(source)
    if isinstance(tree, Finding):
        return (_about_task(tree),)
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    findings = [*_outside(tree)]
    if len(classes) != 1:
        findings.append(_refusal(f"defines {len(classes)} classes", "define one, which derives from `MujocoTask`"))
        return tuple(findings)
    reader = _Reader(classes[0], source, measured)
    findings += islice(reader.read(), MAX_FINDINGS)
    if findings:
        return tuple(findings[:MAX_FINDINGS])
    if not _is_what_was_checked(reader.draft, classes[0]):
        return (_refusal("is written in an unusual way", "put every statement on lines of its own", classes[0]),)
    sections = _sections(reply)
    return reader.draft._replace(questions=sections.get("QUESTIONS", ""), misses=sections.get("MISSES", ""))


def _is_what_was_checked(draft: Draft, node: ast.ClassDef) -> bool:
    """Return whether the file to write and the metric to run have the syntax tree that was checked."""
    try:
        module = ast.parse(draft.file("Title.", "model.xml", 1))
        metrics = ast.parse(draft.metric).body
    except (SyntaxError, ValueError):
        return False
    kinds = [type(statement) for statement in module.body]
    written = module.body[-1]
    if kinds != [ast.Expr, ast.ImportFrom, ast.ImportFrom, ast.ClassDef] or not isinstance(written, ast.ClassDef):
        return False
    ours = ["model = 'model.xml'", "frame_skip = 1", *([] if draft.metric else ["fitness = None"])]
    settings, written.body[1 : 1 + len(ours)] = written.body[1 : 1 + len(ours)], []
    checked = [copy.deepcopy(statement) for statement in node.body if isinstance(statement, ast.FunctionDef)]
    for function in checked:
        function.name, function.decorator_list = ENTRY, []
    for function in (*metrics, *checked):  # docstrings differ in indentation
        assert isinstance(function, ast.FunctionDef)
        function.body = function.body[1:] if _is_text(function.body[0]) else function.body
    return (
        [ast.unparse(statement) for statement in settings] == ours
        and ast.dump(written) == ast.dump(node)
        and [ast.dump(function) for function in metrics] == [ast.dump(function) for function in checked]
    )


def _outside(tree: ast.Module) -> Iterator[Finding]:
    """Reject statements beside the class, but for imports, which are dropped."""
    for node in tree.body:
        if not isinstance(node, ast.ClassDef | ast.Import | ast.ImportFrom) and not _is_text(node):
            yield _refusal("holds more than a class", "put everything into the class, or leave it out", node)


class _Reader:
    """Reads the class `node` of a task, with a metric if it is `measured`, from `source`."""

    def __init__(self, node: ast.ClassDef, source: str, measured: bool) -> None:
        self._node, self._metrics = node, int(measured)
        self._lines = source.split("\n")[node.lineno - 1 : node.end_lineno]
        self._before = node.lineno - 1
        self._variables: dict[str, str] = {}
        self._uses: set[str] = set()
        self._metric = ""
        self._settles = 1

    @property
    def draft(self) -> Draft:
        """The task as read."""
        text = "\n".join(self._lines)
        uses = tuple(sorted(self._uses))
        return Draft(self._node.name, text, self._variables, self._metric, self._settles, uses)

    def read(self) -> Iterator[Finding]:
        """Yield the faults of the class, statement by statement."""
        node = self._node
        plain = len(node.bases) == 1 and isinstance(node.bases[0], ast.Name) and node.bases[0].id == "MujocoTask"
        if not plain or node.decorator_list or node.keywords or getattr(node, "type_params", None):
            hint = "write `class Name(MujocoTask):`, without anything above it"
            yield _refusal("defines its class in an unusual way", hint, node)
        if not _is_text(node.body[0]):
            hint = "describe the robot, the goal and the frame: the designer of rewards reads it"
            yield _refusal("has a class without a docstring", hint, node)
        else:
            self._settles = (node.body[0].end_lineno or 1) - self._before
        metrics = 0
        for statement in node.body[1:] if _is_text(node.body[0]) else node.body:
            if isinstance(statement, ast.Assign):
                yield from self._assignment(statement)
            elif isinstance(statement, ast.FunctionDef) and statement.name == METRIC:
                metrics += 1
            else:
                hint = f"a draft has declarations, settings and `{METRIC}`; see the instructions for the rest"
                yield _refusal(f"has {_kind(statement)} in its class", hint, statement)
        if not 0 < len(self._variables) <= _MOST_VARIABLES:
            hint = "declare what a reward, a metric or a termination condition needs"
            yield _refusal(f"declares {len(self._variables)} variables, expected 1 to {_MOST_VARIABLES}", hint, node)
        if metrics != self._metrics:
            hint = f"write one static method `{METRIC}`" if self._metrics else "leave it out: nothing is measured"
            yield _refusal(f"defines `{METRIC}` {metrics} times", hint, node)
        for statement in node.body:
            if metrics == self._metrics and isinstance(statement, ast.FunctionDef) and statement.name == METRIC:
                yield from self._read_metric(statement)

    def _assignment(self, node: ast.Assign) -> Iterator[Finding]:
        name = node.targets[0].id if len(node.targets) == 1 and isinstance(node.targets[0], ast.Name) else ""
        if not re.fullmatch(r"[a-z][a-z0-9_]{0,40}", name) or "__" in name or name.startswith("prev_"):
            hint = "names are lower case, with letters, digits and `_`, at most 41, and do not begin with `prev_`"
            yield _refusal("assigns to an unusual name", hint, node)
        elif name in _OURS:
            yield _refusal(f"sets `{name}`", "leave it out: it is set for you", node)
        elif name == "best_fitness" and not self._metrics:
            yield _refusal(f"sets `{name}`", "leave it out: the task has no fitness", node)
        elif name in _SETTINGS:
            yield from self._setting(name, node.value)
        elif name in _DECLARED:
            yield from self._declarations(name, node.value)
        elif name in RESERVED:
            yield _refusal(f"calls a variable `{name}`", "choose another name", node)
        elif name in self._variables:
            yield _refusal(f"declares `{name}` twice", "keep one", node)
        else:
            self._variables[name] = ast.unparse(node.value)
            yield from self._quantity(name, node.value)

    def _setting(self, name: str, node: ast.expr) -> Iterator[Finding]:
        kind, value = _SETTINGS[name], _literal(node)
        if type(value) is not kind and not (kind is float and type(value) is int):
            yield _refusal(f"sets `{name}` to something else than a plain {kind.__name__}", "write a literal", node)
        elif name == "episode_steps" and value not in _EPISODE:
            hint = f"an episode has {_EPISODE.start} to {_EPISODE.stop - 1} control steps"
            yield _refusal(f"sets `{name}` to {value}", hint, node)

    def _declarations(self, name: str, node: ast.expr) -> Iterator[Finding]:
        kinds = _DECLARED[name]
        if name == "ends":
            items = node.values if isinstance(node, ast.Dict) else None
            texts = node.keys if isinstance(node, ast.Dict) else []
            wrong = any(not isinstance(_literal(text), str) for text in texts)
            form = 'write `ends = {"fell": Outside("height", low=0.5)}`'
        else:
            items = node.elts if isinstance(node, ast.Tuple | ast.List) else None
            wrong, form = False, f"write `{name} = ({kinds[0]}(...),)`"
        if items is None or wrong:
            yield _refusal(f"sets `{name}` to something else", form, node)
            return
        for item in items:
            called = item.func.id if isinstance(item, ast.Call) and isinstance(item.func, ast.Name) else ""
            if called not in kinds or not _plain_arguments(item):
                yield _refusal(f"has something else than {' or '.join(kinds)} with literals in `{name}`", form, item)
            else:
                self._uses.add(called)

    def _quantity(self, name: str, node: ast.expr) -> Iterator[Finding]:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "told":
            if len(node.args) != 1 or node.keywords or not isinstance(_literal(node.args[0]), str):
                yield _refusal(f"tells `{name}` in an unusual way", 'write `.told("what it is")` at its end', node)
            node = node.func.value
        inner, attribute, arguments = node, "", True
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):  # `.turns("y")`
            arguments, inner = _plain_arguments(node), node.func
        if isinstance(inner, ast.Attribute):
            attribute, inner = inner.attr, inner.value
        called = inner.func.id if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Name) else ""
        if called not in QUANTITIES or not arguments or not _plain_arguments(inner):
            close = nearest(called, QUANTITIES)
            hint = f"did you mean `{close}`? " if close else ""
            hint += 'declare it as an entry of the catalogue does, such as `Body("torso").height`'
            yield _refusal(f"declares `{name}` in an unusual way", hint, node)
            return
        attributes = QUANTITIES[called]
        is_called = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        if attribute not in (attributes or ("",)) or (attribute == "turns") != is_called:
            hint = f"`{called}` has {', '.join(attributes)}" if attributes else f"`{called}(...)` is a variable itself"
            yield _refusal(f"declares `{name}` as `.{attribute}`", hint, node)
            return
        self._uses.add(called)

    def _read_metric(self, node: ast.FunctionDef) -> Iterator[Finding]:
        decorators = [item.id for item in node.decorator_list if isinstance(item, ast.Name)]
        if decorators != ["staticmethod"] or len(node.decorator_list) != 1:
            yield _refusal(f"has no plain `@staticmethod` above `{METRIC}`", "write just that above it", node)
        first, last = node.lineno - 1 - self._before, (node.end_lineno or node.lineno) - self._before
        text = textwrap.dedent("\n".join(self._lines[first:last]))
        self._metric = text.replace(f"def {METRIC}", f"def {ENTRY}", 1) + "\n"
        paragraphs = (ast.get_docstring(node) or "").split("\n\n")
        if len(paragraphs) < 2 or not all(paragraph.strip() for paragraph in paragraphs[:2]):
            hint = "two paragraphs: what `fitness` measures, and when an episode is a success"
            yield _refusal(f"does not say in the docstring of `{METRIC}` what it measures", hint, node)
        inputs = metric_input_names(self._variables)
        findings = check_signature(self._metric, None) or check_language(self._metric)
        for finding in findings:
            yield _about_task(finding, node.lineno - 1)
        for argument in node.args.args:
            if argument.arg not in inputs:
                close = nearest(argument.arg, inputs)
                hint = (f"did you mean `{close}`? " if close else "") + f"a metric may read {', '.join(inputs)}"
                yield _refusal(f"has a metric that takes `{argument.arg}`, which is not there", hint, argument)


def _sections(reply: str) -> dict[str, str]:
    """Return the prose after `QUESTIONS:` and `MISSES:`, up to the code."""
    prose = reply[: reply.find("```")] if "```" in reply else reply
    heads = list(_SECTION.finditer(prose))
    ends = [head.start() for head in heads[1:]] + [len(prose)]
    texts = {head[1]: prose[head.end() : end] for head, end in zip(heads, ends, strict=False)}
    return {name: " ".join(text.strip().strip("*").split())[:_MOST_PROSE] for name, text in texts.items()}


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _literal(node: ast.expr | None) -> object:
    """Return the value of a literal of numbers, texts, and tuples, lists and dicts of them; None for anything else."""
    try:
        return ast.literal_eval(node) if node is not None else None
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None


def _plain_arguments(node: ast.expr) -> bool:
    """Return whether every argument of a call is a literal other than `None`."""
    if not isinstance(node, ast.Call):
        return False
    arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
    return all(keyword.arg for keyword in node.keywords) and all(_literal(value) is not None for value in arguments)


def _kind(node: ast.stmt) -> str:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return f"a method `{node.name}`"
    return f"`{type(node).__name__.lower()}`"


def _refusal(message: str, hint: str, node: ast.AST | None = None) -> Finding:
    return about_draft(f"the task {message}", hint, getattr(node, "lineno", None))


def about_draft(message: str, hint: str, line: int | None = None) -> Finding:
    """Return a fault for which a draft goes back to its author."""
    return Finding(gate="language", detector="draft", severity="reject", message=message, hint=hint, line=line)


def _about_task(finding: Finding, before: int = 0) -> Finding:
    """Turn a finding about a metric into one about the task."""
    message = finding.message.replace("the reward", "the metric", 1).replace(ENTRY, METRIC)
    hint = finding.hint.replace(f"`{ENTRY}`", f"`{METRIC}`")
    line = finding.line + before if finding.line else None
    return finding.model_copy(update={"message": message, "hint": hint, "line": line})
