"""Write a reward as a file to import: it needs only torch, and runs the source that was trained.

Every character of the file is ours, or of a source that the reward language accepts. Imports of other modules and
decorators, which have no effect in training, are comments in the file.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator
from pathlib import Path

from rewardgen.core.errors import UsageError
from rewardgen.reward import vocabulary
from rewardgen.reward.language import check_language
from rewardgen.reward.observation import OBSERVE, eyes_text, observed_names
from rewardgen.reward.parsing import parse_source
from rewardgen.reward.scope import Scope, split_module
from rewardgen.reward.signature import read_signature
from rewardgen.reward.stages import stage_names

_LEFT_OUT = "#: "
"""Prefix of a source line that is a comment in the file."""
_NUMPY = "numpy__"
"""Name of the numpy aliases; names with a double underscore are refused in rewards."""
_OURS = ("reward_and_components", "INPUTS", "SEES", "seen_besides")
_KEPT = ("torch", "math", "typing")
_HERE = Path(__file__).parent


def reward_file(source: str) -> str:
    """Write the file of a reward: `compute_reward`, the helpers in its scope, and `reward_and_components`.

    Raises:
        UsageError: The text is not in the reward language, or uses a name of the file.
    """
    if findings := check_language(source):
        raise UsageError(f"it is not written in the reward language: {findings[0].message}", findings[0].hint)
    tree = parse_source(source)
    assert isinstance(tree, ast.Module)
    scope = Scope(tree)
    for name in _OURS:
        if name in scope.variables or name in scope.functions:
            raise UsageError(f"it cannot be exported: it has a `{name}` of its own", f"rename `{name}` in the reward")
    body = _body(source, tree)
    inputs, staged = _quoted(read_signature(source).inputs), bool(stage_names(source))
    call, more = (_STAGED_CALL, ", stage") if staged else ("compute_reward(*arguments, **constants)", "")
    footer = (_STAGED if staged else _PURE).format(inputs=inputs) + _ADDED_UP.format(call=call, more=more)
    footer += _eyes(source)
    parts = (_HEADER, "\n".join(_imports(scope, tree)), *_helpers(scope, tree))
    text = "\n\n".join((*parts, _BEGINS, body, _ENDS + footer))
    try:
        compile(text, "reward.py", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        hint = "put its imports and decorators on lines of their own"
        raise UsageError(f"it cannot be written as plain Python: {error}", hint) from error
    return text


def reward_in(text: str) -> str:
    """Return the reward in a file that `reward_file` wrote, to review or train again; any other text unchanged.

    A file with added code beside its reward stays unchanged, because importing it would run that code.
    """
    _, begins, rest = text.partition(f"\n{_BEGINS}\n")
    body, ends, _ = rest.rpartition(f"\n{_ENDS}\n")
    if not (begins and ends):
        return text
    source = "".join(f"{line.removeprefix(_LEFT_OUT)}\n" for line in body.strip("\n").split("\n"))
    try:
        return source if reward_file(source) == text else text
    except UsageError:
        return text


def _eyes(source: str) -> str:
    """Return the function of what policies see besides the task's observation; empty if they see no more."""
    stages, parts, reads = stage_names(source), [], ()
    if stages:
        parts.append(f"torch.nn.functional.one_hot(stage, {len(stages)}).to(torch.float32)")
    if observed_names(source):
        reads, _ = read_signature(source).functions[OBSERVE]
        named = {"stage": "stage.clone()", "prev_action": 'inputs["action"].clone()'}
        arguments = ", ".join(named.get(name) or f'inputs["{name}"].clone()' for name in reads)
        parts.append(f"observe({arguments}).to(torch.float32)")
    names = tuple(dict.fromkeys("action" if name == "prev_action" else name for name in reads if name != "stage"))
    return _SEEN.format(sees=repr(names), text=eyes_text(source), parts=", ".join(parts)) if parts else ""


def _body(source: str, tree: ast.Module) -> str:
    """Return the source, with its dropped lines as comments."""
    lines = source.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for part in _left_out(tree):
        for index in range(part.lineno - 1, part.end_lineno or part.lineno):
            lines[index] = _LEFT_OUT + lines[index].removeprefix(_LEFT_OUT)
    return "\n".join(lines).strip("\n")


def _left_out(tree: ast.Module) -> Iterator[ast.stmt | ast.expr]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            yield from node.decorator_list
        elif isinstance(node, ast.Import | ast.ImportFrom) and _is_left_out(node):
            yield node


def _is_left_out(node: ast.Import | ast.ImportFrom) -> bool:
    names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
    return any(name.split(".")[0] not in _KEPT for name in names)


def _used(tree: ast.Module) -> set[str]:
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def _imports(scope: Scope, tree: ast.Module) -> Iterator[str]:
    """Yield imports for the modules that the reward uses without importing them at its top."""
    yield "import torch"
    imports = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom) and not _is_left_out(node)]
    bound = Scope(ast.Module(list[ast.stmt](imports), [])).imports
    for name, dotted in sorted((_predefined(scope) | scope.imports).items()):
        module, rest = split_module(dotted)
        if name not in _used(tree) or name in bound or name == "torch" or module.split(".")[0] not in _KEPT[:2]:
            continue
        line = f"from {module} import {rest}" if rest else f"import {module}"
        yield line if name == (rest or module) else f"{line} as {name}"


def _predefined(scope: Scope) -> dict[str, str]:
    bound = scope.variables | scope.functions.keys()
    return {name: module for name, module in vocabulary.PREDEFINED_MODULES.items() if name not in bound}


def _helpers(scope: Scope, tree: ast.Module) -> Iterator[str]:
    """Yield the code of `tolerance` and of numpy aliases, if the reward uses them."""
    used = _used(tree)
    if "tolerance" in used - scope.variables - scope.functions.keys():
        yield _enclosed("tolerance", "tolerance.py", "tolerance", (), _TOLERANCE_NOTE)
    aliases = {
        name: dotted.replace("numpy", _NUMPY, 1)
        for name, dotted in (_predefined(scope) | scope.imports).items()
        if name in used and dotted.split(".")[0] == "numpy"
    }
    if aliases:
        tables = ("NUMPY_ELEMENTWISE", "NUMPY_RENAMED", "NUMPY_VALUES")
        before = tuple(f"{name} = {getattr(vocabulary, name)!r}" for name in tables)
        yield _enclosed(_NUMPY, "numpy_aliases.py", "NUMPY", before, _NUMPY_NOTE)
        yield "\n".join(f"{name} = {dotted}" for name, dotted in sorted(aliases.items()))


def _enclosed(name: str, module: str, returned: str, before: tuple[str, ...], note: str) -> str:
    """Wrap a module of this package in a function, so that its names stay apart, and call it."""
    source = (_HERE / module).read_text()
    statements = [node for node in ast.parse(source).body[1:] if not _is_of_package(node)]
    imports = [ast.unparse(node) for node in statements if isinstance(node, ast.Import | ast.ImportFrom)]
    rest = [ast.get_source_segment(source, node) or "" for node in statements if not _is_import(node)]
    parts = "\n\n".join(["\n".join([*imports, *before]), *rest, f"return {returned}"])
    return f"def make_{name}__():\n" + textwrap.indent(f"{note}\n{parts}", "    ") + f"\n\n{name} = make_{name}__()"


def _is_import(node: ast.stmt) -> bool:
    return isinstance(node, ast.Import | ast.ImportFrom)


def _is_of_package(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in ("rewardgen", "__future__")


def _quoted(names: tuple[str, ...]) -> str:
    quoted = [f'"{name}"' for name in names]
    return f"({', '.join(quoted)}{',' if len(quoted) == 1 else ''})"


_HEADER = '''"""A reward, designed with rewardgen: import it, all it needs is torch.

`compute_reward` is the reward itself: from variables, tensors (N,) or (N, k), to its weighted components, whose sum is
the reward. `reward_and_components` at the end calls it by the names of its inputs and adds them up, as trainings did.
Where the inputs are not on the CPU, call `torch.set_default_device` before importing it.
"""

from __future__ import annotations'''

_BEGINS = "# --- The reward, as it was designed. ---"
_ENDS = "# --- End of the reward. ---"

_TOLERANCE_NOTE = "# `tolerance` is in scope of every reward."
_NUMPY_NOTE = "# numpy as a reward sees it: aliases of torch, with single precision as its `float`."

_PURE = '''

INPUTS = {inputs}


def reward_and_components(inputs, **constants):
    """Return the reward of N steps, (N,) float32, and its weighted components by name, (N,) each.

    Args:
        inputs: Name to tensor, (N,) or (N, k) float32, at least those of `INPUTS`. `action` is the applied one, in
            its range; `prev_x` is x one step earlier, and x itself on an episode's first step.
        **constants: Values for the keyword-only parameters of `compute_reward`.
    """
    arguments = [inputs[name].clone() for name in INPUTS]
'''

_STAGED = '''

INPUTS = {inputs}


def reward_and_components(inputs, stage=None, **constants):
    """Return the reward of one step of N envs, (N,) float32, its weighted components by name, (N,) each, and the stage.

    Args:
        inputs: Name to tensor, (N,) or (N, k) float32, at least those of `INPUTS`. `action` is the applied one, in
            its range; `prev_x` is x one step earlier, and x itself on an episode's first step.
        stage: Stage after the step before, (N,) int64, as that call returned it; 0 where an episode begins. None if
            all begin.
        **constants: Values for the keyword-only parameters of `compute_reward` and `next_stage`.
    """
    arguments = [inputs[name].clone() for name in INPUTS]
    prev_stage = torch.zeros_like(arguments[0].reshape(len(arguments[0]), -1)[:, 0], dtype=torch.int64)
    prev_stage = prev_stage if stage is None else stage.clone()

    def call(function, **stages):
        code = function.__code__
        positional, end = code.co_argcount, code.co_argcount + code.co_kwonlyargcount
        values = {{**{{name: inputs[name].clone() for name in INPUTS}}, **stages}}
        named = {{name: constants[name] for name in code.co_varnames[positional:end] if name in constants}}
        return function(*[values[name] for name in code.co_varnames[:positional]], **named)

    stage = call(next_stage, stage=prev_stage.clone()).to(torch.int64)
'''
_STAGED_CALL = "call(compute_reward, stage=stage.clone(), prev_stage=prev_stage)"

_ADDED_UP = """
    def per_step(value):
        if not isinstance(value, torch.Tensor):
            return torch.full_like(arguments[0].reshape(len(arguments[0]), -1)[:, 0], float(value), dtype=torch.float32)
        return value.to(torch.float32).expand(len(arguments[0]))

    returned = {call}
    total, parts = returned if isinstance(returned, tuple) else (None, returned)
    parts = {{name: per_step(value) for name, value in parts.items()}}
    added = sum(parts.values())
    if total is None:
        return added, parts{more}
    total = per_step(total)
    residual = total - added
    if residual.dot(residual) <= 1e-6 * total.dot(total):
        residual = torch.where(residual.abs() <= 1e-5 * torch.stack(list(parts.values())).abs().amax(0), 0.0, residual)
    return total, {{**parts, "residual": residual}}{more}
"""

_SEEN = '''

SEES = {sees}


def seen_besides(inputs, stage=None):
    """Return what policies see after the task's observation, (N, K) float32. {text}

    Takes the inputs of the last step, at least those of `SEES`, and the stage after it if the reward has stages. Where
    an episode begins: the variables of its start, `prev_x` the same as x, actions of zero, and stage 0 or None.
    """
    if stage is None:
        first = next(iter(inputs.values()))
        stage = torch.zeros(len(first), dtype=torch.int64, device=first.device)
    return torch.cat(({parts},), 1)
'''
