"""What a run hands out in `best/`, its README and its candidates' folders: nothing but what it may be."""

import json
import os
import subprocess
import sys
from functools import reduce

import pytest

from rewardgen.core.resources import PACKAGE
from rewardgen.reward.export import reward_file
from rewardgen.testing.server import ChatServer
from tests.security.elsewhere import SECRET, Elsewhere
from tests.security.test_run_folders import CHOSEN, _finals
from tests.ui.story import DRAFT, RUN_ID


@pytest.fixture
def elsewhere(tmp_path):
    with ChatServer() as server:
        run = Elsewhere(tmp_path, server)
        run.make()
        yield run


def chosen(run, source):
    """Another source for the chosen reward."""
    lines = [json.loads(line) for line in (run.folder / "events.jsonl").read_text().splitlines()]
    for told in lines:
        if told["kind"] == "designed" and told["data"]["candidate"]["id"] == CHOSEN:
            told["data"]["candidate"]["source"] = source
    (run.folder / "events.jsonl").write_text("".join(json.dumps(each) + "\n" for each in lines))


SOURCES = {
    "code at the top": lambda run: f"import os\nos.mkdir({str(run.canary)!r})\n{DRAFT}",
    "code in a default": lambda run: f"def compute_reward(height, *, w=open({str(run.canary)!r}, 'w')):\n  pass",
    "code in a decorator": lambda run: f"@(lambda f: open({str(run.canary)!r}, 'w'))\n{DRAFT}",
    "code behind a direction mark": lambda run: f"#\u2028import os; os.mkdir({str(run.canary)!r})\n{DRAFT}x = (",
    "an encoding that makes code": lambda run: f"# -*- coding: utf_7 -*-\n#+AAo-open({str(run.canary)!r},'w')\n{DRAFT}",
}  # fmt: skip


@pytest.mark.parametrize("name", SOURCES)
def test_a_reward_that_is_handed_out_is_no_other_program(rewardgen, elsewhere, name):
    chosen(elsewhere, SOURCES[name](elsewhere))
    done = rewardgen("resume", RUN_ID)
    exported = elsewhere.folder / "best" / "reward.py"
    if exported.exists():  # a user who tries it
        subprocess.run([sys.executable, str(exported)], capture_output=True)
    else:
        assert done.returncode == 2 and "not written in the reward language" in done.stderr
    assert not elsewhere.canary.exists() and elsewhere.effects() == []


def test_check_accepts_no_file_that_does_more_than_its_reward_when_it_is_imported(rewardgen, elsewhere):
    sound = reward_file("def compute_reward(pole_upright):\n    return {'upright': pole_upright}\n")
    added = f"import os; os.mkdir({str(elsewhere.canary)!r})\n"
    files = {"sound.py": sound, "before.py": added + sound, "after.py": sound + added}
    for name, text in files.items():
        (elsewhere.home / name).write_text(text)
    done = rewardgen("check", "cartpole", *files)
    for name in files:
        assert f"{name}: {'accepted' if name == 'sound.py' else 'rejected'}" in done.stdout
    assert elsewhere.effects() == []


TEXTS = {"conclusion", "reason", "diagnosis", "prediction", "name", "description", "fitness", "success", "message"}


def test_readable_files_hold_no_commands_and_nothing_hidden(rewardgen, elsewhere):
    hostile = "a\x1b]52;c;ZXZpbA==\x07\x1b[2J\x9b31m\r\u202e\u200b\U000e0041\ud800b"
    log = elsewhere.folder / "events.jsonl"
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    log.write_text("".join(json.dumps(_replaced(each, hostile)) + "\n" for each in lines))
    assert rewardgen("resume", RUN_ID).returncode == 0
    made = [path for path in elsewhere.folder.rglob("*") if path.is_file() and path.name != "events.jsonl"]
    assert {"README.md", "card.md", "reward.py"} <= {path.name for path in made}
    libraries = [path.read_text() for path in (PACKAGE / "report" / "assets").iterdir()]
    for path in made:
        text = reduce(lambda left, library: left.replace(library.strip(), ""), libraries, path.read_text())
        assert {each for each in text if not each.isprintable()} <= {"\n"}, path.name


def _replaced(data, value):
    """An event with other texts in place of all that a report tells."""
    if isinstance(data, dict):
        return {key: value if key in TEXTS and isinstance(each, str) else _replaced(each, value)
                for key, each in data.items()}  # fmt: skip
    return [_replaced(each, value) for each in data] if isinstance(data, list) else data


def pipe(path, run):
    os.mkfifo(path)


def large(path, run):
    with path.open("wb") as file:
        file.truncate(1 << 40)


def folder(path, run):
    path.mkdir()


def hidden_by_its_modes(path, run):
    path.write_bytes(b"x")
    path.chmod(0)


@pytest.mark.parametrize("make", [pipe, large, folder, hidden_by_its_modes], ids=lambda make: make.__name__)
def test_a_policy_that_is_none_is_not_waited_for_nor_handed_out(rewardgen, elsewhere, make):
    _finals(elsewhere, lambda slice: slice.update(policy="p.npz"))
    place = elsewhere.folder / "policies" / "final"
    place.mkdir(parents=True)
    make(place / "p.npz", elsewhere)
    done = rewardgen("resume", RUN_ID)
    assert "unexpectedly" not in done.stderr
    assert not (elsewhere.folder / "best" / "policy.npz").exists() or os.geteuid() == 0
    if make is not hidden_by_its_modes and done.returncode == 0:
        assert "The policies were removed." in (elsewhere.folder / "best" / "card.md").read_text()


def test_a_reward_file_that_never_ends_is_not_read(rewardgen, elsewhere, tmp_path):
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "zero.py").symlink_to("/dev/zero")
    (tmp_path / "large.py").write_text("#" * (17 << 20))
    for name in ("pipe.py", "zero.py", "large.py"):
        done = rewardgen("check", "cartpole", name, SOME_API_KEY=SECRET)
        assert done.returncode == 2 and f"cannot read {name}" in done.stderr
