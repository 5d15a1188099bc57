"""Tables of the reward language: constructs, functions, methods and attributes, and hints for everything else.

Every function here is deterministic and reaches only its arguments. Types are unknown when a reward is checked, so each
method and attribute must be harmless on tensors, dicts, lists, tuples and strings.
"""

from __future__ import annotations

import ast


def words(text: str) -> list[str]:
    """Split a text into words."""
    return text.split()


PLAIN: tuple[type[ast.AST], ...] = (
    *(ast.Load, ast.Store, ast.Expr, ast.Pass, ast.Return, ast.If, ast.Break, ast.Continue),
    *(ast.BoolOp, ast.And, ast.Or, ast.BinOp, ast.UnaryOp, ast.Compare, ast.IfExp),
    *(ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.MatMult),
    *(ast.BitAnd, ast.BitOr, ast.BitXor, ast.Invert, ast.Not, ast.UAdd, ast.USub),
    *(ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Is, ast.IsNot, ast.In, ast.NotIn),
    *(ast.Subscript, ast.Slice, ast.Tuple, ast.List, ast.Dict, ast.Starred, ast.JoinedStr),
    *(ast.ListComp, ast.DictComp, ast.GeneratorExp, ast.Assert),
)
"""Allowed everywhere; their parts are checked."""

AT_TOP_LEVEL = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.Assign, ast.AnnAssign)

ASKED_FOR = frozenset({"dim", "size", "numel", "shape", "ndim", "dtype", "device", "keys", "items", "values", "get"})
"""Methods and attributes that depend on shapes and keys, not on values: an `if` may use them."""

WHOLE_BATCH = "use a torch function over the whole batch, or a `for` over a short literal range"
"""Hint for loops that may run for long."""

_GUARD = "guard the value instead, as with `.clamp(min=1e-6)` or `torch.where`"
_PURE = "pass values as parameters and return them: a reward has no state"

REFUSED: dict[str, tuple[str, str]] = {
    "While": ("a `while` loop", WHOLE_BATCH),
    "Try": ("`try`", _GUARD),
    "Raise": ("`raise` in an unusual way", 'write `raise ValueError("...")`'),
    "ClassDef": ("a class", "write functions: `compute_reward` and helpers"),
    "Global": ("`global`", _PURE),
    "Yield": ("`yield`", "return the components in one dict"),
    "AsyncFunctionDef": ("an `async` function", "write a plain function"),
    "With": ("`with`", "drop it"),
    "Set": ("a set", "use a tuple"),
    "SetComp": ("a set", "use a list"),
    "NamedExpr": ("`:=`", "assign on a line of its own"),
    "Delete": ("`del`", "drop it"),
    "Match": ("`match`", "use `if` and `else`, or torch.where"),
    "Lambda": (
        "a lambda used as a value",
        "name it first, as in `scale = lambda x: 2.0 * x`, and call it by that name",
    ),
}
"""Class name of a construct to its name in messages and the hint."""

ELEMENTWISE = words("""
abs acos acosh add addcdiv addcmul arccos arccosh arcsin arcsinh arctan arctan2 arctanh asin asinh atan atan2 atanh
bitwise_and bitwise_not bitwise_or bitwise_xor ceil clamp clamp_max clamp_min clip copysign cos cosh deg2rad div divide
eq erf erfc exp exp2 expm1 fix float_power floor floor_divide fmax fmin fmod frac ge greater greater_equal gt heaviside
hypot isclose isfinite isinf isnan ldexp le lerp less less_equal log log10 log1p log2 logaddexp logaddexp2 logical_and
logical_not logical_or logical_xor logit lt maximum minimum mul multiply nan_to_num ne neg negative not_equal pow
rad2deg reciprocal relu remainder round rsqrt sgn sigmoid sign sin sinc sinh softmax sqrt square sub subtract tan tanh
true_divide trunc where xlogy
""")
"""Functions of torch that work element by element."""

_REDUCTIONS = words("""
all amax amin any argmax argmin argsort count_nonzero cummax cummin cumprod cumsum diff dist dot logsumexp max
mean median min mode nanmean nansum norm numel prod std sum var
""")

_PRODUCTS = words("bmm bucketize cdist cosine_similarity cross matmul mm mv outer")

_NEW = words("arange eye full full_like linspace ones ones_like scalar_tensor tensor zeros zeros_like")

_ASSEMBLED = words("cat clone concat concatenate gather flip fliplr flipud index_select roll stack tile tril triu")

_VIEWS = words("""
as_tensor atleast_1d atleast_2d broadcast_tensors broadcast_to chunk column_stack detach diag diagonal einsum flatten
hstack meshgrid movedim narrow permute ravel reshape sort split squeeze swapaxes tensor_split topk transpose unbind
unflatten unsqueeze vstack
""")

_TORCH_VALUES = words("""
bool e finfo float float16 float32 float64 double inf int int32 int64 long nan pi
""")

_FUNCTIONAL = words("""
celu cosine_similarity elu gelu hardsigmoid hardswish hardtanh huber_loss l1_loss leaky_relu log_softmax logsigmoid mish
mse_loss normalize one_hot pad pairwise_distance relu relu6 selu sigmoid silu smooth_l1_loss softmax softmin softplus
softsign tanh tanhshrink threshold
""")

_LINALG = words("cross det inv matmul matrix_norm norm vecdot vector_norm")

_MATH = words("""
acos acosh asin asinh atan atan2 atanh ceil copysign cos cosh degrees dist e erf erfc exp exp2 expm1 fabs floor fmod
hypot inf isclose isfinite isinf isnan log log10 log1p log2 nan pi pow radians remainder sin sinh sqrt tan tanh tau
trunc
""")

NUMPY_ELEMENTWISE = words("""
exp exp2 expm1 log log2 log10 log1p sqrt square sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh
deg2rad rad2deg abs sign floor ceil trunc negative reciprocal isfinite isinf isnan add subtract multiply divide
true_divide floor_divide remainder fmod arctan2 maximum minimum fmax fmin hypot copysign logaddexp float_power
not_equal greater greater_equal less less_equal logical_and logical_or logical_not logical_xor heaviside
""")
"""Functions of numpy that torch has by the same name."""

NUMPY_RENAMED = {
    **{"absolute": "abs", "fabs": "abs", "power": "pow", "mod": "remainder", "equal": "eq"},
    **{"radians": "deg2rad", "degrees": "rad2deg", "rint": "round"},
}
"""Elementwise functions of numpy to their names in torch."""

NUMPY_VALUES = {name: name for name in words("pi e inf nan float32 float64 int32 int64")} | {"bool_": "bool"}
"""Values of numpy to their names in torch."""

_NUMPY_OTHERS = words("""
where clip sum prod mean max amax min amin std var any all array asarray zeros ones zeros_like ones_like
stack concatenate nan_to_num newaxis
""")

MODULE_NAMES: dict[str, frozenset[str]] = {
    "torch": frozenset([*ELEMENTWISE, *_REDUCTIONS, *_PRODUCTS, *_NEW, *_ASSEMBLED, *_VIEWS, *_TORCH_VALUES]),
    "torch.nn.functional": frozenset(_FUNCTIONAL),
    "torch.linalg": frozenset(_LINALG),
    "math": frozenset(_MATH),
    "numpy": frozenset([*NUMPY_ELEMENTWISE, *NUMPY_RENAMED, *NUMPY_VALUES, *_NUMPY_OTHERS]),
    "numpy.linalg": frozenset(["norm"]),
}
"""Module to the names of the language in it."""

VALUES = frozenset(
    [
        *(f"torch.{name}" for name in _TORCH_VALUES if name != "finfo"),
        *(f"math.{name}" for name in ("e", "inf", "nan", "pi", "tau")),
        *(f"numpy.{name}" for name in [*NUMPY_VALUES, "newaxis"]),
    ]
)
"""Names of `MODULE_NAMES` that are values; all others can only be called."""

PREDEFINED_MODULES = {"torch": "torch", "math": "math", "F": "torch.nn.functional", "np": "numpy"}
"""Name in scope to its module; no import needed."""

IMPORTABLE = frozenset([*MODULE_NAMES, "typing", "torch.nn", "__future__"])
"""Modules that may be imported; `typing` serves annotations only, which are never evaluated."""

ANNOTATION_ONLY = frozenset(["torch.Tensor", "torch.FloatTensor", "torch.BoolTensor", "torch.jit", "numpy.ndarray"])

IGNORED_DECORATORS = frozenset(["torch.jit.script", "torch.no_grad", "torch.inference_mode", "staticmethod"])

PREDEFINED_FUNCTIONS = frozenset(["tolerance"])

TOLERANCE_PARAMETERS = ("x", "lower", "upper", "margin", "sigmoid", "value_at_margin")

BUILTINS = frozenset(
    words("""
    abs all any bool dict enumerate float int len list max min range reversed round slice sorted str sum tuple zip
    """)
)

RAISED = frozenset(["ValueError", "TypeError", "KeyError", "AssertionError", "RuntimeError", "NotImplementedError"])
"""Exceptions that a reward may raise; all of them end its call."""

_NEW_METHODS = words("new_full new_ones new_tensor new_zeros")

_VIEW_METHODS = words("""
bool contiguous detach diag diagonal double expand expand_as flatten float int long movedim narrow permute ravel reshape
select split squeeze swapaxes to transpose type_as unbind unflatten unfold unsqueeze view view_as chunk topk
""")

_IN_PLACE = words("""
add_ sub_ mul_ div_ pow_ clamp_ clamp_min_ clamp_max_ clip_ fill_ zero_ masked_fill_ neg_ abs_ exp_ log_ sqrt_ square_
tanh_ sigmoid_ relu_ sin_ cos_ round_ floor_ nan_to_num_ index_fill_
""")

_READING = words("get items keys values")

CHANGING = frozenset([*_IN_PLACE, *words("append extend insert pop update setdefault")])
"""Methods that change their object in place."""

_METHOD_ONLY = words("dim size numel index_fill masked_fill repeat repeat_interleave softmax")

_FUNCTIONS_ONLY = words("bucketize cdist cosine_similarity")

METHODS = frozenset(
    [
        *(name for name in ELEMENTWISE + _REDUCTIONS + _PRODUCTS if name not in _FUNCTIONS_ONLY),
        *("clone", "gather", "flip", "index_select", "roll", "tile", "tril", "triu"),
        *[*_NEW_METHODS, *_VIEW_METHODS, *_METHOD_ONLY, *_READING, *CHANGING],
    ]
)
"""Methods of tensors, lists and dicts."""

ATTRIBUTES = frozenset(words("shape ndim T mT dtype device values indices eps tiny"))

SIZED = frozenset(
    words("""
    zeros ones full eye arange linspace new_zeros new_ones new_full view reshape expand repeat tile broadcast_to
    unflatten
    """)
)
"""Functions and methods whose arguments may be sizes along the first axis."""

REFUSED_KEYWORDS = {
    "out": "use the returned tensor",
    "inplace": "drop it: the function returns a new tensor",
    "generator": "a reward has no random numbers",
    "requires_grad": "drop it: a reward is never differentiated",
    "layout": "drop it",
    "memory_format": "drop it",
    "pin_memory": "drop it",
    "key": "compare tensors with torch.maximum or torch.where",
}

_TENSORS_ONLY = "keep tensors: rewards are computed for all envs at once, torch only"
_DETERMINISTIC = "remove it: a reward is a pure function of its inputs, with no random numbers"
NO_REACH = "remove it: a reward computes with torch, math and its parameters, and nothing else"
"""Hint for names outside the language."""

INSTEAD: dict[str, str] = {
    **dict.fromkeys(words("item tolist numpy data cpu cuda __array__"), _TENSORS_ONLY),
    **dict.fromkeys(
        words("rand randn randint rand_like randn_like randperm normal bernoulli multinomial dropout seed random")
        + words("uniform manual_seed normal_ uniform_ random_ bernoulli_"),
        _DETERMINISTIC,
    ),
    **dict.fromkeys(
        words("eval exec open input compile getattr setattr delattr hasattr globals locals vars dir type object")
        + words("super id memoryview bytes bytearray callable iter next breakpoint exit quit help load save"),
        NO_REACH,
    ),
    **dict.fromkeys(words("np numpy jnp jax"), "write the same with `torch.` functions"),
    **dict.fromkeys(["map", "filter"], "write a comprehension, or one torch function over the whole batch"),
    **dict.fromkeys(["empty", "empty_like", "new_empty"], "use `torch.zeros` or `torch.zeros_like`"),
    "isinstance": "inputs are always torch tensors, constants always floats: drop the test",
    "format": "use an f-string",
    "print": "drop it",
    "set": "use a tuple or a list",
    "copy": "use `.clone()`",
    "astype": "use `.float()`, `.long()` or `.bool()`",
    **dict.fromkeys(["self", "info", "obs"], "take each quantity as a parameter of `compute_reward`, by its name"),
    "copy_": "make a new tensor and give it a name",
}
"""Name that models often try to its hint."""
