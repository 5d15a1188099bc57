"""A run folder that somebody else made, and a world around it in which its effects are seen."""

import json
import os
from pathlib import Path

from rewardgen.testing.server import ChatServer
from tests.cli.conftest import write_run
from tests.ui.story import RUN_ID, events

SECRET = "sk-secret-of-the-user"
POINT = Path(__file__).parent.parent / "tasks" / "point.py"


class Elsewhere:
    """A run that was interrupted or is finished, in the `runs` of a user, who has a key, a secret file and a canary.

    Args:
        home: The user's folder.
        server: Somebody else's, which records the keys that it is sent.
    """

    def __init__(self, home: Path, server: ChatServer) -> None:
        self.home = home
        self.server = server
        self.folder = home / "runs" / RUN_ID
        self.outside = home / "outside"
        self.outside.mkdir()
        self.secret = self.outside / "secret"
        self.secret.write_text(SECRET)
        self.kept = self.outside / "kept"
        self.kept.mkdir()
        (self.kept / "notes").write_text("of the user")
        self.canary = self.outside / "canary"
        self.task = home / "task.py"
        self.task.write_text(f"import pathlib\npathlib.Path({str(self.canary)!r}).write_text('ran')\n" + _point())
        for each in POINT.parent.glob("*.xml"):
            (home / each.name).write_bytes(each.read_bytes())
        self._before = self._outside()

    def make(self, told=None) -> None:
        """Write the run's log: the story's, whole if not given."""
        write_run(self.home / "runs", told)

    def interrupted(self, **config) -> None:
        """The run as it was before its second generation, with another configuration."""
        self.make(events()[: [each.kind for each in events()].index("generation-finished") + 1])
        self.change("run-started", lambda data: data["config"].update(config))

    def change(self, kind, change, number=0) -> None:
        """Change the data of an event in the log."""
        log = self.folder / "events.jsonl"
        told = [json.loads(line) for line in log.read_text().splitlines()]
        change([each for each in told if each["kind"] == kind][number]["data"])
        log.write_text("".join(json.dumps(each) + "\n" for each in told))

    def effects(self) -> list[str]:
        """What has happened that must not, in words."""
        found = ["the user's key was sent"] if any(SECRET in key for key in self.server.keys) else []
        found += ["somebody's server was called"] if self.server.bodies else []
        found += ["the task file was run"] if self.canary.exists() else []
        found += ["something outside changed"] if self._outside() != self._before else []
        for path in self.folder.rglob("*"):
            if path.is_file() and not path.is_symlink() and SECRET in path.read_text(errors="replace"):
                found.append(f"the secret is in {path.relative_to(self.folder)}")
        return found

    def _outside(self):
        found = {}
        for place, _, names in os.walk(self.outside):
            mode = os.stat(place).st_mode
            found[place] = mode, {name: (Path(place) / name).read_bytes() for name in names if name != "canary"}
        return found


def _point() -> str:
    return POINT.read_text()
