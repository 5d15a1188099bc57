"""Never coming back, and taking all memory, files or threads."""

from tests.security import effects
from tests.security.attack import Attack, reward

_GOT = '\nopen("@OWN@/got", "w").close()'


def _hang(body, gate="source", **parts):
    return Attack("hang", reward(body, **parts), effects.not_ended, True, gate, "limit")


def _take(body, gate="source", seen=effects.got_more, **parts):
    return Attack("memory and disk", reward(body, **parts), seen, True, gate, "limit")


HANGS = {
    "endless loop": _hang("while True:\n    pass"),
    "endless iterator": _hang("import itertools\nfor _ in itertools.count():\n    pass"),
    "sleep": _hang("import time\ntime.sleep(3600)"),
    "huge integer": _hang("x = 7 ** 10 ** 8", gate="probe"),
    "loop over loops": _hang(
        "total = sum(1 for a in range(10**5) for b in range(10**5) for c in range(10**5))", gate="probe"
    ),
    "catches its interruption": _hang(
        """
import signal, time
for each in (signal.SIGTERM, signal.SIGINT, signal.SIGALRM, signal.SIGXCPU):
    signal.signal(each, signal.SIG_IGN)
while True:
    try:
        time.sleep(1)
    except BaseException:
        pass
"""
    ),
    "matrices without end": _hang(
        """
wide = torch.ones(1000, 1000)
for _ in range(1000):
    wide = (wide @ wide).clamp(0.0, 1.0)
    for _ in range(8):
        wide = (wide @ wide).clamp(0.0, 1.0)
""",
        gate="probe",
    ),
}

TAKES = {
    "bytes": _take('x = bytearray(1 << 20) * 1024\nx[::4096] = b"x" * len(x[::4096])' + _GOT),
    "text that doubles": _take('x = "x"\nfor _ in range(30):\n    x += x' + _GOT),
    "memory map": _take(
        'import mmap\nx = mmap.mmap(-1, 1 << 30, mmap.MAP_PRIVATE)\nx[::4096] = b"x" * (1 << 18)' + _GOT
    ),
    "file in memory": _take(
        """
import os
file = os.memfd_create("x", 0)
for _ in range(1024):
    os.write(file, bytes(1 << 20))
"""
        + _GOT
    ),
    "large file": _take(
        'file = open("@OWN@/large", "wb")\nfor _ in range(256):\n    file.write(bytes(1 << 20))' + _GOT
    ),
    "many files": _take(
        "import time\nfor number in range(900):\n    open(f'@OWN@/file{number}', 'w').close()\ntime.sleep(5)" + _GOT
    ),
    "many descriptors": _take("files = [open('/dev/null') for _ in range(500)]" + _GOT),
    "many threads": _take(
        """
import threading, time
for _ in range(200):
    threading.Thread(target=time.sleep, args=(60.0,), daemon=True).start()
time.sleep(5)
"""
        + _GOT
    ),
    "wide repetition in the language": _take(
        "x = pole_upright.unsqueeze(-1).repeat(1, 400000000).sum(-1)", gate="probe", seen=effects.took_it
    ),
    "list beyond the limit in the language": _take("x = [0.0, 0.0] * 1000000000", gate="probe", seen=effects.took_it),
    "all worlds with all worlds": _take(
        "x = torch.ones(30000, 1) * torch.ones(30000)", gate="probe", seen=effects.took_it
    ),
}

ATTACKS = {**HANGS, **TAKES}
