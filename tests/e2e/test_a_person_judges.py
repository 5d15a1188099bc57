"""A whole run through the command line that a person judges, in a browser, by films of what was trained."""

import signal

import pytest

from rewardgen.film.shooting import INSTALL_OPENGL, renderer
from tests.e2e.command import POINT, SHORTER, history, start


def address(running) -> str:
    """Address of the page, from the lines of a run."""
    told = []
    for line in running.stderr:
        told.append(line)
        if "?token=" in line:
            return line.split()[-1]
    raise AssertionError("".join(told))


def test_an_interrupted_run_asks_again_and_ends_as_its_person_answers(chromium, tmp_path):
    if renderer() is None:
        pytest.skip(INSTALL_OPENGL)
    running = start("run", POINT, *SHORTER, "--judge", "human", "--answers", "2", cwd=tmp_path)
    address(running)
    running.send_signal(signal.SIGINT)
    assert running.wait(60) == 130 and history(tmp_path).status == "interrupted"
    assert not history(tmp_path).comparisons
    running.communicate()

    resumed = start("resume", "latest", cwd=tmp_path)
    page = chromium.new_page()
    page.goto(address(resumed))
    for number in range(2):
        page.wait_for_function("number => document.body.innerText.includes(`${number} answer`)", arg=number)
        page.wait_for_selector("#question:not([hidden])", timeout=120_000)
        seconds, pixels = (page.evaluate(f"document.querySelector('#left').{of}") for of in ("duration", "videoWidth"))
        assert seconds > 0.5 and pixels > 300
        page.fill("#why", f"reason {number}")
        page.click("[data-answer=left]")
        page.wait_for_function("() => document.querySelector('#question').hidden")
    # The finals of so short a run may be over between two looks of a busy browser.
    last = page.wait_for_selector("text=/The search has ended|The run does not answer/", timeout=60_000).inner_text()
    assert "report.html" in last or "does not answer" in last
    resumed.communicate(timeout=240)
    ended = history(tmp_path)
    assert resumed.returncode == 0 and ended.summary.chosen == ended.ranking.ids[0]
    assert [(each.answer, each.why) for each in ended.comparisons] == [("left", "reason 0"), ("left", "reason 1")]
