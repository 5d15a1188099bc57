"""A real headless Chromium, and what went wrong in it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
]


@pytest.fixture(scope="module")
def launched_chromium():
    path = shutil.which("chromium")
    if path is None:
        pytest.skip("pages are tested in Chromium, which is not here: apt-get install chromium")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def chromium(launched_chromium):
    """A browser without pages; those of a test are closed after it, as films in them go on playing."""
    yield launched_chromium
    for context in launched_chromium.contexts:
        context.close()


class Opened:
    """A page that was opened, with what it said and asked for."""

    def __init__(self, browser, file: Path, width: int = 1280, theme: str = "light", **options) -> None:
        self.context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=theme, **options)
        self.page = self.context.new_page()
        self.wrong: list[str] = []
        self.page.on(
            "console", lambda told: self.wrong.append(told.text) if told.type in ("error", "warning") else None
        )
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("request", lambda asked: self.wrong.append(asked.url) if _leaves(asked.url, file) else None)
        self.page.goto(file.as_uri())

    def settled(self):
        """The page, once it has drawn what it shows first."""
        self.page.wait_for_selector("#progress svg")
        self.page.wait_for_selector("#candidate .head")
        return self.page


def wait_for(page, id: str) -> None:
    """Until the page shows a candidate."""
    page.locator("#candidate .head h3").get_by_text(id, exact=True).wait_for()


def turn_to(page, id: str) -> None:
    """Have the page show a candidate."""
    page.evaluate(f"location.hash = '{id}'")
    wait_for(page, id)


def _leaves(url: str, file: Path) -> bool:
    return not url.startswith(("data:", "blob:", file.as_uri()))


def serious(page) -> list[str]:
    """What axe-core finds serious or worse."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    found = axe.run(page).response["violations"]
    return [
        f"{each['id']}: {node['html'][:120]}"
        for each in found
        if each["impact"] in ("serious", "critical")
        for node in each["nodes"]
    ]
