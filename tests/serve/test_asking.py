"""The page on which a person compares films: what it takes from whom, and how it works in a browser."""

import json
import time
from contextlib import suppress
from itertools import pairwise
from urllib.parse import urlsplit

import pytest

from rewardgen.core.errors import UsageError
from rewardgen.search.judge import make_teacher
from rewardgen.store.comparisons import MOST_WORDS
from rewardgen.store.history import History
from rewardgen.store.run_folder import RunFolder
from tests.report.browser import serious
from tests.search.parts import Crew, a_search
from tests.serve.asked import SECONDS, asking_run, until
from tests.serve.test_server import HOSTILE, Client


@pytest.fixture
def run(tmp_path, monkeypatch):
    with asking_run(tmp_path, monkeypatch) as run:
        yield run


class Person(Client):
    """Requests of the page, by hand."""

    def __init__(self, run):
        super().__init__(_Entered(run.url))

    def state(self):
        return json.loads(self.get(f"{self.server.place}/state").read())

    def asked(self, but=None):
        """The state with the next open question, other than one."""
        return until(lambda: (state := self.state())["turn"] not in (None, but) and state)

    def post(self, said, path="/answer", **headers):
        body = said if isinstance(said, bytes) else json.dumps(said).encode()
        sent = {"Origin": f"http://{self.host}", "Content-Length": str(len(body))} | headers
        return self.get(f"{self.server.place}{path}", "POST", body, **sent).status


class _Entered:
    """What the link gives to a browser: the cookie, and the secret path."""

    def __init__(self, url):
        self.url, address = url, urlsplit(url)
        self.server_address = (address.hostname, address.port)
        self.cookie, self.token, self.place = f"rewardgen-{address.port}", address.query.removeprefix("token="), ""
        page = Client(self).get(f"/?{address.query}").read().decode()
        self.place = page.partition("url=")[2].partition('/"')[0]


def test_a_run_waits_for_answers_and_ends_with_the_preferred_candidate(run):
    person, turn = Person(run), None
    for _ in range(3):
        state = person.asked(but=turn)
        turn = state["turn"]
        assert person.post({"turn": turn, "answer": "left", "why": f"a\x1b[31m\u202eb\n\tc {HOSTILE}"}) == 204
    run.thread.join(20)
    assert [each.answer for each in run.history.comparisons] == ["left"] * 3
    assert {(each.teacher, each.why) for each in run.history.comparisons} == {("human", f"ab c {HOSTILE}")}
    assert run.summary.chosen == run.history.ranking.ids[0]
    state = person.state()
    assert state["over"] and state["turn"] is None and state["report"] == str(run.folder.path / "report.html")


def test_answers_from_elsewhere_are_refused_and_nothing_is_recorded(run):
    person = Person(run)
    good = {"turn": person.asked()["turn"], "answer": "left"}
    refused = {
        403: [
            person.post(good, Cookie=""),
            person.post(good, Host="evil.example"),
            person.post(good, Origin="https://evil.example"),
            person.post(good, Origin="null"),
            person.get(f"{person.server.place}/answer", "POST", b"", **{"Content-Length": "0"}).status,  # no origin
        ],
        404: [person.post(good, "/state"), person.post(good, "/"), person.post(good, "/answer/")],
        409: [person.post(good | {"turn": 99}), person.post({"turn": good["turn"], "answer": "undo"})],
        413: [
            person.post(good, **{"Content-Length": "99999"}),
            person.post(good, **{"Content-Length": "9" * 5000}),
            person.post(good, **{"Content-Length": "-1"}),
        ],
        400: [
            person.post(good | {"why": "x" * (MOST_WORDS + 1)}),
            person.post(good | {"answer": "best"}),
            person.post(good | {"more": 1}),
            person.post(b"[" * 9000),
            person.post(b"\xff{"),
            person.post([]),
        ],
    }
    assert {status: set(got) for status, got in refused.items()} == {status: {status} for status in refused}
    methods = ("PUT", "DELETE", "OPTIONS", "HEAD")
    assert {person.status(f"{person.server.place}/answer", method=method) for method in methods} <= {405, 501}
    assert run.history.comparisons == [] and person.asked()["turn"] == good["turn"]
    assert person.post(good) == 204


def test_films_are_those_of_the_open_question_only(run):
    person = Person(run)
    turn, place = person.asked()["turn"], person.server.place
    left = person.get(f"{place}/films/{turn}/left")
    assert left.headers["Content-Type"] == "video/mp4" and left.read()[4:8] == b"ftyp"
    curves = person.get(f"{place}/curves/{turn}/right")
    assert curves.headers["Content-Type"] == "application/json" and json.loads(curves.read())["values"]["way [m]"]
    assert person.status(f"{place}/curves/{turn + 1}/left") == person.status(f"{place}/frames/{turn}/left") == 404
    for path in (f"{turn}/middle", f"{turn + 1}/left", "x/left", f"{turn}/..%2fevents.jsonl", f"{turn}/left/x"):
        assert person.status(f"{place}/films/{path}") == 404
    assert person.status(f"{place}/films/{turn}/left", Cookie="") == 403
    person.post({"turn": turn, "answer": "same"})
    person.asked(but=turn)
    assert person.status(f"{place}/films/{turn}/left") == 404


def test_an_answer_that_was_taken_back_is_replaced_also_in_the_log(run):
    person = Person(run)
    first = person.asked()
    assert not first["undo"]
    person.post({"turn": first["turn"], "answer": "left"})
    second = person.asked(but=first["turn"])
    assert second["undo"] and not second["again"]
    assert person.post({"turn": second["turn"], "answer": "undo"}) == 204
    again = person.asked(but=second["turn"])
    assert again["again"] and person.post({"turn": second["turn"], "answer": "left"}) == 409
    person.post({"turn": again["turn"], "answer": "right", "why": "looked again"})
    third = person.asked(but=again["turn"])
    assert third["progress"].startswith("1 answer,") and third["undo"] and not third["again"]
    for history in (run.history, History.load(run.folder)):
        assert [(each.number, each.answer, each.why) for each in history.comparisons] == [(0, "right", "looked again")]
    events = [json.loads(line) for line in run.folder.events.read_text().splitlines()]
    said = [event["data"]["comparison"] for event in events if event["kind"] == "compared"]
    assert [(each["number"], each["answer"]) for each in said] == [(0, "left"), (0, "right")]
    assert said[0]["left"] == said[1]["left"] and said[0]["generation"] == said[1]["generation"]


def test_taking_back_can_be_undone_and_keeps_the_answer(run):
    person = Person(run)
    turn = person.asked()["turn"]
    person.post({"turn": turn, "answer": "left"})
    for again in (True, False):
        turn = person.asked(but=turn)["turn"]
        person.post({"turn": turn, "answer": "undo"})
        assert person.asked(but=turn)["again"] is again
    assert [each.answer for each in run.history.comparisons] == ["left"]


def test_an_answer_that_later_plans_rest_on_stays(tmp_path, monkeypatch):
    with asking_run(tmp_path, monkeypatch, generations=2, answers=1) as run:
        person = Person(run)
        turn = person.asked()["turn"]
        person.post({"turn": turn, "answer": "left"})
        assert not person.asked(but=turn)["undo"] and len(run.history.generations) == 2


def test_a_resumed_run_asks_the_same_question_again(tmp_path, monkeypatch):
    asked = []

    class Stopping(Exception):
        pass

    def stop(folder, history, question, note):
        asked.append(question)
        raise Stopping

    monkeypatch.setattr("rewardgen.search.teachers.human.film_clips", stop)
    for _ in range(2):
        search, _history = a_search(tmp_path / "run", Crew(), judge="human", generations=1)
        with pytest.raises(Stopping):
            search()
    assert asked[0] == asked[1]


def test_the_time_limit_ends_the_asking_and_the_question_is_over(tmp_path, monkeypatch):
    with asking_run(tmp_path, monkeypatch, max_minutes=0.03) as run:
        person = Person(run)
        turn = person.asked()["turn"]
        state = until(lambda: (state := person.state())["over"] and state)
        assert state["turn"] is None and person.post({"turn": turn, "answer": "left"}) == 409
        run.thread.join(20)
        assert run.history.comparisons == [] and "time limit" in run.history.stop_reason


@pytest.mark.parametrize("argument", ["x", "70000", "²"])
def test_an_argument_that_is_no_port_is_refused(tmp_path, argument):
    _, history = a_search(tmp_path / "run", Crew())
    config = history.config.model_copy(update={"judge": f"human:{argument}"})
    with pytest.raises(UsageError, match="the port of the page"):
        make_teacher(config, RunFolder(tmp_path / "run"), history)


class Browser:
    """The page in a browser, with what went wrong in it."""

    def __init__(self, chromium, run, width=1280):
        self.page = chromium.new_context(viewport={"width": width, "height": 800}).new_page()
        self.wrong = []
        self.page.on("console", lambda said: self.wrong.append(said.text) if said.type in ("error", "warning") else 0)
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.goto(run.url)

    def question(self, text=""):
        """Wait for the next question, with a text on the page."""
        self.page.wait_for_selector("#question:not([hidden])")
        self.page.wait_for_function("text => document.body.innerText.includes(text)", arg=text)

    def times(self):
        return self.page.evaluate("[...document.querySelectorAll('video')].map((film) => film.currentTime)")


def test_a_question_is_answered_by_key_and_by_button_with_a_reason(chromium, run):
    browser = Browser(chromium, run)
    browser.question("0 answers")
    browser.page.keyboard.press("ArrowRight")
    browser.question("1 answer,")
    browser.page.fill("#why", "it stands = still? <b>u</b>")
    browser.page.keyboard.press("ArrowLeft")  # within the text, no answer
    browser.page.keyboard.press("Enter")
    browser.page.click("[data-answer=left]")
    browser.question("2 answers")
    assert browser.page.input_value("#why") == ""
    browser.page.keyboard.press("?")
    browser.page.wait_for_selector("text=The search has ended")
    assert str(run.folder.path / "report.html") in browser.page.inner_text("#doing")
    answers = [(each.answer, each.why) for each in run.history.comparisons]
    assert answers == [("right", ""), ("left", "it stands = still? <b>u</b>"), ("unclear", "")]
    assert browser.wrong == []


def brought_together(page):
    """Begin anew and move the left film alone; True if they are together again before they end."""
    from playwright.sync_api import TimeoutError  # not installed everywhere

    page.keyboard.press("r")
    page.wait_for_function("() => document.querySelector('#right').currentTime > 0.3")
    page.evaluate("document.querySelector('#left').currentTime = 0")
    with suppress(TimeoutError):
        page.wait_for_function(
            "() => [...document.querySelectorAll('video')].every((film, _, [left]) => !film.seeking"
            " && Math.abs(film.currentTime - left.currentTime) < 0.1 && left.currentTime < 0.9)",
            timeout=1500,
        )
        return True
    return False


def test_films_play_together_and_the_shorter_one_holds_its_last_frame(chromium, run):
    browser = Browser(chromium, run)
    browser.question()
    seen, end = [], time.monotonic() + 2 * max(SECONDS) + 2
    while time.monotonic() < end:
        seen.append(browser.times())
        time.sleep(0.03)
    short, long = SECONDS
    # A busy machine may hold a film up for a moment.
    assert sum(abs(left - min(right, short)) < 0.2 for left, right in seen) > 0.9 * len(seen)
    assert max(left for left, _ in seen) > short - 0.1 and max(right for _, right in seen) > long - 0.1
    assert any(later[1] < earlier[1] - 1.0 for earlier, later in pairwise(seen))  # a loop
    assert any(brought_together(browser.page) for _ in range(4))
    browser.page.keyboard.press(" ")
    time.sleep(0.1)
    still = browser.times()
    time.sleep(0.3)
    assert browser.times() == still
    browser.page.keyboard.press("r")
    assert browser.page.wait_for_function(
        "() => [...document.querySelectorAll('video')].every((film) => !film.currentTime)"
    )
    browser.page.keyboard.press("h")
    browser.page.click("text=Pause")
    began, at = time.monotonic(), browser.times()[1]
    time.sleep(0.5)
    assert 0.2 < (browser.times()[1] - at) / (time.monotonic() - began) < 0.7
    assert browser.wrong == []


def test_curves_of_two_variables_are_drawn_on_demand_with_one_scale_and_follow_the_films(chromium, run):
    browser = Browser(chromium, run)
    browser.question()
    page = browser.page
    assert not page.is_visible(".curves") and page.input_value("select >> nth=0") == ""
    assert page.locator("select").first.locator("option").all_inner_texts() == [
        "none",
        "way [m]",
        "gap",
        "turn x [rad]",
    ]
    page.select_option("select >> nth=0", "way [m]")
    page.select_option("select >> nth=1", "gap")
    left, right = (
        page.eval_on_selector_all(
            f"figure:nth-of-type({side}) path", "all => all.map((each) => each.getAttribute('d'))"
        )
        for side in (1, 2)
    )
    ends = [[float(each) for each in path.split("L")[-1].split(",")] for path in (left[0], right[0])]
    assert ends == [[SECONDS[0] / SECONDS[1], pytest.approx(0.94 - 0.88 * 0.95 / 1.55, abs=1e-5)], [1.0, 0.06]]
    assert left[1].startswith("M0.0625,"), "a step without a number is left out"
    assert "0.05 to 1.6" in page.inner_text("#question")
    page.keyboard.press(" ")
    page.evaluate(
        "() => { const bar = document.querySelector('#time'); bar.value = 0.5; bar.dispatchEvent(new Event('input')) }"
    )
    page.wait_for_selector("figure:nth-of-type(2) >> text=way [m] 0.5")
    mark = page.get_attribute("figure:nth-of-type(2) line", "transform")
    assert mark == f"translate({0.5 / SECONDS[1]})" and serious(page) == []
    page.keyboard.press("ArrowRight")
    browser.question("1 answer,")
    assert page.is_visible(".curves") and len(page.locator("select").first.locator("option").all()) == 4
    assert browser.wrong == []


def test_the_time_bar_seeks_by_pointer_and_by_arrows_and_no_seeking_answers(chromium, run):
    browser = Browser(chromium, run)
    browser.question()
    page = browser.page
    page.keyboard.press(" ")
    box = page.locator("#time").bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.wait_for_function("() => Math.abs(document.querySelector('#right').currentTime - 0.8) < 0.06")
    page.focus("#why")
    for _ in range(20):
        page.keyboard.press("Shift+Tab")
        if page.evaluate("document.activeElement.id") == "time":
            break
    before = browser.times()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("before => document.querySelector('#right').currentTime > before + 0.03", arg=before[1])
    assert browser.times()[0] == pytest.approx(browser.times()[1], abs=0.02)
    page.keyboard.press("End")
    page.wait_for_function("() => document.querySelector('#right').currentTime > 1.5")
    assert browser.times()[0] == pytest.approx(SECONDS[0], abs=0.05)
    assert run.history.comparisons == []
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.keyboard.press("ArrowLeft")  # a bar that was clicked keeps no key
    browser.question("1 answer,")
    assert [each.answer for each in run.history.comparisons] == ["left"] and browser.wrong == []


def test_undo_shows_the_latest_question_again(chromium, run):
    browser = Browser(chromium, run)
    browser.question("0 answers")
    assert browser.page.is_disabled("#undo")
    browser.page.keyboard.press("ArrowLeft")
    browser.question("1 answer,")
    browser.page.keyboard.press("u")
    browser.question("answer this one again")
    browser.page.click("text=Equally good")
    until(lambda: run.history.comparisons[0].answer == "same")
    browser.question("1 answer,")
    assert len(run.history.comparisons) == 1 and browser.wrong == []


def test_words_typed_for_the_open_question_do_not_go_with_an_answer_that_is_taken_back(chromium, run):
    browser = Browser(chromium, run)
    browser.question("0 answers")
    browser.page.keyboard.press("ArrowLeft")
    browser.question("1 answer,")
    for typed, shown, restored in (("open", "Keep that answer", ""), ("latest", "Undo the latest answer", "open")):
        browser.page.fill("#why", typed)
        browser.page.keyboard.press("Enter")
        browser.page.keyboard.press("u")
        browser.question(shown)
        assert browser.page.input_value("#why") == restored
    browser.page.keyboard.press("u")
    browser.question("answer this one again")
    browser.page.click("text=Equally good")
    until(lambda: run.history.comparisons[0].answer == "same")
    browser.question("Undo the latest answer")
    assert run.history.comparisons[0].why == browser.page.input_value("#why") == ""
    assert browser.wrong == []


@pytest.mark.parametrize("width", [1280, 360])
def test_the_page_fits_and_has_no_serious_fault_of_access(chromium, run, width):
    browser = Browser(chromium, run, width)
    browser.question()
    assert browser.page.evaluate("document.documentElement.scrollWidth") <= width
    left, right = (browser.page.locator(f"#{side}").bounding_box() for side in ("left", "right"))
    assert left and right and (left["x"] < right["x"] if width == 1280 else left["y"] < right["y"])
    assert browser.page.inner_text("[data-answer=left]").startswith("Left" if width == 1280 else "Upper")
    assert serious(browser.page) == []


def test_hostile_text_stays_text_and_no_name_or_result_is_on_the_page(chromium, tmp_path, monkeypatch):
    with asking_run(tmp_path, monkeypatch, goal=HOSTILE) as run:
        until(lambda: run.url)
        run.history.card = run.history.card.model_copy(update={"description": f"{HOSTILE} in full", "name": HOSTILE})
        browser = Browser(chromium, run)
        browser.question()
        browser.page.click("summary")
        assert browser.page.inner_text("details p") == f"{HOSTILE} in full"
        assert browser.page.inner_text("h1") == HOSTILE and browser.page.title() != "owned"
        told = browser.page.content() + json.dumps(Person(run).state())
        assert "g00-" not in told and "fitness" not in told.partition("<style>")[0] + browser.page.inner_text("body")
        assert browser.wrong == []


def test_a_page_whose_run_is_gone_says_how_to_go_on(chromium, run):
    browser = Browser(chromium, run)
    browser.question()
    browser.page.route("**/state", lambda route: route.abort())
    browser.page.wait_for_selector(f"text=rewardgen resume {run.folder.word}")
