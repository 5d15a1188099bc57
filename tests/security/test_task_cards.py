"""What a task file says of itself, in its words and its errors: no command to a terminal, and nothing hidden."""

import pytest

from rewardgen.core.errors import RewardgenError
from rewardgen.llm.prompts import designer_messages
from rewardgen.store.events import EventLog
from rewardgen.store.history import History
from rewardgen.store.records import DesignRequest, TaskCard
from rewardgen.training.cache import get_or_measure
from tests.tasks.files import point
from tests.ui.story import events

CLIPBOARD = r"\x1b]52;c;ZXZpbA==\x07"
CLEAR = r"\x1b[2J\x9b2J"
HIDDEN = r"\u202e\u2066\u200b\ufeff" + r"\U000e0049\U000e0047"

METER = '"velocity along the rail"'
WORDS = (
    ('"""Push a point along', '"""' + CLIPBOARD + "Push a point along"),
    (METER, f'"velocity{CLEAR}{HIDDEN}"'),
    ('Var("m/s"', f'Var("m/s{CLIPBOARD}{HIDDEN}"'),
    ('"""Anywhere between', f'"""{HIDDEN}{CLEAR}Anywhere between'),
    ('"""Position and velocity."""', f'"""Position{CLEAR} and velocity.{HIDDEN}"""'),
    ('"left the rail"', f'"left{CLIPBOARD}{CLEAR}{HIDDEN} the rail"'),
    ('"""The point is more', f'"""{CLIPBOARD}The point is more'),
    ('"""Share of the episode', f'"""{HIDDEN}Share of the episode'),
    ('"""Within 10 cm', f'"""Within\\r{CLEAR} 10 cm'),
)
"""Passages of a task file, all that it says of itself, and what stands there instead."""
TEXTS = {
    "all its words": WORDS,
    "half a character": [(METER, r'"velocity \ud83d"')],
    "a text without end": [(METER, '"velocity " + "x" * 3_000_000')],
}
ERRORS = {
    "an error when it is loaded": [("import torch\n", f"raise ValueError('{CLIPBOARD}{CLEAR}{HIDDEN}')\n")],
    "an error when it is played": [("return episode.share", f"raise ValueError('{CLEAR}{HIDDEN}')\n        return 0")],
    "what it prints": [("import torch\n", f"import torch\nprint('{CLIPBOARD}{CLEAR}')\n")],
}

COMMANDS = [
    ("tasks", "show"),
    ("tasks", "check", "--json"),
    *(pytest.param(words, marks=pytest.mark.slow) for words in (("tasks", "show", "--json"), ("tasks", "check"))),
]


@pytest.mark.parametrize("where", TEXTS | ERRORS)
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_the_words_of_a_task_give_the_terminal_no_commands(rewardgen, tmp_path, where, command):
    (tmp_path / "task").mkdir()
    done = rewardgen(*command, point(tmp_path / "task", *(TEXTS | ERRORS)[where]))
    assert {each for each in done.stdout + done.stderr if not each.isprintable()} <= {"\n"}
    assert "unexpectedly" not in done.stderr
    assert done.stdout or done.stderr
    assert where != "all its words" or done.returncode == 0, "it tells them all"


@pytest.mark.parametrize("where", TEXTS)
def test_the_words_of_a_task_are_told_to_a_model_as_a_reader_sees_them(tmp_path, where):
    card = get_or_measure(point(tmp_path, *TEXTS[where])).card
    data = events()[0].data | {"card": card.model_dump(mode="json")}
    history = History([EventLog(tmp_path / "events.jsonl").append("run-started", 0.0, data)])
    request = DesignRequest(candidate_id="g00-k0", generation=0, operator="draft", card=history.card)
    for message in designer_messages(request):
        assert {each for each in message.content if not each.isprintable()} <= {"\n"}


def test_a_task_file_whose_name_is_a_command_is_named_without_it(rewardgen, tmp_path):
    (tmp_path / "task").mkdir()
    path = tmp_path / "task" / "point.py"
    point(tmp_path / "task")
    named = path.rename(path.with_name("po\x1b]0;x\x07\x9b2Jint.py"))
    for command in ("show", "check"):
        done = rewardgen("tasks", command, str(named))
        assert {each for each in done.stdout + done.stderr if not each.isprintable()} <= {"\n"}


MALFORMED = {
    "a shape without end": lambda card: card["variables"][0].update(shape=[10**9] * 9),
    "ranges that are missing": lambda card: card.update(action_low=[]),
    "parts that are missing": lambda card: card.update(action_parts=["a", "b"], action_low=[0, 1], action_high=[1, 2]),
    "no variables": lambda card: card.update(variables=[]),
    "an endless episode": lambda card: card.update(episode_steps=10**30, control_step_s=1e300),
    "a path for a name": lambda card: card.update(name="../../../outside"),
    "a fingerprint that is code": lambda card: card.update(fingerprint="{{ 7 * 7 }}", description="{% include 'x' %}"),
}


@pytest.mark.parametrize("change", MALFORMED)
def test_a_card_that_no_task_has_is_an_error_or_is_told(tmp_path, change):
    """In a prompt, where all of it is rendered."""
    data = events()[0].data
    card = TaskCard.model_validate(data["card"]).model_dump(mode="json")
    MALFORMED[change](card)
    try:
        known = TaskCard.model_validate(card)
        text = designer_messages(DesignRequest(candidate_id="a", generation=0, operator="draft", card=known))[1].content
    except (RewardgenError, ValueError):
        return
    assert len(text) < 100_000 and "49" not in text
