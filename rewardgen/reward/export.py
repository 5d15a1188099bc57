"""A reward as a file that a user imports: it needs torch alone, and computes what trainings computed.

Every character of it is either ours or of a source that the reward language accepts; what the language ignores or
reads otherwise than Python is written out by `rewardgen.reward.plain`.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator
from pathlib import Path

from rewardgen.core.errors import UsageError
from rewardgen.reward.language import check_tree
from rewardgen.reward.parsing import parse_source
from rewardgen.reward.plain import IMPORTED, NUMPY, calls_unread, plain_source
from rewardgen.reward.scope import Scope, split_module
from rewardgen.reward.signature import read_signature
from rewardgen.reward.vocabulary import NUMPY_ELEMENTWISE, NUMPY_RENAMED, PREDEFINED_MODULES
from rewardgen.store.records import Finding

_TOLERANCE = "tolerance"
_BOTH, _INPUTS = "reward_and_components", "INPUTS"
_HERE = Path(__file__).parent
_PACKAGE = "rewardgen"


def is_all_read(source: str) -> bool:
    """Whether nothing in a source that the language accepts calls something where the language never evaluates it."""
    tree = parse_source(source)
    return isinstance(tree, ast.Module) and not calls_unread(tree)


def reward_file(source: str) -> str:
    """The file of a reward: `compute_reward`, what it uses beside torch, and `reward_and_components`.

    Args:
        source: Any text.

    Raises:
        UsageError: It is not written in the reward language, or cannot be written as Python.
    """
    tree = parse_source(source)
    found = (tree,) if isinstance(tree, Finding) else check_tree(tree)
    if isinstance(tree, Finding) or found:
        raise UsageError(f"it is not written in the reward language: {found[0].message}", found[0].hint)
    inputs = read_signature(source).inputs
    try:
        body = plain_source(source, tree).strip("\n")
        scope = Scope(tree)
        footer = _renamed(_FOOTER.format(inputs=_named(inputs)), tree)
        parts = (_HEADER, "\n".join(_imports(scope, body)), *_helpers(scope, body))
        text = "\n\n".join((*parts, _BEGINS, body, _ENDS + footer))
        compile(text, "reward.py", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise UsageError(
            f"it cannot be written as plain Python: {error}", "read it in its candidate's folder"
        ) from error
    return text


def reward_in(text: str) -> str:
    """The reward alone of a file that `reward_file` made, to be reviewed or trained again; any other text as it is.

    A file in which anything stands beside its reward that we would not write there is such a text: importing it would
    run that too.

    Args:
        text: Of a file.
    """
    _, begins, rest = text.partition(f"\n{_BEGINS}\n")
    body, ends, _ = rest.rpartition(f"\n{_ENDS}\n")
    if not (begins and ends):
        return text
    own = "".join(f"{line.removeprefix(IMPORTED)}\n" for line in body.strip("\n").split("\n"))
    try:
        return own if reward_file(own) == text else text
    except UsageError:  # such as numpy in words of ours, which the language does not know either
        return text


def _used(body: str) -> set[str]:
    return {each.id for each in ast.walk(ast.parse(body)) if isinstance(each, ast.Name)}


def _imports(scope: Scope, body: str) -> Iterator[str]:
    """What binds the names of modules that the reward uses and does not import at its top."""
    yield "import torch"
    used = _used(body)
    bound = set(Scope(ast.parse(body)).imports)
    predefined = {name: module for name, module in PREDEFINED_MODULES.items() if name not in scope.variables}
    for name, dotted in sorted((predefined | scope.imports).items()):
        module, rest = split_module(dotted)
        if name not in used or name in bound or name == dotted == "torch" or module.split(".")[0] == "numpy":
            continue
        if module in ("typing", "__future__") or dotted.startswith("typing."):
            continue
        line = f"from {module} import {rest}" if rest else f"import {module}"
        yield line if name == (rest or module) else f"{line} as {name}"


def _helpers(scope: Scope, body: str) -> Iterator[str]:
    """What rewards have in scope and torch has not, as this package has it, in functions that keep its names apart."""
    used = _used(body)
    own = scope.variables | scope.functions.keys()
    if _TOLERANCE in used - own:
        yield _enclosed(f"make_{_TOLERANCE}__", "tolerance.py", (), f"return {_TOLERANCE}", _TOLERANCE_NOTE)
        yield f"{_TOLERANCE} = make_{_TOLERANCE}__()"
    predefined = {name: module for name, module in PREDEFINED_MODULES.items() if name not in own}
    names = {name: dotted for name, dotted in (predefined | scope.imports).items() if dotted.split(".")[0] == "numpy"}
    names = {name: dotted for name, dotted in names.items() if name in used}
    if names or NUMPY in used:
        words = (f"NUMPY_ELEMENTWISE = {NUMPY_ELEMENTWISE!r}", f"NUMPY_RENAMED = {NUMPY_RENAMED!r}")
        leaves = _definition("growth.py", "_MOST_ENTRIES", "leaves")
        yield _enclosed(f"make_{NUMPY}", "numpy_subset.py", (*words, *leaves), _NUMPY_RETURNED, _NUMPY_NOTE)
        bindings = [f"{name} = {dotted.replace('numpy', NUMPY, 1)}" for name, dotted in sorted(names.items())]
        yield "\n".join([f"{NUMPY} = make_{NUMPY}()", *bindings])


def _enclosed(name: str, module: str, before: tuple[str, ...], returned: str, note: str) -> str:
    """A module of this package as a function that defines all that is in it."""
    source = (_HERE / module).read_text()
    body = ast.parse(source).body
    own = [each for each in body[1:] if not _is_own_import(each)]
    imports = [ast.unparse(each) for each in own if isinstance(each, ast.Import | ast.ImportFrom)]
    rest = [_segment(source, each) for each in own if not isinstance(each, ast.Import | ast.ImportFrom)]
    parts = "\n\n".join(["\n".join([*imports, *before]), *rest, returned])
    return f"def {name}():\n" + textwrap.indent(f"{note}\n{parts}", "    ")


def _definition(module: str, *names: str) -> Iterator[str]:
    source = (_HERE / module).read_text()
    for each in ast.parse(source).body:
        targets = [each.name] if isinstance(each, ast.FunctionDef) else _targets(each)
        if set(targets) & set(names):
            yield _segment(source, each)


def _targets(node: ast.stmt) -> list[str]:
    return [each.id for each in getattr(node, "targets", []) if isinstance(each, ast.Name)]


def _segment(source: str, node: ast.stmt) -> str:
    return ast.get_source_segment(source, node) or ""


def _is_own_import(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in (_PACKAGE, "__future__")


def _named(names: tuple[str, ...]) -> str:
    quoted = [f'"{each}"' for each in names]
    return f"({', '.join(quoted)}{',' if len(quoted) == 1 else ''})"


def _renamed(footer: str, tree: ast.Module) -> str:
    """The footer with names that a reward has not given to something of its own at its top."""
    own = {each.name for each in tree.body if isinstance(each, ast.FunctionDef)}
    tops = [each for each in tree.body if not isinstance(each, ast.FunctionDef)]
    own |= {name.id for each in tops for name in ast.walk(each) if isinstance(name, ast.Name)}
    own |= {alias.asname or alias.name for each in tops for alias in getattr(each, "names", [])}
    for name in (_BOTH, _INPUTS):
        new = name
        while new in own:
            new += "_"
        footer = footer.replace(name, new)
    return footer


_HEADER = '''"""A reward, designed with rewardgen: import it, all it needs is torch.

`compute_reward` is the reward itself: from variables, tensors (N,) or (N, k), to its weighted components, whose sum is
the reward. `reward_and_components` at the end calls it by the names of its inputs and adds them up, as trainings did.
Where the inputs are not on the CPU, call `torch.set_default_device` before importing it.
"""

from __future__ import annotations'''

_BEGINS = "# --- The reward, as it was designed. ---"
_ENDS = "# --- End of the reward. ---"

_TOLERANCE_NOTE = "# `tolerance` is in scope of every reward."
_NUMPY_NOTE = (
    "# What numpy is in a reward: a small part of it, over torch tensors, with single precision as its `float`."
)
_NUMPY_RETURNED = """from types import SimpleNamespace

named = numpy_names(lambda: None)
inner = SimpleNamespace(norm=named.pop("linalg.norm"))
return SimpleNamespace(**named, linalg=inner)"""

_FOOTER = '''

INPUTS = {inputs}


def reward_and_components(inputs, **constants):
    """The reward of N steps, (N,) float32, and its weighted components by name, (N,) each.

    Args:
        inputs: Name to tensor, (N,) or (N, k) float32, at least those of `INPUTS`. `action` is what was applied, in
            its range; `prev_x` is x one step earlier, and x itself on an episode's first step.
        **constants: Values for the keyword-only parameters of `compute_reward`.
    """
    given = [inputs[name] for name in INPUTS]

    def per_step(value):
        if not isinstance(value, torch.Tensor):
            return torch.full_like(given[0].reshape(len(given[0]), -1)[:, 0], float(value), dtype=torch.float32)
        return value.to(torch.float32).expand(len(given[0]))

    returned = compute_reward(*given, **constants)
    total, parts = returned if isinstance(returned, tuple) else (None, returned)
    parts = {{name: per_step(value) for name, value in parts.items()}}
    added = sum(parts.values())
    if total is None:
        return added, parts
    total = per_step(total)
    residual = total - added  # what the components do not explain
    if residual.dot(residual) <= 1e-6 * total.dot(total):
        residual = torch.where(residual.abs() <= 1e-5 * torch.stack(list(parts.values())).abs().amax(0), 0.0, residual)
    return total, {{**parts, "residual": residual}}
'''
