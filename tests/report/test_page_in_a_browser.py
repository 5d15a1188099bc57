"""The report in a browser: in both themes, by keyboard, printed."""

import time

import pytest

from rewardgen.report.page import report_html
from rewardgen.store.history import History
from rewardgen.store.run_folder import RunFolder
from tests.report.browser import Opened, serious, turn_to, wait_for
from tests.report.runs import SHOWN, compared, hostile, large
from tests.ui.story import RUN_ID, events


@pytest.fixture(scope="module")
def story_page(tmp_path_factory):
    folder = RunFolder(tmp_path_factory.mktemp("runs") / RUN_ID)
    return written(folder, History(events()))


def written(folder, history):
    folder.path.mkdir(exist_ok=True)
    file = folder.path / "report.html"
    file.write_text(report_html(folder, history))
    return file


@pytest.mark.parametrize(("width", "theme"), [(1280, "light"), (390, "dark")])
def test_a_report_opens_without_a_fault_and_its_first_screen_answers(chromium, story_page, width, theme):
    opened = Opened(chromium, story_page, width, theme)
    page = opened.settled()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    chart = page.locator("#progress svg").first.bounding_box()
    names = page.locator("#progress svg text", has_text="best so far").first.bounding_box()
    assert chart and names and names["x"] + names["width"] <= chart["x"] + chart["width"]
    for words in ("83 %", "worse than the human reward", "Against sparse", "3 fresh seeds") if width == 1280 else ():
        box = page.get_by_text(words).first.bounding_box()
        assert box and box["y"] + box["height"] < 800, words
    assert serious(page) == []
    assert opened.wrong == []


def test_a_report_of_a_sentence_fits_a_phone_and_cuts_no_sentence(chromium, tmp_path):
    history, sentence = (
        large(RunFolder(tmp_path / RUN_ID), 1, 2),
        f"It turns {'slowly and evenly, ' * 12}below 0.25 m/s.",
    )
    name = "swing_the_pole_up_from_hanging_down_and_then_hold_it_upr"
    assert history.card
    history.card = history.card.model_copy(update={"name": name, "success": sentence, "fitness": sentence})
    page = Opened(chromium, written(RunFolder(tmp_path / RUN_ID), history), 390).settled()
    assert page.locator(".seeds").count() and page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.locator(".facts .about").all_inner_texts() == [sentence, sentence]


def test_the_tree_is_walked_with_arrow_keys_and_what_stands_below_follows(chromium, story_page):
    page = Opened(chromium, story_page).settled()
    page.locator("#tree button[aria-current=true]").focus()
    walked = []
    for key in ("Home", "ArrowDown", "ArrowRight", "ArrowLeft", "End"):
        page.keyboard.press(key)
        walked.append(page.evaluate("document.activeElement.querySelector('b').textContent"))
        wait_for(page, walked[-1])
    assert walked == ["g00-k1", "g00-k2", "g01-k1", "g00-k2", "g01-k5"]
    assert page.locator("#tree button[tabindex='0']").count() == 1


def test_a_candidate_has_its_gates_repair_and_change_from_its_parent(chromium, story_page):
    page = Opened(chromium, story_page).settled()
    for id, words in (
        ("g00-k2", ["First version, rejected", "`import os` is not allowed".replace("`", "")]),
        ("g00-k3", ["component upright is nan"]),
        ("g00-k4", ["the reply holds no code"]),
        ("g00-k5", ["Rejected at the gates", "the same program as g00-k1"]),
        ("g01-k4", ["Change from g00-k1", "Change from g00-k2"]),
    ):
        turn_to(page, id)
        shown = " ".join(page.locator("#candidate").inner_text().split())
        for each in words:
            assert each in shown, id


def test_markup_commands_and_links_in_a_run_are_shown_as_text(chromium, tmp_path):
    folder = RunFolder(tmp_path / RUN_ID)
    opened = Opened(chromium, written(folder, hostile(folder)))
    page = opened.settled()
    turn_to(page, "g00-k1")
    page.locator("#candidate details", has_text="Prompts and replies").last.locator("> summary").click()
    page.locator("#candidate pre.text").last.wait_for()
    for place in ("h1", "#candidate", "#candidate pre.text >> nth=-1", ".rows", "#reward-report", "#reward .code"):
        assert SHOWN in page.locator(place).first.text_content(), place
    assert "\x1b" not in page.content()
    assert page.evaluate("window.taken") is None
    assert page.locator("a:not([href^='#'])").count() == 0
    assert opened.wrong == []


@pytest.mark.slow
def test_two_hundred_candidates_stay_under_five_megabytes_and_open_nearly_as_fast_as_two(
    chromium,
    story_page,
    tmp_path,
):
    folder = RunFolder(tmp_path / RUN_ID)
    file = written(folder, large(folder))
    assert 1_000_000 < file.stat().st_size < 5_000_000
    started = time.perf_counter()
    Opened(chromium, story_page).settled()
    opened = time.perf_counter()
    page = Opened(chromium, file).settled()
    turn_to(page, "g10-k3")
    assert time.perf_counter() - opened < 6.0 * (opened - started)
    assert page.locator("#tree button").count() == 200


def test_the_theme_is_kept_and_print_shows_answer_code_tables_and_report_uncut(chromium, story_page):
    page = Opened(chromium, story_page).settled()
    page.locator("#theme").click()
    page.locator("#theme").click()
    page.reload()
    assert page.locator("#theme").inner_text() == "Theme: dark"
    page.emulate_media(media="print")
    for place in (".facts", "#reward .code", ".rows", "#reward-report", "#costs"):
        assert page.locator(place).first.is_visible(), place
    assert not page.locator("#theme").is_visible()
    hidden = "each => each.scrollHeight > each.clientHeight + 3"
    assert page.evaluate(f"[...document.querySelectorAll('.scroll, pre')].filter({hidden}).length") == 0
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert background == "rgb(255, 255, 255)"


def test_a_comparison_opens_without_a_fault(chromium, tmp_path):
    file = tmp_path / "compare.html"
    file.write_text(compared("g01-k5", "g00-k1", "human"))
    opened = Opened(chromium, file, 390, "dark")
    opened.page.wait_for_selector("#curves svg")
    assert opened.page.locator(".diff .add").count() > 0
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= 390
    assert serious(opened.page) == []
    assert opened.wrong == []
