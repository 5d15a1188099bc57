"""The page on the architecture, what CONTRIBUTING says of the seams, and all other pages name what there is."""

import ast
import re
from pathlib import Path

from docs.layers import PICTURE, drawing
from tests.test_architecture import PACKAGE

ROOT = Path(__file__).parent.parent
PAGES = ["README.md", "CONTRIBUTING.md", *(f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md")))]
_STATION = re.compile(r"`(?:rewardgen\.)?((?:\w+\.)+\w+):([\w.]+)`")
_FILE = re.compile(r"`(\w+)/([\w./]+\.\w+)`")


def defined(module, name):
    """Whether a module defines a function or class, or a class a method."""
    path = PACKAGE.joinpath(*module.split(".")).with_suffix(".py")
    body = ast.parse(path.read_text()).body if path.is_file() else []
    for part in name.split("."):
        found = [each for each in body if getattr(each, "name", None) == part]
        if not found:
            return False
        body = getattr(found[0], "body", [])
    return True


def test_every_station_that_is_named_exists():
    named = {station for page in PAGES for station in _STATION.findall((ROOT / page).read_text())}
    assert len(named) >= 20
    assert [f"{module}:{name}" for module, name in sorted(named) if not defined(module, name)] == []


def test_every_file_that_is_named_exists():
    named = [each for page in PAGES for each in _FILE.findall((ROOT / page).read_text())]
    known = [(base / folder, rest) for folder, rest in named for base in (ROOT, PACKAGE) if (base / folder).is_dir()]
    assert [f"{folder.name}/{rest}" for folder, rest in known if not (folder / rest).exists()] == []


def test_the_picture_shows_the_folders_in_the_order_that_is_tested():
    assert PICTURE.read_text() == drawing(), "run `python -m docs.layers`"


def test_whoever_begins_reading_finds_the_page():
    assert all("(docs/architecture.md)" in (ROOT / page).read_text() for page in ("README.md", "CONTRIBUTING.md"))
