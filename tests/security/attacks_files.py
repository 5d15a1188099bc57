"""Reading secrets, and writing, moving and deleting what belongs to others."""

from tests.security import effects
from tests.security.attack import Attack, reward


def _attack(seen, body, **parts):
    return Attack("files", reward(body, **parts), seen, True)


READING = {
    "open": _attack(effects.leaked, 'raise ValueError(open("@KEY@").read())'),
    "pathlib": _attack(effects.leaked, 'import pathlib\nraise ValueError(pathlib.Path("@KEY@").read_text())'),
    "torch from a file": _attack(
        effects.leaked,
        'x = torch.from_file("@KEY@", size=21, dtype=torch.uint8)\nraise ValueError(bytes(x.tolist()).decode())',
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
    "environment": _attack(effects.leaked, 'import os\nraise ValueError(str(os.environ["API_KEY"]))'),
    "environment of another process": _attack(
        effects.leaked, 'raise ValueError(open("/proc/@VICTIM@/environ").read())'
    ),
}

WRITING = {
    "delete a file": _attack(effects.kept_changed, 'import os\nos.unlink("@OUT@/kept")'),
    "open a file to all": _attack(effects.kept_touched, 'import os\nos.chmod("@OUT@/kept", 0o777)'),
    "named pipe": _attack(effects.made, 'import os\nos.mkfifo("@OUT@/new")'),
}

ATTACKS = {**READING, **WRITING}
