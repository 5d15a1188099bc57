"""A plain trainer to be attacked: hands its own tensors to a reward, and tells afterwards what is no longer as it was.

Stands alone: its text becomes part of a task file, which a worker loads. Nothing here protects it.
"""

import builtins
import gc
import json
import math
import os
import random
import signal
import sys
import threading
import warnings

import numpy as np
import torch
from torch.nn import functional

RIVAL_NOTE = "rival-7a01e5"
"""What only the other candidate should know."""
HONEST_FITNESS = 0.25
RESULTS = {"fitness": HONEST_FITNESS, "curve": []}
STATE = {}
"""Name to tensor, (4,) or (4, 1): what the simulation goes on from."""


def make_rival(weight):
    def rival(pole_upright):
        return {"rival": weight * pole_upright + 0.0 * len(RIVAL_NOTE)}

    return rival


RIVAL = make_rival(2.0)

# Kept from before any reward runs.
_dumps, _write, _open, _exp = json.dumps, os.write, os.open, torch.exp
_equal, _zeros, _ones = torch.equal, torch.zeros, torch.ones


def play_as_python(source, calls):
    """Run a reward as ordinary Python."""
    scope = {"torch": torch, "F": functional, "math": math, "np": np, "__name__": "reward"}

    def begin():
        exec(compile(source, "<reward>", "exec"), scope)
        return lambda: scope["compute_reward"](**STATE)

    return _play(begin, calls)


def play_in_language(source, calls):
    """Run a reward as every candidate is run."""
    from rewardgen.reward.program import compile_reward

    def begin():
        program = compile_reward(source)
        return lambda: program(STATE)

    return _play(begin, calls)


def play_all_in_language(attacks):
    """Run many: name to source and number of calls."""
    return {name: play_in_language(source, calls) for name, (source, calls) in attacks.items()}


def _play(begin, calls):
    _begin_state()
    before = _globals()
    told = {"pid": os.getpid(), "errors": [], "names": [], "odd": "", "aliased": False}
    told |= {"failed_at": None, "state_at": None}
    call = None
    for number in range(calls):
        STATE["pole_upright"].fill_(number / 1000)
        before_call = {name: value.clone() for name, value in STATE.items()}
        kept = dict(STATE)
        try:
            call = call or begin()
            _look_at(call(), told)
        except Exception as error:
            told["errors"] = [*told["errors"][-2:], f"{type(error).__name__}: {error}"[:4000]]
            told["failed_at"] = number if told["failed_at"] is None else told["failed_at"]
            if call is None:
                break
        if told["state_at"] is None and not _same(kept, before_call):
            told["state_at"] = number
    after = _globals()
    told["globals"] = sorted(name for name in before if _differs(before[name], after[name]))
    told["fitness"] = RESULTS.get("fitness")
    told["rival"] = _rival_is_changed()
    return told


def _begin_state():
    generator = torch.Generator().manual_seed(0)
    STATE.clear()
    STATE["pole_upright"] = _zeros(4)
    STATE["cart_velocity"] = torch.randn(4, generator=generator) + 3.0
    STATE["action"] = torch.rand(4, 1, generator=generator) + 0.1


def _same(kept, before):
    return all(kept[name].shape == value.shape and _equal(kept[name], value) for name, value in before.items())


def _look_at(components, told):
    """What a trainer without a contract takes from a reward."""
    told["count"] = max(told.get("count", 0), len(components))
    for name in list(components)[:40]:
        value = components[name]
        if str(name) not in told["names"]:
            told["names"] = [*told["names"], str(name)[:4000]][:40]
        if not told["odd"] and not _is_plain(value):
            told["odd"] = f"{type(value).__name__} {getattr(value, 'shape', '')}"
        told["aliased"] |= any(value is each for each in STATE.values())


def _is_plain(value):
    """A finite number per world."""
    if not isinstance(value, torch.Tensor) or value.shape != (4,) or value.dtype != torch.float32:
        return False
    return math.isfinite(total := float(value.sum())) and abs(total) < 1e30


def _rival_is_changed():
    try:
        return not _equal(RIVAL(_ones(4))["rival"], 2.0 * _ones(4))
    except Exception:
        return True


def _globals():
    """What a process shares between all that runs in it."""
    return {
        "default dtype": str(torch.get_default_dtype()),
        "threads": torch.get_num_threads(),
        "gradients": torch.is_grad_enabled(),
        "determinism": torch.are_deterministic_algorithms_enabled(),
        "torch seed": torch.random.get_rng_state().numpy().tobytes(),
        "numpy seed": np.random.get_state()[1].tobytes(),  # type: ignore[index]
        "python seed": random.getstate(),
        "numpy errors": str(np.geterr()),
        "torch functions": (id(torch.exp), id(torch.Tensor.sum), id(torch.Tensor.__add__), id(functional.relu)),
        "math": id(math.sqrt),
        "builtins": (id(builtins.sum), id(builtins.print), id(builtins.__import__), len(vars(builtins))),
        "json": (id(json.dumps), id(os.write)),
        "environment": dict(os.environ),
        "import path": list(sys.path),
        "import hooks": (len(sys.meta_path), len(sys.path_hooks)),
        "modules": "rewardgen_fake" in sys.modules or not hasattr(sys.modules.get("os"), "fork"),
        "recursion": sys.getrecursionlimit(),
        "signals": tuple(str(signal.getsignal(each)) for each in (signal.SIGALRM, signal.SIGUSR1, signal.SIGTERM)),
        "warnings": str(warnings.filters),
        "gc": gc.isenabled(),
        "streams": (id(sys.stdout), id(sys.stderr)),
        "tracing": (sys.gettrace() is not None, sys.getprofile() is not None, sys.excepthook is sys.__excepthook__),
        "folder": os.getcwd(),
        "started threads": threading.active_count(),
        "umask": _umask(),
        "switching": sys.getswitchinterval(),
        "alarm": signal.getitimer(signal.ITIMER_REAL)[0] > 0.0,
        "hooks": len(torch.nn.modules.module._global_forward_hooks),
    }


def _umask():
    with open("/proc/self/status") as status:
        return next((line for line in status if line.startswith("Umask")), "")


def _differs(before, after):
    return before != after


def tell(path, play, *arguments):
    """Play, then leave what there is to tell in a file that was opened before."""
    file = _open(path, os.O_CREAT | os.O_WRONLY, 0o600)
    told = play(*arguments)
    _write(file, _dumps(told, default=repr).encode())
