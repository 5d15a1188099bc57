"""Reading secrets, and writing, moving and deleting what belongs to others."""

from tests.security import effects
from tests.security.attack import Attack, reward


def _attack(seen, body, **parts):
    return Attack("files", reward(body, **parts), seen, True)


READING = {
    "open": _attack(effects.leaked, 'raise ValueError(open("@KEY@").read())'),
    "open by descriptor": _attack(
        effects.leaked, 'import os\nraise ValueError(os.read(os.open("@KEY@", os.O_RDONLY), 99))'
    ),
    "pathlib": _attack(effects.leaked, 'import pathlib\nraise ValueError(pathlib.Path("@KEY@").read_text())'),
    "numpy from a file": _attack(
        effects.leaked, 'raise ValueError(np.fromfile("@KEY@", dtype=np.uint8).tobytes().decode())'
    ),
    "numpy memory map": _attack(
        effects.leaked, 'raise ValueError(bytes(np.memmap("@KEY@", dtype=np.uint8, mode="r")).decode())'
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
    "linecache": _attack(effects.leaked, 'import linecache\nraise ValueError(linecache.getline("@KEY@", 1))'),
    "text of numpy": _attack(effects.leaked, 'raise ValueError(str(np.genfromtxt("@KEY@", dtype=str)))'),
    "URL of a file": _attack(
        effects.leaked, 'import urllib.request\nraise ValueError(urllib.request.urlopen("file://@KEY@").read())'
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
    "root of a process": _attack(effects.leaked, 'raise ValueError(open("/proc/self/root@KEY@").read())'),
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
    "list of a folder": _attack(effects.others_names_leaked, 'import os\nraise ValueError(str(os.listdir("@OUT@")))'),
    "search for keys": _attack(
        effects.others_names_leaked, 'import glob\nraise ValueError(str([p[-10:] for p in glob.glob("@OUT@/*")]))'
    ),
    "file of users": _attack(effects.password_file_leaked, 'raise ValueError(open("/etc/passwd").read())'),
    "environment": _attack(effects.leaked, 'import os\nraise ValueError(str(os.environ["API_KEY"]))'),
    "environment of the C library": _attack(
        effects.leaked,
        """
import ctypes
get = ctypes.CDLL(None).getenv
get.restype = ctypes.c_char_p
raise ValueError(str(get(b"API_KEY")))
""",
    ),
    "environment of another process": _attack(
        effects.leaked, 'raise ValueError(open("/proc/@VICTIM@/environ").read())'
    ),
}

WRITING = {
    "make a file": _attack(effects.made, 'open("@OUT@/new", "w").write("x")'),
    "append to a file": _attack(effects.kept_changed, 'open("@OUT@/kept", "a").write("more")'),
    "empty a file": _attack(effects.kept_changed, 'import os\nos.truncate("@OUT@/kept", 0)'),
    "save by torch": _attack(effects.made, 'torch.save(pole_upright, "@OUT@/new")'),
    "save by numpy": _attack(effects.made, 'np.zeros(3).tofile("@OUT@/new")'),
    "shared map by torch": _attack(
        effects.kept_changed, 'torch.from_file("@OUT@/kept", shared=True, size=4, dtype=torch.uint8).zero_()'
    ),
    "data base": _attack(effects.made, 'import sqlite3\nsqlite3.connect("@OUT@/new").execute("create table t (x)")'),
    "log file": _attack(effects.made, 'import logging\nlogging.FileHandler("@OUT@/new").close()'),
    "temporary file elsewhere": _attack(
        effects.made, 'import tempfile, os\nos.rename(tempfile.mkstemp(dir="@OUT@")[1], "@OUT@/new")'
    ),
    "archive that climbs out": _attack(
        effects.made,
        """
import io, tarfile
packed = io.BytesIO()
with tarfile.open(fileobj=packed, mode="w") as archive:
    archive.addfile(tarfile.TarInfo("../outside/new"))
packed.seek(0)
archive = tarfile.open(fileobj=packed)
archive.extraction_filter = lambda member, path: member
archive.extractall("@OWN@")
""",
    ),
    "delete a file": _attack(effects.kept_changed, 'import os\nos.unlink("@OUT@/kept")'),
    "delete a folder": _attack(effects.folder_gone, 'import shutil\nshutil.rmtree("@OUT@/empty")'),
    "move a file in": _attack(effects.kept_changed, 'import os\nos.rename("@OUT@/kept", "@OWN@/taken")'),
    "move a file out": _attack(effects.made, 'import os\nos.rename("@OWN@/mine", "@OUT@/new")'),
    "open a file to all": _attack(effects.kept_touched, 'import os\nos.chmod("@OUT@/kept", 0o777)'),
    "change the time of a file": _attack(effects.kept_touched, 'import os\nos.utime("@OUT@/kept", (0, 0))'),
    "named pipe": _attack(effects.made, 'import os\nos.mkfifo("@OUT@/new")'),
    "link that points outside": _attack(effects.made, 'import os\nos.symlink("/etc", "@OUT@/new")'),
}

ATTACKS = {**READING, **WRITING}
