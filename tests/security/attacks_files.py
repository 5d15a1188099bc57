"""Reading secrets, and writing, moving and deleting what belongs to others."""

from tests.security import effects
from tests.security.attack import Attack, reward


def _attack(seen, body, **parts):
    return Attack("files", reward(body, **parts), seen, True)


READING = {
    "open": _attack(effects.leaked, 'raise ValueError(open("@KEY@").read())'),
    "pathlib": _attack(effects.leaked, 'import pathlib\nraise ValueError(pathlib.Path("@KEY@").read_text())'),
    "numpy from a file": _attack(
        effects.leaked, 'raise ValueError(np.fromfile("@KEY@", dtype=np.uint8).tobytes().decode())'
    ),
    "torch from a file": _attack(
        effects.leaked,
        'x = torch.from_file("@KEY@", size=21, dtype=torch.uint8)\nraise ValueError(bytes(x.tolist()).decode())',
    ),
    "memory map": _attack(
        effects.leaked,
        """
import mmap, os
raise ValueError(mmap.mmap(os.open("@KEY@", os.O_RDONLY), 0, prot=mmap.PROT_READ)[:].decode())
""",
    ),
    "system call by number": _attack(
        effects.leaked,
        """
import ctypes
libc = ctypes.CDLL(None)
space = ctypes.create_string_buffer(99)
libc.read(libc.open(b"@KEY@", 0), space, 99)
raise ValueError(space.value.decode())
""",
    ),
    "way out of its own folder": _attack(
        effects.leaked, 'raise ValueError(open("@OWN@/../outside/id_ed25519").read())'
    ),
    "symbolic link": _attack(
        effects.leaked, 'import os\nos.symlink("@KEY@", "@OWN@/link")\nraise ValueError(open("@OWN@/link").read())'
    ),
    "hard link": _attack(
        effects.leaked, 'import os\nos.link("@KEY@", "@OWN@/link")\nraise ValueError(open("@OWN@/link").read())'
    ),
    "copy into its own folder": _attack(effects.leaked, 'import shutil\nshutil.copy("@KEY@", "@OWN@/copy")'),
    "file of users": _attack(effects.password_file_leaked, 'raise ValueError(open("/etc/passwd").read())'),
    "environment": _attack(effects.leaked, 'import os\nraise ValueError(str(os.environ["API_KEY"]))'),
    "environment of another process": _attack(
        effects.leaked, 'raise ValueError(open("/proc/@VICTIM@/environ").read())'
    ),
}

WRITING = {
    "make a file": _attack(effects.made, 'open("@OUT@/new", "w").write("x")'),
    "save by torch": _attack(effects.made, 'torch.save(pole_upright, "@OUT@/new")'),
    "delete a file": _attack(effects.kept_changed, 'import os\nos.unlink("@OUT@/kept")'),
    "delete a folder": _attack(effects.folder_gone, 'import shutil\nshutil.rmtree("@OUT@/empty")'),
    "move a file in": _attack(effects.kept_changed, 'import os\nos.rename("@OUT@/kept", "@OWN@/taken")'),
    "open a file to all": _attack(effects.kept_touched, 'import os\nos.chmod("@OUT@/kept", 0o777)'),
    "change the time of a file": _attack(effects.kept_touched, 'import os\nos.utime("@OUT@/kept", (0, 0))'),
    "named pipe": _attack(effects.made, 'import os\nos.mkfifo("@OUT@/new")'),
    "link that points outside": _attack(effects.made, 'import os\nos.symlink("/etc", "@OUT@/new")'),
}

ATTACKS = {**READING, **WRITING}
