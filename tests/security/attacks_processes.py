"""Starting processes, outliving the run, and harming processes of others."""

from tests.security import effects
from tests.security.attack import Attack, reward

_CHILD = """
if os.fork() == 0:
    open("@OWN@/child", "w").write(str(os.getpid()))
    time.sleep(30)
    os._exit(0)
while not os.path.exists("@OWN@/child"):
    time.sleep(0.01)
"""
_RUN = 'echo > "@OWN@/ran"'


def _attack(seen, body, **parts):
    return Attack("processes", reward(body, **parts), seen, True)


ATTACKS = {
    "fork": _attack(effects.has_child, "import os, time" + _CHILD),
    "subprocess": _attack(effects.program_ran, f"import subprocess\nsubprocess.run(['sh', '-c', {_RUN!r}])"),
    "system": _attack(effects.program_ran, f"import os\nif os.system({_RUN!r}):\n    raise OSError('refused')"),
    "become another program": _attack(effects.program_ran, f'import os\nos.execv("/bin/sh", ["sh", "-c", {_RUN!r}])'),
    "program in memory": _attack(
        effects.program_ran,
        """
import os
script = os.memfd_create("script", 0)
os.write(script, b'#!/bin/sh\\necho > "@OWN@/ran"\\n')
os.execv(f"/proc/self/fd/{script}", ["script"])
""",
    ),
    "clone by number": _attack(
        effects.has_child,
        """
import ctypes, os, platform, time
number = 56 if platform.machine() == "x86_64" else 220
if ctypes.CDLL(None).syscall(number, 17, 0, 0, 0, 0) == 0:
    os.close(os.open("@OWN@/child", os.O_CREAT | os.O_WRONLY))
    os._exit(0)
for _ in range(200):
    if os.path.exists("@OWN@/child"):
        break
    time.sleep(0.005)
""",
    ),
    "kill": _attack(effects.victim_harmed, "import os\nos.kill(@VICTIM@, 9)"),
    "limit another process": _attack(
        effects.victim_limited, "import resource\nresource.prlimit(@VICTIM@, resource.RLIMIT_NOFILE, (11, 11))"
    ),
}
