"""What all code of a process shares: settings of torch, patched functions, the interpreter itself."""

from tests.security import effects
from tests.security.attack import Attack, reward


def _attack(what, body, **parts):
    # Layer 2 ends with the process; inside, everything belongs to whoever runs there.
    return Attack("global state", reward(body, **parts), effects.global_changed(what), False)


ATTACKS = {
    "default type of tensors": _attack("default dtype", "torch.set_default_dtype(torch.float64)"),
    "seed of torch": _attack("torch seed", "torch.manual_seed(0)"),
    "function of torch": _attack("torch functions", "torch.exp = torch.zeros_like"),
    "builtin function": _attack("builtins", "import builtins\nbuiltins.sum = lambda *_: 999.0"),
    "environment": _attack("environment", 'import os\nos.environ["OMP_NUM_THREADS"] = "64"'),
    "handler of a signal": _attack("signals", "import signal\nsignal.signal(signal.SIGALRM, signal.SIG_IGN)"),
    "tracing": _attack("tracing", "import sys\nsys.setprofile(lambda *_: None)"),
    "mask of new files": Attack(
        "global state", reward("import os\nos.umask(0o123)"), effects.global_changed("umask"), True
    ),
    "thread that stays": _attack(
        "started threads", "import threading, time\nthreading.Thread(target=time.sleep, args=(5,), daemon=True).start()"
    ),
    "global statement": Attack(
        "global state",
        reward('global torch\ntorch.serialization.os.environ["SHARED"] = "1"\ntorch = None'),
        effects.global_changed("environment"),
        False,
    ),
}
