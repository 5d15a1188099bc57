"""What all code of a process shares: settings of torch, patched functions, the interpreter itself."""

from tests.security import effects
from tests.security.attack import Attack, reward


def _attack(what, body, **parts):
    # Layer 2 ends with the process; inside, everything belongs to whoever runs there.
    return Attack("global state", reward(body, **parts), effects.global_changed(what), False)


ATTACKS = {
    "default type of tensors": _attack("default dtype", "torch.set_default_dtype(torch.float64)"),
    "seed of torch": _attack("torch seed", "torch.manual_seed(0)"),
    "seed of numpy": _attack("numpy seed", "np.random.seed(0)"),
    "seed of Python": _attack("python seed", "import random\nrandom.seed(0)"),
    "threads of torch": _attack("threads", "torch.set_num_threads(3)"),
    "gradients": _attack("gradients", "torch.set_grad_enabled(not torch.is_grad_enabled())"),
    "function of torch": _attack("torch functions", "torch.exp = torch.zeros_like"),
    "operator of tensors": _attack("torch functions", "torch.Tensor.__add__ = lambda self, other: self"),
    "builtin function": _attack("builtins", "import builtins\nbuiltins.sum = lambda *_: 999.0"),
    "import itself": _attack(
        "builtins", "import builtins\nkept = builtins.__import__\nbuiltins.__import__ = lambda *a, **k: kept(*a, **k)"
    ),
    "JSON": _attack("json", "import json\njson.dumps = lambda *_, **__: '{}'"),
    "environment": _attack("environment", 'import os\nos.environ["OMP_NUM_THREADS"] = "64"'),
    "import path": _attack("import path", 'import sys\nsys.path.insert(0, "@OWN@")'),
    "depth of recursion": _attack("recursion", "import sys\nsys.setrecursionlimit(10**6)"),
    "handler of a signal": _attack("signals", "import signal\nsignal.signal(signal.SIGALRM, signal.SIG_IGN)"),
    "tracing": _attack("tracing", "import sys\nsys.setprofile(lambda *_: None)"),
    "working folder": _attack("folder", 'import os\nos.chdir("/")'),
    "mask of new files": Attack(
        "global state", reward("import os\nos.umask(0o123)"), effects.global_changed("umask"), True
    ),
    "thread that stays": _attack(
        "started threads", "import threading, time\nthreading.Thread(target=time.sleep, args=(5,), daemon=True).start()"
    ),
    "global statement": Attack(
        "global state",
        reward(
            'global torch\ntorch.serialization.os.environ["SHARED"] = "1"\ntorch = None',
        ),
        effects.global_changed("environment"),
        False,
    ),
}
