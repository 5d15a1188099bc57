"""From words to a task file, by a language model behind a real server: drafts, sketches, what is refused, and a run."""

import json

import pytest

from rewardgen.testing.server import Answer, ChatServer
from tests.e2e.command import on_a_terminal, rewardgen
from tests.tasks.drafts import draft
from tests.tasks.files import POINT, replaced
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
        made = new(chat, place, "--yes", "--json")
        assert made.returncode == 0, made.stderr
        return place, (stopped, files, asked), (made, chat.bodies[len(asked) :])


def test_words_become_a_task_file_whose_metric_was_tried(drafted):
    place, (_, _, asked), (made, _) = drafted
    told = json.loads(made.stdout)
    again = rewardgen("tasks", "check", told["file"], "--json", cwd=place)
    assert len(asked) == 4  # a draft and three authors
    assert told["trial"]["verdict"]["authors"][0]["faults"] == []
    assert "the metric holds" in made.stderr and "How exact?" in made.stderr
    text = (place / told["file"]).read_text()
    assert "Nobody has read it" in text and WORDS in text
    found = json.loads(again.stdout)
    assert again.returncode == 0 and found["problems"] == [] and len(found["trial"]["authors"]) == 3
    assert all(WORDS not in json.dumps(body["messages"][0]) for body in asked)


def test_nobody_to_confirm_stops_and_the_next_time_asks_for_nothing_again(drafted):
    place, (stopped, files, _), (_, asked_again) = drafted
    assert stopped.returncode == 2 and "nobody has confirmed" in stopped.stderr
    assert not files and not asked_again
    with server(GOOD) as chat:
        exists = new(chat, place, "--yes")
    assert exists.returncode == 2 and "exists" in exists.stderr


@pytest.mark.parametrize(
    ("typed", "calls", "said"),
    [("make it slow\ny\n", 5, "A person has read"), ("n\n", 4, "")],
)
def test_a_person_on_a_terminal_confirms_or_says_what_to_change(tmp_path, typed, calls, said):
    with server(GOOD) as chat:
        code, shown = on_a_terminal(*words(chat), cwd=tmp_path, typed=typed, COLUMNS="100", **KEY)
    files = list(tmp_path.glob("*.py"))
    assert "use this task? [y/N, or what to change]" in shown and "Traceback" not in shown
    assert code == (0 if said else 2) and len(files) == bool(said) and len(chat.bodies) == calls
    assert all(said in each.read_text() for each in files)
    assert ("> make it slow" in last_messages(chat)[-1]) == ("slow" in typed)


def test_a_metric_that_does_not_hold_goes_back_with_the_evidence(tmp_path):
    with server(BAD, GOOD) as chat:
        made = new(chat, tmp_path, "--yes")
    assert made.returncode == 0, made.stderr
    evidence = [
        body["messages"][-1]["content"] for body in chat.bodies if "does not hold" in body["messages"][-1]["content"]
    ]
    assert len(evidence) == 1 and "the same for all" in evidence[0] and "| right 10 |" in evidence[0]
    assert "`partial 3`: pitch" in evidence[0]


@pytest.mark.slow
def test_a_metric_that_never_holds_is_no_task(tmp_path):
    with server(BAD) as chat:
        made = new(chat, tmp_path, "--yes")
    assert made.returncode == 2 and "does not hold" in made.stderr
    assert not list(tmp_path.glob("*.py"))


def test_a_hostile_draft_is_refused_with_the_line_and_never_run(tmp_path):
    with server(HOSTILE, GOOD) as chat:
        made = new(chat, tmp_path, "--yes")
    assert made.returncode == 0, made.stderr
    told = [
        body["messages"][-1]["content"] for body in chat.bodies if "cannot be used" in body["messages"][-1]["content"]
    ]
    assert len(told) == 1 and "declares `stolen` in an unusual way" in told[0]


@pytest.mark.parametrize("text", ["no task at all", "\x1b]52;c;aGk=\x07```python\nclass A(MujocoTask): pass\n```"])
def test_a_model_that_writes_no_task_ends_with_a_sentence(tmp_path, text):
    with server(text) as chat:
        made = new(chat, tmp_path, "--yes")
        asked = len(chat.bodies)
        assert made.returncode == 2 and "what the model drafted is no task" in made.stderr
        assert "\x1b" not in made.stderr and "Traceback" not in made.stderr
        new(chat, tmp_path, "--yes")
        assert len(chat.bodies) == 2 * asked, "trying again asks again"
    assert len(list(tmp_path.glob("*.draft-failed-[12]"))) == 2


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


HALF_WAY = "slide half a metre to the right and stay there"
SLIDER = """MISSES: Nothing.
```python
class HalfWay(MujocoTask):
    \"\"\"A sphere on a rail along x, which starts at 0. It should slide to x = 0.5 m and stay there.\"\"\"

    episode_steps = 50
    x = Slide("slide").position
    x_velocity = Slide("slide").velocity

    @staticmethod
    def metric(x):
        \"\"\"Nearness to 0.5 m over the last half, 0 to 1.

        It is within 30 cm of it throughout the last half.
        \"\"\"
        near = (1.0 - 2.0 * (x[:, -25:] - 0.5).abs()).clamp(0.0, 1.0).mean(1)
        stays = ((x[:, -25:] - 0.5).abs() < 0.3).float().amin(1)
        return {"near": near, "fitness": 0.5 * near + 0.5 * stays, "success": stays > 0.5}
```"""
GOES = """```python
def compute_reward(x, x_velocity):
    return {"near": 1.0 - (x - 0.5).abs(), "slow": -0.1 * x_velocity.square()}
```"""


def slides():
    def of(kind, rank, *places):
        return {
            "name": f"{kind} {rank}",
            "kind": kind,
            "rank": rank,
            "keyframes": [{"t": t, "x": x} for t, x in places],
        }

    return [
        *(of("nothing", 0, (0.0, 0.0)), of("partial", 1, (0.4, 0.15)), of("partial", 0.5, (0.4, 0.1))),
        *(of("right", 9, (0.4, 0.5)), of("right", 9, (0.2, 0.3), (0.45, 0.5))),
        *(of("cheat", 0, (1.0, 2.0)), of("cheat", 0, (0.4, -0.5)), of("cheat", 0, (0.3, 0.5), (0.8, 0.0))),
    ]


@pytest.mark.slow
def test_a_result_that_is_not_what_was_asked_starts_one_redraft_if_nobody_is_to_be_asked(tmp_path):
    motor, servo = (
        '<motor name="force" joint="slide" ctrlrange="-1 1" gear="4"/>',
        '<position joint="slide" kp="20" dampratio="1"',
    )
    rail = replaced(POINT.with_suffix(".xml").read_text(), (motor, servo + ' ctrlrange="-2 2"/>'))
    (tmp_path / "rail.xml").write_text(rail)
    texts = {"You know what people": reply(slides()), "You define tasks": SLIDER, "You are asked": "{}"}
    texts |= {"You judge": json.dumps({"answer": "no", "why": "It trembles at 0.5 m."}), "You diagnose": "Fine."}

    def answer(_, body):
        system = body["messages"][0]["content"]
        return Answer(next((text for said, text in texts.items() if system.startswith(said)), GOES))

    short = (
        "--no-films",
        "--candidates",
        "1",
        "--generations",
        "1",
        "--seeds",
        "1",
        "--leaders",
        "1",
        "--final-seeds",
        "1",
    )
    with ChatServer(answer) as chat:
        asked = ("--model", "openai/local", "--api-base", chat.api_base, "--env-steps", "40000", "--yes", "--json")
        made = rewardgen("run", HALF_WAY, "--robot", "rail.xml", *asked, *short, cwd=tmp_path, **KEY)
    assert made.returncode == 0, made.stderr
    told = json.loads(made.stdout)
    assert told["summary"]["rows"][0]["success_rate"] > 0.5, made.stderr
    drafts = [body["messages"] for body in chat.bodies if body["messages"][0]["content"].startswith("You define")]
    assert [len(each) for each in drafts] == [2, 4]
    assert "It trembles at 0.5 m." in drafts[1][-1]["content"] and "drafted once more" in made.stderr
    first, second = sorted(each.stem for each in tmp_path.glob("*.py"))
    assert second == f"{first}_2" and len(list((tmp_path / "runs").iterdir())) == 2
