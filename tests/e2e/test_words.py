"""From words to a task file, by a language model behind a real server: drafts, sketches, what is refused, and a run."""

import json

import pytest

import rewardgen as rewardgen_api
from rewardgen.core.errors import UsageError
from rewardgen.testing.server import Answer, ChatServer
from tests.e2e.command import on_a_terminal, rewardgen
from tests.tasks.drafts import draft
from tests.tasks.test_sketches import nine, reply

WORDS = "do one backflip and land standing"
KEY = {"OPENAI_API_KEY": "sk-local"}
GOOD = draft()
BAD = draft(("fitness = 0.4 * turned + 0.6 * once * stands", "fitness = 0.0 * turned"))
HOSTILE = draft(("    ends =", '    stolen = open("/etc/passwd").read()\n    ends ='))


def server(*drafts, sketches=None):
    """Answers each request for a draft with the next one, and each for sketches with the same."""
    waiting = list(drafts)

    def answer(_, body):
        system = body["messages"][0]["content"]
        if system.startswith("You know what people mean"):
            return Answer(sketches or reply(nine()))
        if system.startswith("You define tasks"):
            return Answer(waiting.pop(0) if len(waiting) > 1 else waiting[0])
        return Answer("I cannot say.")

    return ChatServer(answer)


def words(chat):
    return "new", WORDS, "--robot", "hopper", "--model", "openai/local", "--api-base", chat.api_base


def new(chat, folder, *options):
    return rewardgen(*words(chat), *options, cwd=folder, **KEY)


def last_messages(chat):
    return [body["messages"][-1]["content"] for body in chat.bodies]


@pytest.fixture(scope="module")
def drafted(tmp_path_factory):
    """Where a task was drafted, the commands that nobody, then `--yes` confirmed, and the requests of each."""
    place = tmp_path_factory.mktemp("drafted")
    with server(GOOD) as chat:
        stopped = new(chat, place)
        files, asked = list(place.glob("*.py")), list(chat.bodies)
        first = next(place.rglob("draft-1.py"))
        first.write_text(first.read_text() + "# mine\n")
        made = new(chat, place, "--yes", "--json")
        assert made.returncode == 0, made.stderr
        return place, (stopped, files, asked), (made, chat.bodies[len(asked) :])


def test_words_become_a_task_file_whose_metric_was_tried(drafted):
    place, (_, _, asked), (made, _) = drafted
    told = json.loads(made.stdout)
    assert len(asked) == 4  # a draft and three authors
    assert told["trial"]["verdict"]["authors"][0]["faults"] == []
    assert "the metric holds" in made.stderr and "How exact?" in made.stderr
    text = (place / told["file"]).read_text()
    assert "a person may not have read it" in text and WORDS in text
    assert len(told["trial"]["authors"]) == 3
    assert all(WORDS not in json.dumps(body["messages"][0]) for body in asked)


def test_nobody_to_confirm_stops_and_the_next_time_asks_for_nothing_again(drafted):
    place, (stopped, files, _), (_, asked_again) = drafted
    assert stopped.returncode == 3 and "nobody has confirmed" in stopped.stderr
    assert not files and not asked_again
    with server(GOOD) as chat:
        exists = new(chat, place, "--yes")
    assert exists.returncode == 2 and "exists" in exists.stderr
    assert f"--model openai/local --api-base {chat.api_base} --goal" in exists.stderr


@pytest.mark.parametrize(
    ("typed", "calls", "said"),
    [("make it slow\ny\n", 8, "A person has read"), pytest.param("n\n", 4, "", marks=pytest.mark.slow)],
)
def test_a_person_on_a_terminal_confirms_or_says_what_to_change(tmp_path, typed, calls, said):
    with server(GOOD) as chat:
        code, shown = on_a_terminal(*words(chat), cwd=tmp_path, typed=typed, COLUMNS="100", **KEY)
    files = list(tmp_path.glob("*.py"))
    assert "use this task? [y/N, or what to change]" in shown and "Traceback" not in shown
    assert code == (0 if said else 2) and len(files) == bool(said) and len(chat.bodies) == calls
    assert all(said in each.read_text() for each in files)
    asked = [text for text in last_messages(chat) if "make it slow" in text]
    assert len(asked) == (4 if said else 0)  # the author of the task, and three of new sketches
    assert all(f"{WORDS} Correction: make it slow" in each.read_text() for each in files)


@pytest.mark.slow
def test_a_correction_is_kept_when_the_corrected_draft_is_declined(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-local")
    with server(GOOD) as chat:
        words = WORDS, "hopper", "openai/local"
        place, answers = {"file": tmp_path / "flip.py", "api_base": chat.api_base}, ["make it slow", False]
        with pytest.raises(UsageError, match="nothing was written"):
            rewardgen_api.draft(*words, **place, confirm=lambda drafted: answers.pop(0))
        calls = len(chat.bodies)
        made = rewardgen_api.draft(*words, **place)
        assert len(chat.bodies) == calls == 8 and made.drafted.words.endswith("Correction: make it slow")
        made.file.unlink()
        other = rewardgen_api.draft("do two backflips", *words[1:], **place)
    assert other.drafted.words == "do two backflips"


def test_a_hostile_draft_is_never_run_and_it_and_a_metric_that_does_not_hold_go_back_with_why(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-local")
    with server(HOSTILE, BAD, GOOD) as chat:
        made = rewardgen_api.draft(WORDS, "hopper", "openai/local", file=tmp_path / "flip.py", api_base=chat.api_base)
    assert made.file.is_file() and made.drafted.trial.verdict.passed and made.usage.calls == len(chat.bodies) == 6
    evidence = [text for text in last_messages(chat) if "does not hold" in text]
    assert len(evidence) == 1 and "the same for all" in evidence[0] and "| right 10 |" in evidence[0]
    assert "`partial 3`: pitch" in evidence[0]
    (refused,) = [text for text in last_messages(chat) if "cannot be used" in text]
    assert "declares `stolen` in an unusual way" in refused


@pytest.mark.parametrize("text", ["no task at all", "\x1b]52;c;aGk=\x07```python\nclass A(MujocoTask): pass\n```"])
def test_a_model_that_writes_no_task_ends_with_a_sentence(tmp_path, text):
    with server(text) as chat:
        made = new(chat, tmp_path, "--yes")
        asked = len(chat.bodies)
        assert made.returncode == 2 and "what the model drafted is no task" in made.stderr
        assert "\x1b" not in made.stderr and "Traceback" not in made.stderr
        (folder,) = tmp_path.glob("*.draft")
        assert "delete it to ask again" in made.stderr and asked == 4 and folder.is_dir()


def test_sketches_that_cannot_be_are_sent_back(tmp_path):
    with server(GOOD, sketches="```json\n{}\n```") as chat:
        made = new(chat, tmp_path, "--yes")
    assert made.returncode == 2 and "no author drew sketches" in made.stderr
    assert sum("cannot be used as they are" in text for text in last_messages(chat)) == 6


def test_words_without_a_model_name_the_ways_on(tmp_path):
    told = rewardgen("run", WORDS, "--robot", "hopper", cwd=tmp_path)
    assert told.returncode == 2 and "--model" in told.stderr and "rewardgen new --robot hopper" in told.stderr
    told = rewardgen("run", WORDS, cwd=tmp_path)
    assert told.returncode == 2 and "--robot" in told.stderr


def test_an_edited_draft_is_kept_when_it_is_written_again(drafted):
    place = drafted[0]
    assert next(place.rglob("draft-1.before.py")).read_text().endswith("# mine\n")
    assert not next(place.rglob("draft-1.py")).read_text().endswith("# mine\n")


def test_a_person_s_metric_is_tried_on_sketches(tmp_path):
    task = draft().partition("```python\n")[2].rpartition("```")[0]
    imports = "import math\nimport torch\nfrom rewardgen import *\nfrom rewardgen.reward.tolerance import tolerance\n"
    model = '    model = "gymnasium:hopper.xml"\n    frame_skip = 10\n'
    task = task.replace("    episode_steps", f"{model}    episode_steps")
    (tmp_path / "mine.py").write_text(imports + task)
    with server(GOOD) as chat:
        found = rewardgen(
            *("tasks", "check", "mine.py", "--model", "openai/local", "--api-base", chat.api_base, "--json"),
            cwd=tmp_path,
            **KEY,
        )
    assert found.returncode == 0, found.stdout + found.stderr
    assert len(json.loads(found.stdout)["trial"]["authors"]) == 3
    assert "It should do one backflip" in chat.bodies[0]["messages"][1]["content"]
    assert "0.4 * turned" not in json.dumps(chat.bodies)
