"""Teachers that are language models: what they are sent over HTTP, and what becomes of their answers."""

import asyncio
import base64
import io
import json

import pytest
from PIL import Image

from rewardgen.core.config import RunConfig
from rewardgen.core.errors import BudgetExhausted, ModelError, UsageError
from rewardgen.film import shooting
from rewardgen.film.clips import CLIPS
from rewardgen.llm.archive import call_name, read_archive
from rewardgen.llm.factory import judging_model, make_llm
from rewardgen.search.forecast import forecast
from rewardgen.search.judge import make_judge
from rewardgen.search.lifecycle import lasting
from rewardgen.search.teachers import asking
from rewardgen.search.teachers.asking import ReaderTeacher, VisionTeacher, read_answer
from rewardgen.search.teachers.protocol import Answered, TeacherSetup
from rewardgen.store.run_folder import RunFolder
from rewardgen.testing.server import Answer, ChatServer
from tests.film.judged_run import make_run, question
from tests.llm.test_mailbox import answer_all
from tests.search.parts import Crew, a_search
from tests.tasks.files import POINT

ASKED = question("g00-k0", "g00-k1", 3)
RED, BLUE = (200, 0, 0), (0, 0, 200)


def png(colour):
    file = io.BytesIO()
    Image.new("RGB", (32, 18), colour).save(file, "PNG")
    return file.getvalue()


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run whose clips are filmed already: g00-k0 is red, g00-k1 blue."""
    place = tmp_path_factory.mktemp("run") / "run"
    search, history = a_search(place, Crew(), generations=1, candidates=2)
    search()
    films = place / CLIPS / "g00-k0-g00-k1-s0-t3"
    films.mkdir(parents=True)
    times = {}
    for id, colour in (("g00-k0", RED), ("g00-k1", BLUE)):
        for number in range(3):
            (films / f"{id}-{number}.png").write_bytes(png(colour))
        times[id] = [0.0, 1.25, 2.5]
    (films / "index.json").write_text(json.dumps(times))
    return place, history


def colours(body):
    """The colours of the pictures of a request, in order."""
    parts = [
        part for message in body["messages"] if isinstance(message["content"], list) for part in message["content"]
    ]
    urls = [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]
    content = [base64.b64decode(url.removeprefix("data:image/png;base64,")) for url in urls]
    return [Image.open(io.BytesIO(each)).getpixel((0, 0)) for each in content]


def texts(body):
    contents = [message["content"] for message in body["messages"]]
    parts = [part for each in contents for part in (each if isinstance(each, list) else [{"text": each}])]
    return [part["text"] for part in parts if "text" in part]


def ask(run, server, folder, notes=None, teacher=VisionTeacher, number=7, **config):
    """The answer of a teacher on the question, by a model behind a server."""
    path, history = run
    judge = "reader:openai/judge" if teacher is ReaderTeacher else "openai/judge"
    settings = {"task": "point", "judge": judge, "api_base": server.api_base} | config
    llm = make_llm(RunConfig.model_validate(settings), RunFolder(folder))
    note = notes.append if notes is not None else lambda text: None
    setup = TeacherSetup(judge, RunFolder(path), history, note, llm)
    return asyncio.run(teacher(setup).answer(ASKED, number))


def likes(colour, delay_s=0.0):
    """A judge that prefers the episode of a colour."""

    def answer(number, body):
        place = "first" if colours(body)[0] == colour else "second"
        text = f"The one rolls, the other stands.\n\nANSWER: {place}\nBECAUSE: it rolls to the mark\n"
        return Answer(text, delay_s=delay_s)

    return answer


def test_a_good_judge_decides_in_both_orders_alike_and_says_why(run, tmp_path):
    with ChatServer(likes(BLUE)) as server:
        assert ask(run, server, tmp_path) == Answered("right", "it rolls to the mark")
    with ChatServer(likes(RED)) as server:
        assert ask(run, server, tmp_path / "other").answer == "left"


def test_pictures_of_both_episodes_go_out_at_once_in_both_orders_with_their_times(run, tmp_path):
    with ChatServer(likes(BLUE, delay_s=0.5)) as server:
        ask(run, server, tmp_path)
    assert server.most_at_once == 2
    assert sorted(map(colours, server.bodies)) == [[BLUE] * 3 + [RED] * 3, [RED] * 3 + [BLUE] * 3]
    for body in server.bodies:
        told = texts(body)
        assert told[-6:] == [
            f"{name} episode, {time} s" for name in ("first", "second") for time in ("0.00", "1.25", "2.50")
        ]
        assert "Move a point to the origin." in told[1] and "50 of 100 steps" in told[1]
        assert not [word for word in ("fitness", "success", "g00") if word in "".join(told)]


def by_subtasks(body, wins):
    """A reply on two subtasks, of which the episode of a colour is the better in one."""
    place = "first" if colours(body)[0] == wins else "second"
    lines = f"**SUBTASK:** reach the mark | {place} | there at 1.2 s\n- Subtask: stop there | Same | neither stops\n"
    return Answer(f"It rolls.\n\n{lines}ANSWER: {place}\nBECAUSE: it rolls")


@pytest.mark.parametrize(("colour", "side"), [(BLUE, "right"), (RED, "left")])
def test_subtasks_join_the_reason_with_the_better_side_as_designers_know_it(run, tmp_path, colour, side):
    with ChatServer(lambda number, body: by_subtasks(body, colour)) as server:
        answered = ask(run, server, tmp_path)
    assert answered == Answered(
        side, f"it rolls; reach the mark: {side}, there at 1.2 s; stop there: same, neither stops"
    )
    assert all("in their order" in texts(body)[0] and "SUBTASK: " in texts(body)[0] for body in server.bodies)


def test_the_goal_of_the_run_is_told(tmp_path, run, monkeypatch):
    path, history = run
    monkeypatch.setattr(history, "config", history.config.model_copy(update={"goal": "roll slowly"}))
    with ChatServer(likes(BLUE)) as server:
        ask((path, history), server, tmp_path)
    assert all("> roll slowly" in texts(body)[1] for body in server.bodies)


def test_a_judge_that_always_takes_the_first_finds_them_the_same(run, tmp_path):
    with ChatServer(Answer("ANSWER: first\nBECAUSE: it is better")) as server:
        assert ask(run, server, tmp_path) == Answered("same", "the answer changes with the order")


def test_a_judge_that_answers_neither_order_ends_the_run_so_that_nothing_is_recorded(run, tmp_path):
    refusing = ChatServer(Answer("no pictures here", status=400))
    with refusing as server, pytest.raises(ModelError, match="no pictures here") as failed:
        ask(run, server, tmp_path)
    assert "resume" in failed.value.hint


def test_one_order_without_an_answer_is_unclear_and_told(run, tmp_path):
    def answer(number, body):
        return Answer("ANSWER: first\nBECAUSE: x") if colours(body)[0] == RED else Answer("too long", status=400)

    notes = []
    with ChatServer(answer) as server:
        answered = ask(run, server, tmp_path, notes)
    assert answered.answer == "unclear" and "too long" in answered.why
    assert len(notes) == 1 and "question 7, in one of both orders" in notes[0]


def test_one_unclear_order_makes_the_answer_unclear(run, tmp_path):
    def answer(number, body):
        return Answer("ANSWER: first\nBECAUSE: x" if colours(body)[0] == RED else "ANSWER: unclear\nBECAUSE: too dark")

    with ChatServer(answer) as server:
        assert ask(run, server, tmp_path) == Answered("unclear", "too dark")


@pytest.mark.parametrize(
    ("text", "answer", "why"),
    [
        ("It falls.\n\n**ANSWER:** Second\n**BECAUSE:** it stands.", "right", "it stands."),
        ("ANSWER: same\nBECAUSE: both fall", "same", "both fall"),
        ("ANSWER: first", "left", ""),
        ("ANSWER: first | second | same | unclear", "unclear", "no readable answer"),
        ("The answer: first, of course", "unclear", "no readable answer"),
        ("ANSWER: first\nOn reflection ...\nANSWER: second\nBECAUSE: x", "unclear", "contradictory answers"),
        ("word " * 5000, "unclear", "no readable answer"),
        ("SUBTASK: stand | first | up\nANSWER: second", "right", "stand: left, up"),
        ("SUBTASK: stand\nSUBTASK: a | none | x\nSUBTASK: b | first |\nANSWER: same\nBECAUSE: y", "same", "y"),
        ("SUBTASK: a | first | x\n" * 9 + "ANSWER: first\nBECAUSE: y", "left", "; ".join(["y"] + ["a: left, x"] * 5)),
        ("SUBTASK: a | first | x\nI cannot decide.", "unclear", "no readable answer"),
        ("", "unclear", "no readable answer"),
    ],
)
def test_only_the_form_that_was_asked_for_is_an_answer(text, answer, why):
    assert read_answer(text) == Answered(answer, why)


def test_a_resumed_run_pays_for_no_answer_twice_and_other_pictures_are_another_call(run, tmp_path):
    with ChatServer(likes(BLUE)) as server:
        first, again = (ask(run, server, tmp_path) for _ in range(2))
        assert first == again and len(server.bodies) == 2
    calls = read_archive(RunFolder(tmp_path).calls)
    assert len(calls) == 2 and calls[0].request.messages[1].pictures
    message = calls[0].request.messages[1]
    fewer = message.model_copy(update={"pictures": message.pictures[1:]})
    other = calls[0].request.model_copy(update={"messages": (calls[0].request.messages[0], fewer)})
    assert call_name(other) != call_name(calls[0].request)
    transcript = (tmp_path / "comparisons" / "judge-7-left-first.md").read_text()
    assert "[picture: second episode, 2.50 s]" in transcript and "ANSWER: second" in transcript


def test_a_limit_on_tokens_counts_pictures_and_ends_the_asking(run, tmp_path):
    with ChatServer(likes(BLUE)) as server, pytest.raises(BudgetExhausted):
        ask(run, server, tmp_path, max_tokens=6000)  # room for a call without its pictures
    assert not server.bodies


def test_a_mailbox_gets_the_pictures_as_files(run, tmp_path):
    path, history = run
    box, seen = tmp_path / "box", {}
    config = RunConfig(task="point", judge=f"mailbox:{box}")
    box.mkdir()

    def write(reply, text):
        files = [
            line.split(": ")[1].removesuffix(" =====") for line in text.splitlines() if "===== first episode" in line
        ]
        seen[reply.name] = [Image.open(box / file).getpixel((0, 0)) for file in files]
        reply.write_text(f"ANSWER: {'first' if seen[reply.name][0] == RED else 'second'}\nBECAUSE: red\n")

    thread = answer_all(box, 2, write)
    llm = make_llm(config, RunFolder(tmp_path / "run"))
    setup = TeacherSetup(config.judge, RunFolder(path), history, llm=llm)
    assert asyncio.run(VisionTeacher(setup).answer(ASKED, 0)) == Answered("left", "red")
    thread.join(10.0)
    assert sorted(seen.values()) == [[BLUE] * 3, [RED] * 3]
    assert not list(box.glob("*.md"))


def test_a_reader_gets_both_tables_and_no_pictures(run, tmp_path, monkeypatch):
    monkeypatch.setattr(asking, "clip_texts", lambda *_, **__: ("height 3", "height 1"))

    def answer(number, body):
        told = texts(body)[1]
        return Answer(
            f"ANSWER: {'first' if told.index('height 3') < told.index('height 1') else 'second'}\nBECAUSE: up"
        )

    with ChatServer(answer) as server:
        assert ask(run, server, tmp_path, teacher=ReaderTeacher) == Answered("left", "up")
    assert all(isinstance(message["content"], str) for body in server.bodies for message in body["messages"])
    assert all("`speed` [m/s]" in texts(body)[1] for body in server.bodies)


@pytest.mark.parametrize(
    ("judge", "model"),
    [
        ("fitness", ""),
        ("simulated:oracle", ""),
        ("openai/gpt-5.1", "openai/gpt-5.1"),
        ("ollama/llava:7b", "ollama/llava:7b"),
        ("reader:openai/gpt-5.1", "openai/gpt-5.1"),
        ("reader:mailbox:box", "mailbox:box"),
        ("mailbox:box", "mailbox:box"),
    ],
)
def test_the_name_of_a_judge_names_its_model(judge, model):
    assert judging_model(judge) == model
    make_judge(RunConfig(task="point", judge=judge))


def test_an_unknown_judge_is_told_with_all_judges_and_teachers_and_a_reader_needs_a_model():
    with pytest.raises(UsageError, match="unknown judge `gpt-5`") as error:
        make_judge(RunConfig(task="point", judge="gpt-5"))
    assert all(name in error.value.hint for name in ("fitness", "signals", "simulated", "reader", "PROVIDER/MODEL"))
    with pytest.raises(UsageError, match="names no model") as error:
        make_judge(RunConfig(task="point", judge="reader:"))
    assert "reader:MODEL" in error.value.hint


def test_the_mailbox_of_a_judge_is_found_from_elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    config = RunConfig(task=str(POINT), judge="reader:mailbox:box")
    assert lasting(config, tmp_path).judge == f"reader:mailbox:{tmp_path / 'box'}"


def test_a_forecast_counts_and_prices_the_calls_of_the_judge(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "no-key")
    config = RunConfig(task=str(POINT), generations=2, answers=5, judge="openai/gpt-4o")
    seen = forecast(config, measured=False)
    assert (seen.calls.low, seen.calls.high) == (2, 20)
    assert seen.cost_usd and 0.0 < seen.cost_usd.low < seen.cost_usd.high
    assert seen.tokens.high > 20 * 16 * 70
    read = forecast(config.model_copy(update={"judge": "reader:openai/gpt-4o"}), measured=False)
    assert read.calls == seen.calls and read.tokens.high < seen.tokens.high


@pytest.mark.slow
def test_a_whole_run_is_decided_by_a_model_that_sees_the_films(tmp_path):
    def answer(number, body):
        first, second = texts(body)[1].split("## The second episode")
        place = "first" if "ended by left" in first else "second" if "ended by left" in second else "same"
        return Answer(f"ANSWER: {place}\nBECAUSE: it leaves")

    if shooting.renderer() is None:
        pytest.skip(f"{shooting.NO_OPENGL}; {shooting.INSTALL_OPENGL}")
    with ChatServer(answer) as server:
        config = RunConfig(task="point", judge="openai/judge", api_base=server.api_base)
        llm = make_llm(config, RunFolder(tmp_path / "run"))
        _, history = make_run(tmp_path, judge="openai/judge", answers=4, llm=llm)
    assert 1 <= len(history.comparisons) <= 4 and len(server.bodies) == 2 * len(history.comparisons)
    assert {each.teacher for each in history.comparisons} == {"openai/judge"}
    assert all(len(colours(body)) > 8 for body in server.bodies)
    for each in history.comparisons:
        ends = [
            history.trained["search", clip.candidate_id, 0].outcomes[clip.start].ending
            for clip in (each.left, each.right)
        ]
        expected = {("left", "time limit"): "left", ("time limit", "left"): "right"}.get(tuple(ends), "same")
        assert each.answer == expected
