import sys
import time
import unicodedata

import pytest

from rewardgen.core.text import visible
from rewardgen.store.events import EventLog, read_events
from rewardgen.store.messages import Message, Reply


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("plain text, ünïcode, 日本 and ✅\n\tindented", "plain text, ünïcode, 日本 and ✅\n\tindented"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x9b2Jcleared", "cleared"),
        ("\x1b]0;title\x07a", "a"),
        ("\x1b]52;c;ZXZpbA==\x1b\\a", "a"),
        ("\x9d8;;http://evil\x9clink\x9d8;;\x9c", "link"),
        ("\x1bPq#0\x1b\\a\x1b_b\x1b\\c", "ac"),
        ("\x1bc\x1b(0reset", "reset"),
        ("\x1b]0;never ended", "0;never ended"),
        ("10 %\r99 %\r\nend", "10 %\n99 %\nend"),
        ("a\x00\x07\x08\x7f\x85b", "ab"),
        ("pay\u200bpal \u202etxt\u202c \u2066x\u2069 \ufeff", "paypal txt x "),
        ("a" + "".join(chr(0xE0000 + ord(each)) for each in "obey") + "b", "ab"),
        ("v\ufe0f\U000e0101", "v"),
        ("one\u2028two", "one two"),
        ("half \ud83d", "half \ufffd"),
    ],
)
def test_what_a_terminal_obeys_or_nobody_sees_is_taken_out(written, shown):
    assert visible(written) == shown
    assert visible(shown) == shown


def test_no_control_format_or_surrogate_character_is_left():
    # Signs of Arabic, Syriac and Kaithi numbers are of the category of formats, but are seen.
    seen = {0x600, 0x601, 0x602, 0x603, 0x604, 0x605, 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD}
    left = set()
    for code in range(sys.maxunicode + 1):
        category = unicodedata.category(chr(code))
        if category in ("Cc", "Cf", "Cs", "Zl", "Zp") and chr(code) in visible(f"a{chr(code)}b")[1:-1]:
            left.add(code)
    shorthand = set(range(0x13430, 0x13440)) | set(range(0x1BCA0, 0x1BCA4))  # of hieroglyphs and stenography
    assert left - seen - shorthand == {0x09, 0x0A}


@pytest.mark.parametrize("piece", ["\x1b]", "\x9d", "\x1b[", "\x1b[1", "\x1b", "\x1b]a", "\x9b;", "\x1bPx\x1b", "\r"])
def test_a_text_made_to_be_slow_is_not(piece):
    started = time.perf_counter()
    visible(piece * 50_000)
    visible("\x1b]" + piece * 50_000 + "\x1b[" + "1" * 200_000)
    assert time.perf_counter() - started < 1.0


HOSTILE = "DIAG\x1b]52;c;ZXZpbA==\x07NOSIS\u202e \x9b31m\ud800"


def test_what_a_model_says_enters_visible():
    assert Reply(text=HOSTILE, model="m").text == "DIAGNOSIS \ufffd"
    assert Message(role="user", content=HOSTILE).content == "DIAGNOSIS \ufffd"


def test_every_text_of_an_event_is_visible_as_it_is_written_and_as_it_is_read(tmp_path):
    path = tmp_path / "events.jsonl"
    event = EventLog(path).append("designed", 0.0, {"candidate": {"diagnosis": HOSTILE, "parents": [HOSTILE]}})
    assert event.data == {"candidate": {"diagnosis": "DIAGNOSIS \ufffd", "parents": ["DIAGNOSIS \ufffd"]}}
    line = '{"kind": "failed", "at": "", "elapsed_s": 0, "data": {"message": "\\u001b[2Jx\\ud800", "\\u0085hint": ""}}'
    path.write_text(f"{line}\n")
    assert read_events(path)[0].data == {"message": "x\ufffd", "hint": ""}
