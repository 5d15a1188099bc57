import asyncio
import os
import threading
import time

import pytest

from rewardgen.llm.mailbox import MailboxLLM
from rewardgen.llm.protocol import CallFailed
from tests.llm.requests import ask, ask_one, request


def until(condition, timeout_s=10.0):
    deadline = time.monotonic() + timeout_s
    while not (found := condition()):
        assert time.monotonic() < deadline, "nothing happened"
        time.sleep(0.01)
    return found


def answer_all(folder, count, write):
    """A thread that answers open requests as a person would, with `write(path of the reply, text of the request)`."""

    def work():
        seen = set()
        while len(seen) < count:
            for posted in set(folder.glob("*.request.md")) - seen:
                seen.add(posted)
                write(posted.with_name(posted.name.replace(".request.", ".reply.")), posted.read_text())
            time.sleep(0.01)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def mailbox(folder, **changes):
    return MailboxLLM(folder, **{"timeout_s": 20.0, "poll_s": 0.03} | changes)


def test_reply_written_to_the_named_file_is_the_answer(tmp_path):
    answer_all(tmp_path, 1, lambda path, _: path.write_text("DIAGNOSIS: hop\n```python\npass\n```\n"))
    reply = ask_one(mailbox(tmp_path))
    assert reply.text == "DIAGNOSIS: hop\n```python\npass\n```\n"
    assert reply.usage.tokens == 0 and reply.usage.cost_usd == 0


def test_request_tells_a_reader_the_messages_and_the_file_to_write(tmp_path):
    texts = {}
    answer_all(tmp_path, 1, lambda path, text: (texts.update({path.name: text}), path.write_text("x")))
    ask_one(mailbox(tmp_path), request("g01-k3/designer/edit", content="Edit the reward."))
    (name, text), *_ = texts.items()
    assert name.startswith("g01-k3-designer-edit.")
    assert name in text
    assert text.index("===== system =====\n\nYou write rewards.") < text.index("===== user =====\n\nEdit the reward.")


def test_each_of_many_open_requests_gets_its_own_reply(tmp_path):
    def echo(path, text):
        path.write_text(text.rsplit("user =====\n\n", 1)[1].strip())

    answer_all(tmp_path, 8, echo)
    requests = [request(f"call-{number}", content=f"content {number}") for number in range(8)]
    assert [reply.text for reply in ask(mailbox(tmp_path), *requests)] == [f"content {number}" for number in range(8)]


def test_what_is_answered_is_put_away(tmp_path):
    answer_all(tmp_path, 1, lambda path, _: path.write_text("x"))
    ask_one(mailbox(tmp_path))
    assert not list(tmp_path.glob("*.md"))
    assert len(list((tmp_path / "answered").glob("*.md"))) == 2


def test_reply_is_not_taken_while_it_is_being_written(tmp_path):
    parts = [f"line {number}\n" for number in range(12)]

    def slowly(path, _):
        with open(path, "w") as file:
            for part in parts:
                file.write(part)
                file.flush()
                time.sleep(0.02)

    answer_all(tmp_path, 1, slowly)
    assert ask_one(mailbox(tmp_path, poll_s=0.1)).text == "".join(parts)


def test_one_reply_is_taken_by_exactly_one_of_many_readers(tmp_path):
    async def race():
        box = mailbox(tmp_path, timeout_s=0.6)
        calls = [asyncio.create_task(box.complete(request())) for _ in range(6)]
        await asyncio.sleep(0.1)
        posted = next(tmp_path.glob("*.request.md"))
        half = tmp_path / "half-written"
        half.write_text("the answer")
        os.rename(half, posted.with_name(posted.name.replace(".request.", ".reply.")))
        return await asyncio.gather(*calls, return_exceptions=True)

    results = asyncio.run(race())
    assert sorted(type(each).__name__ for each in results) == ["CallFailed"] * 5 + ["Reply"]


def test_no_reply_in_time_is_a_failed_call_that_names_the_file(tmp_path):
    with pytest.raises(CallFailed) as caught:
        ask_one(mailbox(tmp_path, timeout_s=0.1))
    assert ".reply.md" in caught.value.message
    assert not caught.value.transient


def test_open_request_of_a_stopped_run_is_found_again(tmp_path):
    with pytest.raises(CallFailed):
        ask_one(mailbox(tmp_path, timeout_s=0.1))
    posted = until(lambda: next(tmp_path.glob("*.request.md"), None))
    posted.with_name(posted.name.replace(".request.", ".reply.")).write_text("late")
    assert ask_one(mailbox(tmp_path)).text == "late"
